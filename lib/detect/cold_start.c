/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cold-start: the first calls of a process take longer than the same calls do later: making the
 * context, loading modules and kernels, first allocations. Proven where the process's start lies in
 * the recording, by the calls at its beginning against the median of later calls of their op; the
 * very first call, in which the context is made, counts in full where its op is not called again.
 * Not this: a process that started before, slow calls later on, and ops that are not called again.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/compiler.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/toll.h"

#define PROCESSES  64	/* that start in the recording at the same time; further ones are ignored */
#define CALLS_KEPT 4096 /* the first of each */
#define WARM_CALLS 512	/* in a row that are not slow: the start is over */
#define SLOW_TIMES 10
#define SLOW_NS	   500000
#define LATER	   16 /* calls of an op that were not the first of their site: fewer say nothing */
#define MIN_NS	   100000000
#define SETTLED_NS 10000000000 /* after the first call: report what is known by then */

struct first_call {
	int64_t end_ns;
	uint64_t dur_ns, own_ns;
	uint32_t thread, stack;
	uint16_t op;
};

struct beginning {
	uint32_t process;
	VEC(struct first_call) calls;
	struct fact_told told;
};

struct cold {
	VEC(struct beginning) v;
	VEC(uint32_t) unused;	  /* positions */
	VEC(uint32_t) by_process; /* world id -> 0 not looked at, 1 no start of it, position + 2 */
};

static unsigned subscribe_op(const struct op_def *op)
{
	return op && op->flags & OP_CALL ? SUBSCRIBE_CALLS | SUBSCRIBE_STARTUP_ONLY : 0;
}

static bool is_start_recorded(const struct cause *c, uint32_t process)
{
	const struct world_process *p = world_get_process(c->w, process);

	/* Where its first calls may be missing, those that are here are not the first. Nobody
	 * launches or asks first of all. */
	return p &&
	       (culprits_young(c->tally.culprits, p) ||
		culprits_is_command(c->tally.culprits, p)) &&
	       !cause_uncovered(c, process, TIERS_ALL & ~(1u << TIER_LAUNCHES | 1u << TIER_QUERIES),
				INT64_MIN, c->previous_end_ns);
}

/* NULL with *nomem false: it did not start in the recording, or is warm. */
COLD_CALL static struct beginning *beginning_of(struct cold *s, const struct cause *c,
						uint32_t process, bool *nomem)
{
	uint32_t *at;

	*nomem = true;
	if (!vec_reach(&s->by_process, process))
		return NULL;
	*nomem = false;
	at = &s->by_process.v[process];
	if (*at == 0) {
		*at = 1;
		if (s->v.n - s->unused.n < PROCESSES && is_start_recorded(c, process)) {
			*nomem = !vec_reserve(&s->v, 1);
			if (!*nomem) {
				uint32_t i = s->unused.n ? s->unused.v[--s->unused.n]
							 : (uint32_t)s->v.n++;

				s->v.v[i] = (struct beginning){ .process = process };
				*at = i + 2;
			}
		}
	}
	if (*at < 2 || s->v.v[*at - 2].calls.n >= CALLS_KEPT)
		return NULL;
	return &s->v.v[*at - 2];
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct cold *s = state;
	bool nomem;
	struct beginning *b = beginning_of(s, c, p->process, &nomem);

	if (!b) {
		if (p->process < c->tally.processes.n)
			c->tally.processes.v[p->process].begun = !nomem;
		return !nomem;
	}
	return vec_push(
		&b->calls,
		(struct first_call){
			.end_ns = p->end_ns,
			.dur_ns = p->ev->dur_ns,
			.own_ns = line_own_ns(p, p->op->flags & OP_SYNC ? 1u << PART_DEVICE : 0),
			.thread = p->thread,
			.stack = p->ev->stack,
			.op = p->ev->op });
}

/* What calls of an op take later on. */
struct usual {
	uint16_t op;
	bool known; /* there were enough of them */
	uint64_t ns;
};

/* Looked up once for each op; v has room for one more. */
static const struct usual *usual_of(const struct cause *c, uint32_t process, uint16_t op,
				    struct usual *v, unsigned *n, struct hist *scratch)
{
	for (unsigned i = 0; i < *n; i++) {
		if (v[i].op == op)
			return &v[i];
	}
	memset(scratch, 0, sizeof(*scratch));
	for (size_t i = 0; i < c->classes.v.n; i++) {
		const struct cause_class *cl = &c->classes.v.v[i];

		if (cl->key.process != process || cl->key.op != op || cl->key.first)
			continue;
		hist_merge(scratch, cl->plain);
		if (cl->own)
			hist_merge(scratch, cl->own);
	}
	v[*n] = (struct usual){ op, scratch->n >= LATER, hist_quantile(scratch, 0.5) };
	return &v[(*n)++];
}

#define OPS_MAX 256 /* that a process begins with; what is beyond is not told */

struct span {
	int64_t start_ns, end_ns;
};

struct start {
	struct toll toll;
	struct where where;
	VEC(struct span) spans; /* of slow calls, one after the other */
	uint64_t covered_ns;	/* by them: threads start side by side */
	struct hist scratch;
	struct usual usual[OPS_MAX];
	unsigned nusual;
};

/* Calls come in order of their ends. False: out of memory. */
static bool add_covered(struct start *s, int64_t start_ns, int64_t end_ns)
{
	while (s->spans.n && s->spans.v[s->spans.n - 1].end_ns > start_ns) {
		const struct span *last = &s->spans.v[--s->spans.n];

		s->covered_ns -= (uint64_t)(last->end_ns - last->start_ns);
		start_ns = last->start_ns < start_ns ? last->start_ns : start_ns;
		end_ns = last->end_ns > end_ns ? last->end_ns : end_ns;
	}
	s->covered_ns += (uint64_t)(end_ns - start_ns);
	return vec_push(&s->spans, (struct span){ start_ns, end_ns });
}

/* Calls of its line go on to take as long: this is not what the first ones take. */
static bool goes_on(const struct beginning *b, size_t at)
{
	const struct first_call *call = &b->calls.v[at];
	unsigned n = 0, slow = 0;

	for (size_t i = at + 1; i < b->calls.n; i++) {
		const struct first_call *later = &b->calls.v[i];
		bool same = later->op == call->op && later->stack == call->stack;

		n += same;
		slow += same && later->own_ns > call->own_ns / SLOW_TIMES;
	}
	return n >= LATER && slow * 2 > n;
}

/* Add up the start's slow calls. False: out of memory. */
static bool add_up(const struct cause *c, const struct beginning *b, struct start *s)
{
	unsigned warm = 0;

	for (size_t i = 0; i < b->calls.n && warm < WARM_CALLS && s->nusual < OPS_MAX; i++) {
		const struct first_call *call = &b->calls.v[i];
		const struct usual *u =
			usual_of(c, b->process, call->op, s->usual, &s->nusual, &s->scratch);
		uint64_t expected = u->known ? u->ns : i == 0 ? 0 : call->own_ns;

		if (call->own_ns < SLOW_TIMES * expected || call->own_ns < expected + SLOW_NS ||
		    goes_on(b, i)) {
			warm++;
			continue;
		}
		warm = 0;
		if (!toll_add_moment(c, &s->toll,
				     &(struct fact_moment){ .end_ns = call->end_ns,
							    .dur_ns = call->dur_ns,
							    .lost_ns = call->own_ns - expected,
							    .thread = call->thread,
							    .op = call->op,
							    .text = "a first call" },
				     1u << TIER_KEPT) ||
		    !add_covered(s, call->end_ns - (int64_t)call->dur_ns, call->end_ns) ||
		    !where_add(&s->where, b->process, call->op, call->stack,
			       call->own_ns - expected, call->dur_ns))
			return false;
	}
	return true;
}

static int report_start(struct cause *c, struct beginning *b, const struct start *s, struct err *e)
{
	struct fact f = { .kind = "cold-start",
			  .process = b->process,
			  .counted = "calls",
			  .gain = FACT_GAIN_ALL };
	uint64_t until;

	toll_fill(c, &s->toll, &f);
	f.share = toll_share(c, &s->toll);
	if (s->covered_ns < f.lost_ns) {
		f.share *= (double)s->covered_ns / (double)f.lost_ns;
		f.one_ns = s->covered_ns;
	}
	f.nsites = where_top(&s->where, b->process, f.sites, FACT_SITES);
	f.op = f.sites[0].op;
	until = (uint64_t)(f.last_ns - f.first_ns);
	fact_blame_place(c, &f);
	fact_lost(&f, c, " starts cold: first calls took longer than the same ones later, for ");
	buf_printf(&f.summary, " in its first %s of calls, mostly %s", fmt_ns(until).s,
		   f.culprit.text);
	fact_evidence(&f, "slow first calls", (double)f.count, "");
	fact_evidence(&f, "longest", (double)s->toll.worst[0].lost_ns, "ns");
	fact_evidence(&f, "from the first call to the last slow one", (double)until, "ns");
	fact_fix(&f, "Keep the process alive between jobs, or warm it up before it is needed",
		 "export CUDA_MODULE_LOADING=LAZY  # loads only the kernels that are used", 0,
		 f.lost_ns, "from nothing, where each start needs all of it, to all of it");
	return fact_tell(c, &f, &b->told, e);
}

static int flush_process(struct cause *c, struct beginning *b, int64_t pane, struct err *e)
{
	struct start *s;
	uint64_t wall = cause_wall_ns(c);
	int rc = 0;

	if (b->calls.n == 0 ||
	    (pane != INT64_MAX &&
	     (b->told.revision || (pane + 1) * TALLY_PANE_NS < b->calls.v[0].end_ns + SETTLED_NS)))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(e);
	s->toll.lanes = 1;
	if (!add_up(c, b, s))
		rc = err_nomem(e);
	else if (b->told.revision || (s->toll.ns >= MIN_NS && wall &&
				      (double)s->toll.ns >= c->opt.min_share * (double)wall))
		rc = report_start(c, b, s, e);
	toll_free(&s->toll);
	where_free(&s->where);
	vec_free(&s->spans);
	free(s);
	return rc;
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct cold *s = state;
	int rc = 0;

	for (size_t i = 0; i < s->v.n && rc == 0; i++)
		rc = flush_process(c, &s->v.v[i], pane, e);
	return rc;
}

static bool forget_process(void *state, struct cause *c, uint32_t process)
{
	struct cold *s = state;
	uint32_t at = process < s->by_process.n ? s->by_process.v[process] : 0;

	if (at < 2 || s->v.v[at - 2].told.revision)
		return true;
	s->by_process.v[process] = 1;
	vec_free(&s->v.v[at - 2].calls);
	s->v.v[at - 2] = (struct beginning){ 0 };
	return vec_push(&s->unused, at - 2);
}

static void free_state(void *state)
{
	struct cold *s = state;

	vec_free(&s->unused);
	for (size_t i = 0; i < s->v.n; i++)
		vec_free(&s->v.v[i].calls);
	vec_free(&s->v);
	vec_free(&s->by_process);
}

const struct detector detector_cold_start = { .size = sizeof(struct cold),
					      .subscribe_op = subscribe_op,
					      .on_span = on_call,
					      .flush_window = flush_window,
					      .forget_process = forget_process,
					      .free = free_state };

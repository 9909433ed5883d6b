/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periodic-spike: every k-th call of one place takes long. Proven by the distances between the slow
 * ones, in calls, which are too equal to be chance (lib/stat/period.h). What is compared is a
 * call's own time: neither what the host took of it nor waiting for the device, so that steps which
 * every so often have more for the device to do are none. Not this: slow calls at random, and every
 * second or fourth call, which is how the program is made.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/base/compiler.h"
#include "lib/detect/detect_internal.h"
#include "lib/stat/hist.h"
#include "lib/account/tolls.h"
#include "lib/stat/period.h"

#define SPIKE_SITES 1024
#define GAPS_KEPT   256 /* distances, the newest */
#define WARM	    64	/* calls before any is called slow */
#define SLOW_TIMES  4	/* of the median */
#define SLOW_NS	    100000
#define MIN_GAPS    8
#define MIN_PERIOD  8
#define CHANCE	    1e-4

struct site {
	uint32_t process, stack; /* process 0: unused */
	uint32_t among;		 /* the classes' sites */
	uint16_t op;
	uint64_t last_n; /* which call was the newest slow one */
	int64_t last_ns;
	uint64_t median; /* of own times, looked up now and then */
	struct hist_kept *own;
	struct slow *slow; /* NULL until there are some */
};

/* The slow calls of a site: its position is of. */
struct slow {
	struct toll_row row; /* threads that call there lose side by side */
	struct site_gap {
		uint32_t calls;
		int64_t ns;
	} gaps[GAPS_KEPT]; /* the newest is gaps[(ngaps - 1) % GAPS_KEPT] */
	uint64_t ngaps;
};

struct spikes {
	struct tolls slow;
	VEC(struct site) sites;
	VEC(uint32_t) unused; /* positions */
	VEC(uint32_t) by;     /* site among the classes -> position + 1 */
	struct hists hists;
};

static unsigned subscribe_op(const struct op_def *op)
{
	/* A graph's launch waits for its launch before: that is graph-launch-late. */
	return op && op->flags & OP_CALL && op->id != OP_CUDA_GRAPH_LAUNCH &&
			       op->id != OP_CU_GRAPH_LAUNCH
		       ? SUBSCRIBE_CALLS
		       : 0;
}

/* False: out of memory. */
COLD_CALL static bool site_new(struct spikes *s, const struct class_of *of,
			       const struct line_piece *p, struct cause_site *among)
{
	struct hist_kept *own;
	uint32_t at;

	if (of->shared || s->sites.n - s->unused.n >= SPIKE_SITES) {
		among->no_own = true;
		return true;
	}
	own = hists_new(&s->hists);
	if (!own || !vec_reach(&s->by, of->site_id) || !vec_reserve(&s->sites, 1)) {
		hists_give_up(&s->hists, own);
		return false;
	}
	at = s->unused.n ? s->unused.v[--s->unused.n] : (uint32_t)s->sites.n++;
	s->sites.v[at] = (struct site){ .process = p->process,
					.stack = p->ev->stack,
					.op = p->ev->op,
					.among = of->site_id,
					.own = own };
	s->by.v[of->site_id] = at + 1;
	among->own = own;
	among->slow_ns = UINT64_MAX;
	return true;
}

/* The n-th call of the site. False: out of memory. */
COLD_CALL static bool add_spike(struct spikes *s, struct site *x, const struct cause *c,
				const struct line_piece *p, uint64_t own, uint64_t n)
{
	struct slow *slow;

	/* Calls between the two were not counted, and some of them may have been slow. */
	if (x->last_n &&
	    cause_paused(c, p->process, 1u << op_tier(p->ev->op), x->last_ns, p->end_ns))
		x->last_n = 0;

	if (!x->slow)
		x->slow = tolls_row(&s->slow, p->process, (uint32_t)(x - s->sites.v), NULL);
	slow = x->slow;
	if (!slow)
		return false;
	if (x->last_n)
		slow->gaps[slow->ngaps++ % GAPS_KEPT] =
			(struct site_gap){ (uint32_t)(n - x->last_n), p->end_ns - x->last_ns };
	x->last_n = n;
	x->last_ns = p->end_ns;
	return toll_add(c, &slow->row.toll, p->thread, p->ev->op, p->start_ns, p->end_ns,
			own - x->median);
}

/* What is slow, as of now. */
COLD_CALL static void set_slow_limit(struct site *x, struct cause_site *among)
{
	struct hist all = { 0 };

	hist_merge(&all, x->own);
	x->median = hist_quantile(&all, 0.5);
	among->slow_ns = x->median + SLOW_NS;
	if (among->slow_ns < SLOW_TIMES * x->median)
		among->slow_ns = SLOW_TIMES * x->median;
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct spikes *s = state;
	struct cause_site *among = &c->classes.sites.v[c->of.site_id];
	uint64_t own, n;

	if (among->no_own)
		return true;
	if (!among->own && (!site_new(s, &c->of, p, among) || !among->own))
		return among->no_own;
	own = line_own_ns(p, 1u << PART_DEVICE);
	n = among->n + 1;
	if (n >= WARM && (n & (n - 1)) == 0)
		set_slow_limit(&s->sites.v[s->by.v[c->of.site_id] - 1], among);
	hist_kept_add_at(among->own, own, own < p->ev->dur_ns ? hist_place(own) : c->ahead.cell);
	if (own > among->slow_ns && n > WARM)
		return add_spike(s, &s->sites.v[s->by.v[c->of.site_id] - 1], c, p, own, n);
	return true;
}

/* Chance of distances as equal as these; the period in calls and in time. */
static double chance_of(const struct slow *x, double *calls, double *ns)
{
	double v[GAPS_KEPT];
	size_t n = x->ngaps < GAPS_KEPT ? x->ngaps : GAPS_KEPT;

	for (size_t i = 0; i < n; i++)
		v[i] = (double)x->gaps[i].ns;
	period_chance(v, n, ns);
	for (size_t i = 0; i < n; i++)
		v[i] = x->gaps[i].calls;
	return period_chance(v, n, calls);
}

/* 21st, 112th */
static const char *ordinal_suffix(double n)
{
	unsigned last = (unsigned)fmod(n + 0.5, 100), unit = last % 10;

	return last / 10 == 1 || unit == 0 || unit > 3 ? "th"
	       : unit == 1			       ? "st"
	       : unit == 2			       ? "nd"
						       : "rd";
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct slow *x = (const struct slow *)r;
	double calls, ns;

	return x->ngaps >= MIN_GAPS && toll_due(c, &r->toll, pane, share) &&
	       (r->toll.told.revision ||
		(chance_of(x, &calls, &ns) < CHANCE && calls >= MIN_PERIOD));
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct site *x = &((const struct spikes *)state)->sites.v[r->of];
	double calls, ns, chance = chance_of((const struct slow *)r, &calls, &ns);
	struct hist all = { 0 };

	hist_merge(&all, x->own);
	f->op = x->op;
	f->nsites = 1;
	f->sites[0] = (struct where_place){ .stack = x->stack,
					    .op = x->op,
					    .lost_ns = r->toll.ns,
					    .affected = r->toll.count,
					    .count = all.n,
					    .sum_ns = all.sum,
					    .max_ns = all.max };
	f->share = toll_share(c, &r->toll);
	f->identity = fact_blame_place(c, f);
	buf_printf(&f->summary, "Every %.0f%s call of ", calls, ordinal_suffix(calls));
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " %s takes long, ", f->culprit.text);
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", one each %s", fmt_ns((uint64_t)ns).s);
	fact_evidence(f, "period in calls", calls, "");
	fact_evidence(f, "period in time", ns, "ns");
	fact_evidence(f, "chance of distances as equal", chance, "");
	fact_evidence(f, "median of all calls", (double)x->median, "ns");
	fact_evidence(f, "mean of what slow ones take longer",
		      (double)r->toll.ns / (double)r->toll.count, "ns");
	fact_fix(f,
		 "Find what happens at that pace: logging, checkpoints, clearing a cache, growing "
		 "a pool",
		 "ingero-explain --json run.ige | jq '.chains[].timeline'", 0, r->toll.ns,
		 "from nothing, if it has to be done then, to all of it");
}

static const struct tolls_def spiking = { .kind = "periodic-spike",
					  .counted = "slow calls",
					  .row = sizeof(struct slow),
					  .moment = "a slow call",
					  .due = is_due,
					  .tell = fill_finding };

/* The classes give its sites to others: they are none of these any more. */
static bool forget_process(void *state, struct cause *c, uint32_t process)
{
	struct spikes *s = state;

	for (uint32_t i = 0; i < s->sites.n; i++) {
		struct site *x = &s->sites.v[i];

		if (x->process != process)
			continue;
		if (s->by.v[x->among] == i + 1) {
			s->by.v[x->among] = 0;
			c->classes.sites.v[x->among].own = NULL;
		}
		if (x->slow && x->slow->row.toll.told.revision)
			continue;
		hists_give_up(&s->hists, x->own);
		*x = (struct site){ 0 };
		if (!vec_push(&s->unused, i))
			return false;
	}
	return true;
}

static void free_state(void *state)
{
	struct spikes *s = state;

	vec_free(&s->unused);
	hists_free(&s->hists);
	vec_free(&s->sites);
	vec_free(&s->by);
}

const struct detector detector_periodic_spike = { .size = sizeof(struct spikes),
						  .tolls = { &spiking },
						  .subscribe_op = subscribe_op,
						  .on_span = on_call,
						  .forget_process = forget_process,
						  .free = free_state };

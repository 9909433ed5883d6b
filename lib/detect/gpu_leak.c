/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-leak: the device memory that a process holds grows to the end. The least held is compared in
 * ten equal sections of time after the first quarter, in which programs warm up: a cache that
 * fills, and memory that comes and goes, have sections that are no higher than the one before. The
 * call sites that leak are those of the blocks allocated since then and never freed. A process that
 * mostly allocates is loading something.
 *
 * Where allocations were recorded in windows the sections are of recorded time, and a block whose
 * free call was not recorded looks like one that nobody freed. There a call site counts only if
 * nearly none of what it allocated was freed in the windows, and free calls for unrecorded blocks,
 * which come as often as unrecorded free calls for recorded ones, speak against it.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"
#include "lib/event/chain.h"

#define SECTIONS      10
#define RISES	      8		  /* of the nine times that one follows another; none may fall */
#define SHORTEST_NS   8000000000  /* a process watched for less is not judged */
#define WHILE_RUNS_NS 60000000000 /* nor, before it ends, one watched for less than this */
#define EVERY_PANES   10	  /* how often it is looked at while it runs */
#define LEAST_BYTES   (1u << 20)
#define LEAST_SHARE   0.01 /* of what is held */
#define STEADY	      0.45 /* of the growth, in the second half */
/* Of blocks that stay, more than this is a loop that loses some: loading a model makes a block,
 * copies into it, and at most records an event and waits, so that a recording of nothing but that
 * has four calls a block. A step of a loop has copies, launches and a wait besides. What is freed
 * again says nothing: programs without a cache of their own allocate for every operation. */
#define CALLS_PER_BLOCK 5
#define TIDYING \
	0.05 /* of the time: a process that allocates no more before its end puts its things away */
#define FREES_SOME 0.1 /* of its blocks: a call site whose others were freed in a pause */
#define HOUR_NS	   3600000000000.0

struct leak {
	struct toll_row row; /* its toll has no time, only what was reported */
	bool is, ended;	     /* ended: judged for the last time */
	bool windows;	     /* some of its time was not recorded */
	int64_t since_ns, until_ns;
	double ns;	   /* recorded, between the middles of the first and the last section */
	uint64_t from, to; /* least bytes held in the first and the last section */
	unsigned rises;
	uint64_t blocks, bytes; /* never freed */
	uint64_t since;		/* bytes of these allocated since since_ns */
	uint64_t others;	/* blocks of other call sites that were not freed since then */
	struct where_place sites[FACT_SITES];
	unsigned nsites;
};

static uint64_t unrecorded_ns(const struct cause *c, const struct live_process *p, int64_t from_ns,
			      int64_t to_ns)
{
	const struct world_process *wp = world_get_process(c->w, p->process);

	return wp && c->paused.lists.n
		       ? paused_ns(&c->paused, wp->node, TIER_ALLOCATIONS, from_ns, to_ns)
		       : 0;
}

/* The least bytes held in each section. False: a section was not seen. */
static bool find_section_minima(const struct cause *c, const struct live_process *p, int64_t now_ns,
				struct leak *k, uint64_t *m)
{
	const struct live_history *h = &p->history;
	int64_t first = h->first_span * h->span_ns, spans = (now_ns - first) / h->span_ns + 1;
	double all = (double)(now_ns - first) - (double)unrecorded_ns(c, p, first, now_ns),
	       warm = all / 4, passed = 0;

	k->ns = (all - warm) * (SECTIONS - 1) / SECTIONS;
	for (unsigned i = 0; i < SECTIONS; i++)
		m[i] = UINT64_MAX;
	for (int64_t i = 0; i < spans; i++) {
		int64_t from = first + i * h->span_ns, to = from + h->span_ns;
		uint64_t held = i < (int64_t)h->n ? h->v[i].least : live_bytes(p);
		double part;
		int section;

		to = to < now_ns ? to : now_ns;
		part = (double)(to - from) - (double)unrecorded_ns(c, p, from, to);
		section = (int)((passed - warm) * SECTIONS / (all - warm));
		passed += part;
		if (part <= 0 || passed <= warm)
			continue;
		if (k->since_ns == 0)
			k->since_ns = from;
		section = section < 0 ? 0 : section < SECTIONS ? section : SECTIONS - 1;
		m[section] = held < m[section] ? held : m[section];
	}
	for (unsigned i = 0; i < SECTIONS; i++)
		if (m[i] == UINT64_MAX)
			return false;
	return true;
}

static bool is_growing(const struct cause *c, const struct live_process *p, int64_t now_ns,
		       struct leak *k)
{
	const struct live_history *h = &p->history;
	int64_t first = h->first_span * h->span_ns;
	uint64_t m[SECTIONS], middle;

	/* Nor does it where nothing was allocated or freed for as long as all before. */
	if (h->n == 0 || now_ns - first < SHORTEST_NS ||
	    now_ns - first > 2 * (int64_t)h->n * h->span_ns)
		return false;
	k->since_ns = 0;
	k->until_ns = now_ns;
	k->windows = unrecorded_ns(c, p, first, now_ns) > 0;
	k->rises = 0;
	if (!find_section_minima(c, p, now_ns, k, m))
		return false;
	for (unsigned i = 1; i < SECTIONS; i++) {
		if (m[i] < m[i - 1])
			return false;
		k->rises += m[i] > m[i - 1];
	}
	k->from = m[0];
	middle = m[SECTIONS / 2 - 1];
	k->to = m[SECTIONS - 1];
	return k->rises >= RISES && k->to - k->from >= LEAST_BYTES &&
	       (double)(k->to - k->from) >= LEAST_SHARE * (double)k->to &&
	       /* not slowing down, as a cache does that has nearly all it needs: in equal steps it
		  would be 5 of 9 */
	       (double)(k->to - middle) >= STEADY * (double)(k->to - k->from);
}

/* Bytes never freed, of the sites that allocated a tenth of them since the warm-up. */
static bool never_freed(const struct cause *c, struct leak *k)
{
	const struct live *l = c->live;
	struct where where = { 0 };
	VEC(uint64_t) since = { 0 }; /* bytes allocated since the warm-up, by site */
	uint64_t all = 0;
	bool well = true;

	while (since.n < l->sites.n && well)
		well = vec_push(&since, 0);
	for (size_t i = 0; i < l->blocks.n && well; i++) {
		const struct live_block *b = &l->blocks.v[i];

		if (b->used && b->process == k->row.process && b->end_ns >= k->since_ns &&
		    l->sites.v[b->site].kind != LIVE_PINNED) {
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as many as there are
			 * sites */
			since.v[b->site] += b->bytes;
			all += b->bytes;
		}
	}
	k->blocks = k->bytes = k->since = k->others = 0;
	for (size_t i = 0; i < since.n && well; i++) {
		const struct live_site *s = &l->sites.v[i];
		struct where_place *p;

		if (since.v[i] == 0)
			continue;
		if (k->windows && (double)s->frees > FREES_SOME * (double)s->allocs) {
			k->others += s->n;
			continue;
		}
		if (since.v[i] < all / 10)
			continue;
		k->since += since.v[i];
		p = where_at(&where, k->row.process, s->op, s->stack);
		well = p != NULL;
		if (!well)
			break;
		p->bytes += s->bytes;
		p->lost_ns = p->bytes; /* the order of where_top */
		p->count += s->n;
		k->blocks += s->n;
		k->bytes += s->bytes;
	}
	k->nsites = where_top(&where, k->row.process, k->sites, FACT_SITES);
	for (unsigned i = 0; i < k->nsites; i++)
		k->sites[i].lost_ns = 0;
	where_free(&where);
	vec_free(&since);
	return well;
}

/* What is freed at the very end was not freed while it was of use: to the last whole span before
 * that. */
static int64_t judged_to(const struct live_process *p, int64_t now_ns, bool ended)
{
	int64_t span = p->history.span_ns, first = p->history.first_span * span;

	return ended && span &&
			       (double)(now_ns - p->allocated_ns) <
				       TIDYING * (double)(now_ns - first)
		       ? p->allocated_ns / span * span
		       : now_ns;
}

/* ended: it holds nothing more after this, or nothing more is known. */
static bool update_leak(struct tolls *leaks, struct cause *c, const struct live_process *p,
			int64_t now_ns, bool ended)
{
	struct leak *k = tolls_row(leaks, p->process, 0, NULL);
	struct leak was;
	uint64_t calls, kept;

	if (!k)
		return false;
	was = *k;
	if (k->ended)
		return true;
	k->ended = ended;
	now_ns = judged_to(p, now_ns, ended);
	k->is = is_growing(c, p, now_ns, k);
	if (k->is && !never_freed(c, k))
		return false;
	calls = p->process < c->tally.processes.n ? c->tally.processes.v[p->process].calls : 0;
	kept = p->allocs > p->frees ? p->allocs - p->frees : 0;
	kept = kept < k->blocks ? k->blocks : kept;
	/* What was lost may have been frees, and what was not recorded. */
	k->is = k->is && k->blocks && calls >= CALLS_PER_BLOCK * kept &&
		line_totals(c->line)->lost < k->blocks && p->replaced < k->blocks &&
		(!k->windows || p->unknown_frees < k->others + k->blocks / 2);
	if (k->is && k->windows && k->to - k->from > k->since)
		k->from = k->to - k->since;
	if (!k->is && was.is) { /* keep the figures that were reported */
		was.ended = k->ended;
		was.is = false;
		*k = was;
	}
	return true;
}

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	return t->what != LIVE_ENDED || update_leak(state, c, t->process, t->call->ev.end_ns, true);
}

/* How long until the device is full at this rate; 0: not known. */
static double full_ns(const struct cause *c, double bytes_per_ns)
{
	const struct gpu_memory_device *d = gpu_memory_of(&c->gpu_memory, 0);

	return d && d->has_used && d->has_total && d->total > d->used
		       ? (double)(d->total - d->used) / bytes_per_ns
		       : 0;
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct leak *k = (const struct leak *)r;

	*share = 0;
	return (k->is || r->toll.told.revision) && fact_due_count(c, &r->toll.told, k->blocks);
}

/* Work will stop when the device is full: how soon that is, or how much of what is held it is. */
static uint32_t severity_of(const struct leak *k, double full)
{
	if (!k->is)
		return FINDING_LOW;
	if (full > 0)
		return full < HOUR_NS	     ? FINDING_HIGH
		       : full < 24 * HOUR_NS ? FINDING_MEDIUM
					     : FINDING_LOW;
	return 10 * (k->to - k->from) >= k->to ? FINDING_MEDIUM : FINDING_LOW;
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct leak *k = (struct leak *)r;
	double rate = (double)(k->to - k->from) / k->ns, full = full_ns(c, rate);
	bool python = k->nsites && name_python(c->w, k->sites[0].stack);

	f->count = k->blocks;
	f->first_ns = k->since_ns;
	f->last_ns = k->until_ns;
	f->nsites = k->nsites;
	memcpy(f->sites, k->sites, sizeof(f->sites));
	f->op = f->nsites ? f->sites[0].op : 0;
	f->severity = severity_of(k, full);
	fact_blame_site(c, f, "its own allocations");
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " holds more and more device memory: %s more",
		   fmt_bytes(k->to - k->from).s);
	buf_printf(&f->summary, " in %s%s", fmt_ns((uint64_t)k->ns).s,
		   k->windows ? " that were recorded" : "");
	/* Not "of it": it may have begun before the first section. */
	buf_printf(&f->summary, "; %s%s from %s were never freed", k->windows ? "at least " : "",
		   fmt_bytes(k->nsites ? k->sites[0].bytes : k->bytes).s, f->culprit.text);
	if (!k->is)
		buf_puts(&f->summary, "; later it grew no more");
	fact_evidence(f, "held at first", (double)k->from, "B");
	fact_evidence(f, "held in the end", (double)k->to, "B");
	fact_evidence(f, "growth", rate * 1e9, "B/s");
	fact_evidence(f, "of ten sections of the time, those that hold more than the one before",
		      k->rises, "");
	fact_evidence(f, "bytes never freed", (double)k->bytes, "B");
	if (full > 0)
		fact_evidence(f, "until the device is full at this rate", full, "ns");
	(python ? fact_fix_code : fact_fix)(
		f, "Free what the first call site allocates, or let go of what still refers to it",
		python ? "losses.append(loss.item())  # not the tensor and its graph; del what is "
			 "no longer needed"
		       : "compute-sanitizer --tool memcheck --leak-check full ./program",
		0, 0, "no time is lost by it until the memory is full");
}

static const struct tolls_def leaking = { .kind = "gpu-leak",
					  .counted = "allocations never freed",
					  .row = sizeof(struct leak),
					  .due = is_due,
					  .tell = fill_finding };

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	if (!c->ended && pane % EVERY_PANES)
		return 0;
	for (size_t i = 0; i < c->live->processes.n; i++) {
		const struct live_process *p = c->live->processes.v[i];
		const struct live_history *h = &p->history;
		int64_t now = c->ended ? cause_process_end(c, p->process) : c->settled_ns;

		if (!p->ended && h->n &&
		    (c->ended || now - h->first_span * h->span_ns >= WHILE_RUNS_NS) &&
		    !update_leak(state, c, p, now, c->ended))
			return err_nomem(e);
	}
	return 0;
}

const struct detector detector_gpu_leak = { .size = sizeof(struct tolls),
					    .tolls = { &leaking },
					    .on_memory = on_memory,
					    .flush_window = flush_window };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-shared: what a process submits takes longer while another process has work on the same GPU. Proven by the same
 * waits at the same place, from the first submission to their end, alone on the GPU and beside the other. Not this: a process
 * that is never alone, or never beside another; others on another GPU; others beside whom nothing takes longer;
 * recordings that do not say on which GPU calls work.
 */
#include <inttypes.h>

#include "lib/base/hash.h"
#include "lib/base/human.h"
#include "lib/detect/gpu_work.h"
#include "lib/account/names.h"

#define ENOUGH 30   /* waits alone */
#define SLOWER 1.05 /* beside others than alone */

static struct shared_wait *shared_at(struct gpu_work *g, const struct gap_wait *w, bool *nomem)
{
	uint64_t key = hash_u64(((uint64_t)w->device << 32 | w->stack) ^ hash_u64(w->op)), at;
	struct shared_wait fresh = { .device = w->device, .stack = w->stack, .op = w->op };
	bool full;

	*nomem = false;
	if (map_get(&g->shared_by, key, &at))
		return &g->shared.v[at];
	fresh.key = key;
	at = gpu_place(&g->shared, &g->unused_shared, &g->shared_by, fresh, &full);
	*nomem = at == UINT32_MAX && !full;
	return at == UINT32_MAX ? NULL : &g->shared.v[at];
}

/* Threads that wait there lose side by side. */
static bool thread_met(struct gpu_work *g, struct shared_wait *x, uint32_t thread)
{
	uint64_t key = hash_u64((uint64_t)(x - g->shared.v) << 32 | thread);

	if (x->thread == thread || map_get(&g->shared_threads, key, NULL))
		return true;
	if (x->sum.threads++ == 0)
		x->thread = thread;
	return map_put(&g->shared_threads, key, 1);
}

static void met(struct shared_wait *x, uint32_t other, uint64_t ns)
{
	struct shared_other *o = x->others, *least = o, *end = o + x->nothers;

	for (; o < end && o->device != other; o++) {
		if (o->ns < least->ns)
			least = o;
	}
	if (o == end && x->nothers == SHARED_OTHERS)
		o = least;
	else if (o == end)
		x->nothers++;
	if (o->device != other || o->count == 0)
		*o = (struct shared_other){ .device = other };
	o->count++;
	o->ns += ns;
}

/* Beside whom most was lost. NULL: nobody's name is known. */
static const struct shared_other *worst(const struct shared_wait *x)
{
	double usual = (double)x->alone_ns / (double)x->alone, most = 0;
	const struct shared_other *best = NULL;

	for (unsigned i = 0; i < x->nothers; i++) {
		const struct shared_other *o = &x->others[i];
		double lost = (double)o->ns - usual * (double)o->count;

		if (!best || lost > most) {
			best = o;
			most = lost;
		}
	}
	return best;
}

bool gpu_shared_wait(struct gpu_work *g, const struct gap_wait *w)
{
	uint64_t ns = (uint64_t)(w->end_ns - w->start_ns);
	struct shared_wait *x;
	bool nomem;
	double usual;

	if (!gaps_shared(g->gaps, w->device))
		return true;
	x = shared_at(g, w, &nomem);
	if (!x)
		return !nomem;
	ns -= w->host_ns < ns ? w->host_ns : ns;
	if (w->others_ns == 0) {
		x->alone++;
		x->alone_ns += ns;
		return true;
	}
	x->beside++;
	x->beside_ns += ns;
	if (w->other != UINT32_MAX)
		met(x, w->other, ns);
	if (x->alone < ENOUGH) /* what is usual is not known yet: told in the end */
		return true;
	usual = (double)x->alone_ns / (double)x->alone;
	if ((double)ns > usual)
		cause_sum_add(g->c, &x->sum,
			      &(struct sum_worst){ .end_ns = w->end_ns,
						   .dur_ns = (uint64_t)(w->end_ns - w->start_ns),
						   .lost_ns = ns - (uint64_t)usual,
						   .thread = w->thread,
						   .op = w->op,
						   .tiers = TIERS_ALL });
	return thread_met(g, x, w->thread);
}

static int tell(struct gpu_work *g, struct shared_wait *x, const struct shared_other *by,
		struct cause *c, struct err *e)
{
	const struct device *d = gaps_device(g->gaps, x->device),
			    *o = gaps_device(g->gaps, by->device);
	const struct world_process *other = world_get_process(c->w, o->process);
	struct bytes comm = name_process(c->w, &c->tally, o->process);
	double alone = (double)x->alone_ns / (double)x->alone,
	       beside = (double)x->beside_ns / (double)x->beside;
	struct fact f = { .kind = "gpu-shared",
			  .process = d->process,
			  .counted = "waits",
			  .gain = FACT_GAIN_ALL,
			  .culprit.kind = "process",
			  .explained = -1,
			  .unexplained = -1,
			  .op = x->op,
			  .nsites = 1 };
	struct buf place = { 0 }, who = { 0 }, name = { 0 }, identity = { 0 };
	int rc;

	cause_sum_fill(c, &x->sum, &f, "beside another process on the GPU");
	/* What took less than usual counts against what took more. */
	f.lost_ns =
		beside > alone ? (uint64_t)((double)x->beside_ns - alone * (double)x->beside) : 0;
	f.count = x->beside;
	f.share = cause_wall_ns(c) && x->sum.threads
			  ? (double)f.lost_ns * f.estimate.ns_factor / (double)cause_wall_ns(c) /
				    x->sum.threads
			  : 0;
	f.one_ns = x->sum.threads ? f.lost_ns / x->sum.threads : 0;
	f.sites[0] = (struct where_place){ .stack = x->stack,
					   .op = x->op,
					   .lost_ns = f.lost_ns,
					   .affected = x->beside,
					   .count = x->alone + x->beside };
	buf_printf(&name, "%.*s", (int)comm.n, comm.p ? comm.p : "");
	buf_printf(&who, "%s (pid %" PRIu32 ")", buf_text(&name), other ? other->tgid : 0);
	if (!x->sum.told.revision)
		x->told_as = o->process;
	comm = name_process_first(c->w, &c->tally, x->told_as);
	buf_printf(&identity, "%.*s", (int)comm.n, comm.p ? comm.p : "");
	f.identity = buf_text(&identity);
	f.culprit.comm = buf_text(&name);
	f.culprit.text = buf_text(&who);
	f.culprit.pid = other ? other->tgid : 0;
	fact_place(c, &f.sites[0], &place);
	buf_printf(&f.summary, "%s shares the GPU with ", f.culprit.text);
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, ", which lost ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ": its work takes %s instead of ", human_ns((uint64_t)beside).s);
	buf_printf(&f.summary, "%s, until %s", human_ns((uint64_t)alone).s, buf_text(&place));
	fact_evidence(&f, "from the first submission to the wait's end, alone", alone, "ns");
	fact_evidence(&f, "the same beside the other process", beside, "ns");
	fact_evidence(&f, "waits alone", (double)x->alone, "");
	fact_evidence(&f, "waits beside it", (double)x->beside, "");
	if (by->count < x->beside)
		fact_evidence(&f, "of which that one had work for longest in", (double)by->count,
			      "");
	fact_fix(&f, "Give one of the two another GPU, or let them take turns by MPS or MIG",
		 "export CUDA_VISIBLE_DEVICES=1  # for one of the two", 0, f.lost_ns,
		 "from nothing, if no other GPU is free, to all of it");
	rc = fact_tell(c, &f, &x->sum.told, e);
	buf_free(&place);
	buf_free(&who);
	buf_free(&name);
	buf_free(&identity);
	fact_free(&f);
	return rc;
}

int gpu_shared_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < g->shared.n && rc == 0; i++) {
		struct shared_wait *x = &g->shared.v[i];
		const struct shared_other *by = x->alone ? worst(x) : NULL;

		if (!by || x->alone < ENOUGH || x->beside == 0 ||
		    ((double)x->beside_ns * (double)x->alone <
			     SLOWER * (double)x->alone_ns * (double)x->beside &&
		     !x->sum.told.revision))
			continue;
		if (cause_sum_due(c, &x->sum, pane, 0))
			rc = tell(g, x, by, c, e);
	}
	return rc;
}

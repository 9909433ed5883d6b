/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-shared: what a process submits takes longer while another process has work on the same GPU.
 * Proven by the same waits at the same place, from the first submission to their end, alone on the
 * GPU and beside the other. Not this: a process that is never alone, or never beside another;
 * others on another GPU; others beside whom nothing takes longer; recordings that do not say on
 * which GPU calls work.
 */
#include <inttypes.h>

#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/detect/gpu_work_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"

#define ENOUGH 30   /* waits alone */
#define SLOWER 1.05 /* beside others than alone */

/* Threads that wait there lose side by side. */
static bool thread_met(struct gpu_work *g, struct shared_wait *x, uint32_t thread)
{
	uint64_t key = hash_u64((uint64_t)x->at.row.at << 32 | thread);

	if (x->thread == thread || map_get(&g->shared_threads, key, NULL))
		return true;
	if (x->threads++ == 0)
		x->thread = thread;
	x->at.row.toll.lanes = x->threads;
	return map_put(&g->shared_threads, key, 1);
}

static void add_shared_time(struct shared_wait *x, uint32_t other, uint64_t ns)
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
static const struct shared_other *find_worst_other(const struct shared_wait *x)
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
	struct gpu_place place = { .device = w->device, .stack = w->stack, .op = w->op };
	uint64_t ns = (uint64_t)(w->end_ns - w->start_ns);
	struct shared_wait *x;
	bool nomem;
	double usual;

	if (!gaps_shared(g->gaps, w->device))
		return true;
	x = gpu_place_of(g, &g->shared, place, w->stack, &nomem);
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
		add_shared_time(x, w->other, ns);
	if (x->alone < ENOUGH) /* what is usual is not known yet: told in the end */
		return true;
	usual = (double)x->alone_ns / (double)x->alone;
	if ((double)ns > usual &&
	    !toll_add_moment(g->c, &x->at.row.toll,
			     &(struct fact_moment){ .end_ns = w->end_ns,
						    .dur_ns = (uint64_t)(w->end_ns - w->start_ns),
						    .lost_ns = ns - (uint64_t)usual,
						    .thread = w->thread,
						    .op = w->op },
			     TIERS_ALL))
		return false;
	return thread_met(g, x, w->thread);
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct shared_wait *x = (const struct shared_wait *)r;

	return x->alone >= ENOUGH && x->beside && find_worst_other(x) &&
	       ((double)x->beside_ns * (double)x->alone >=
			SLOWER * (double)x->alone_ns * (double)x->beside ||
		r->toll.told.revision) &&
	       toll_due(c, &r->toll, pane, share);
}

static void set_culprit(const struct cause *c, struct shared_wait *x, uint32_t process,
			struct fact *f)
{
	struct bytes comm = name_process(c->w, &c->tally, process), first;

	if (!x->at.row.toll.told.revision)
		x->told_as = process;
	first = name_process_first(c->w, &c->tally, x->told_as);
	f->identity = details_print(&f->found, "%.*s", (int)first.n, first.p ? first.p : "");
	f->culprit.kind = "process";
	f->culprit.pid = world_process_pid(c->w, process);
	f->culprit.comm = details_print(&f->found, "%.*s", (int)comm.n, comm.p ? comm.p : "");
	f->culprit.text =
		details_print(&f->found, "%s (pid %" PRIu32 ")", f->culprit.comm, f->culprit.pid);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct gpu_work *g = state;
	struct shared_wait *x = (struct shared_wait *)r;
	const struct shared_other *by = find_worst_other(x);
	double alone = (double)x->alone_ns / (double)x->alone,
	       beside = (double)x->beside_ns / (double)x->beside;
	uint64_t wall = cause_wall_ns(c);
	const char *place;

	/* What took less than usual counts against what took more. */
	f->lost_ns =
		beside > alone ? (uint64_t)((double)x->beside_ns - alone * (double)x->beside) : 0;
	f->count = x->beside;
	f->gain = FACT_GAIN_ALL;
	f->share = wall && x->threads
			   ? (double)f->lost_ns * f->estimate.ns_factor / (double)wall / x->threads
			   : 0;
	f->one_ns = x->threads ? f->lost_ns / x->threads : 0;
	place = gpu_place_blame(c, &x->at, f, x->beside, x->alone + x->beside);
	set_culprit(c, x, gaps_device(g->gaps, by->device)->process, f);
	buf_printf(&f->summary, "%s shares the GPU with ", f->culprit.text);
	fact_lost(f, c, ", which lost ");
	buf_printf(&f->summary, ": its work takes %s instead of ", fmt_ns((uint64_t)beside).s);
	buf_printf(&f->summary, "%s, until %s", fmt_ns((uint64_t)alone).s, place);
	fact_evidence(f, "from the first submission to the wait's end, alone", alone, "ns");
	fact_evidence(f, "the same beside the other process", beside, "ns");
	fact_evidence(f, "waits alone", (double)x->alone, "");
	fact_evidence(f, "waits beside it", (double)x->beside, "");
	if (by->count < x->beside)
		fact_evidence(f, "of which that one had work for longest in", (double)by->count,
			      "");
	fact_fix(f, "Give one of the two another GPU, or let them take turns by MPS or MIG",
		 "export CUDA_VISIBLE_DEVICES=1  # for one of the two", 0, f->lost_ns,
		 "from nothing, if no other GPU is free, to all of it");
}

const struct tolls_def gpu_shared = { .kind = "gpu-shared",
				      .counted = "waits",
				      .row = sizeof(struct shared_wait),
				      .most = GPU_CAUSES_MAX,
				      .one_lane = true,
				      .moment = "beside another process on the GPU",
				      .due = is_due,
				      .tell = fill_finding };

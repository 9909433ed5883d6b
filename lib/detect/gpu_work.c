/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands pieces to lib/gpustate/gaps.h, and what that tells to the kinds.
 */
#include "lib/detect/gpu_work.h"

#include "lib/base/hash.h"
#include "lib/base/rare.h"
#include "lib/detect/watches.h"
#include "lib/account/loss_gaps.h"

static unsigned wants(const struct op_def *op)
{
	if (!op)
		return WATCH_OUTER;
	if (op->id == OP_SCHED_OFFCPU)
		return WATCH_OFFCPU;
	if (!(op->flags & OP_CALL))
		return 0;
	/* Calls of a library that the traced ones are inside of have to be heard to their end. */
	return WATCH_OUTER | (device_act_of(op) != DEVICE_NOTHING ? WATCH_INNER : 0);
}

/* Position of the place where the gap began; UINT32_MAX: out of memory, or there are too many. */
static uint32_t wait_at(struct gpu_work *g, const struct cause *c, const struct gap *gap,
			bool *too_many)
{
	uint32_t frame = site_frames_get(&g->frames, c->w, gap->since_stack);
	uint64_t key = hash_u64(((uint64_t)gap->device << 32 | frame) ^ hash_u64(gap->since_op)),
		 at;
	bool full;
	struct gpu_wait fresh = { .device = gap->device,
				  .key = key,
				  .frame = frame,
				  .stack = gap->since_stack,
				  .op = gap->since_op };

	if (map_get(&g->wait_by, key, &at))
		return (uint32_t)at;
	at = gpu_place(&g->waits, &g->unused_waits, &g->wait_by, fresh, &full);
	if (at != UINT32_MAX)
		return (uint32_t)at;
	*too_many = full;
	return UINT32_MAX;
}

#define work_of(sink) ((struct gpu_work *)(sink)) /* the first member */

static bool gap_told(struct gap_sink *sink, const struct gap *gap)
{
	struct gpu_work *g = work_of(sink);
	uint64_t ns = (uint64_t)(gap->end_ns - gap->start_ns);
	bool too_many = false;
	uint32_t wait;

	/* Another process kept it busy: nothing was lost, or not to this. So may calls that are
	 * not recorded. */
	if (2 * gap->others_ns > ns ||
	    cause_uncovered(g->c, gaps_device(g->gaps, gap->device)->process, TIERS_ALL,
			    gap->start_ns, gap->end_ns))
		return true;
	wait = wait_at(g, g->c, gap, &too_many);
	while (g->devices.n <= gap->device) {
		if (!vec_push(&g->devices, (struct gpu_device){ 0 }))
			return false;
	}
	g->devices.v[gap->device].idle_ns[gap->unbounded] += ns;
	g->devices.v[gap->device].gaps[gap->unbounded]++;
	if (wait == UINT32_MAX)
		return too_many; /* no more than is told of the device itself */
	if (!sync_storm_gap(g->c, &g->waits.v[wait], gap))
		return false;
	return loss_gaps_add(g->c, gaps_device(g->gaps, gap->device), gap,
			     !gap->unbounded && gpu_wait_storms(&g->waits.v[wait]));
}

static bool run_told(struct gap_sink *sink, const struct gap_run *run)
{
	return launch_bound_run(work_of(sink), run);
}

static bool wait_told(struct gap_sink *sink, const struct gap_wait *wait)
{
	return gpu_shared_wait(work_of(sink), wait);
}

RARE static bool begin(struct gpu_work *g, struct cause *c)
{
	if (!g->gaps) {
		g->c = c;
		g->sink = (struct gap_sink){ gap_told, run_told, wait_told };
		g->gaps = gaps_new(c->w, &c->paused, &g->sink);
	}
	return g->gaps != NULL;
}

static bool outside(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return begin(g, c) && gaps_outside(g->gaps, p);
}

static bool outer(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return (g->gaps || begin(g, c)) && gaps_call(g->gaps, p);
}

static bool inner(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return (g->gaps || begin(g, c)) && gaps_inner(g->gaps, p);
}

static bool record(void *state, struct cause *c, const struct record *r)
{
	struct gpu_work *g = state;
	const struct op_def *op;

	if (r->kind != RECORD_SAMPLED || r->u.SAMPLED.left_out == 0)
		return true;
	op = world_op(c->w, (uint16_t)r->u.SAMPLED.op);
	if (!op || device_act_of(op) == DEVICE_NOTHING)
		return true;
	if (!begin(g, c))
		return false;
	g->left_out += r->u.SAMPLED.left_out;
	gaps_partial(g->gaps);
	c->lost_time.partial = true;
	return true;
}

static bool offcpu(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	(void)c;
	return !g->gaps || gaps_wait(g->gaps, p);
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct gpu_work *g = state;
	int rc;

	if (!g->gaps)
		return 0;
	if (!gaps_settle(g->gaps, c->ended ? INT64_MAX : c->settled_ns))
		return err_nomem(e);
	rc = sync_storm_settle(g, c, pane, e);
	if (rc == 0)
		rc = launch_bound_settle(g, c, pane, e);
	if (rc == 0)
		rc = gpu_shared_settle(g, c, pane, e);
	return rc;
}

/* What is a gap to the end is told before what was lost is summed. */
static bool ends(void *state)
{
	struct gpu_work *g = state;

	return !g->gaps || gaps_settle(g->gaps, INT64_MAX);
}

/* Of its devices, all that was not told. A cause keeps the place where its gaps begin. */
#define let_go(vec, unused, by, of, told)                                         \
	do {                                                                      \
		for (uint32_t i_ = 0; i_ < (vec)->n; i_++) {                      \
			if ((vec)->v[i_].device != (of) || (told))                \
				continue;                                         \
			map_del((by), (vec)->v[i_].key);                          \
			(vec)->v[i_] = (typeof(*(vec)->v)){ .device = GPU_GONE }; \
			if (!vec_push((unused), i_))                              \
				return false;                                     \
		}                                                                 \
	} while (0)

static bool device_forget(struct gpu_work *g, uint32_t device)
{
	let_go(&g->waits, &g->unused_waits, &g->wait_by, device, g->waits.v[i_].sum.told.revision);
	let_go(&g->issue, &g->unused_issue, &g->issue_by, device, g->issue.v[i_].sum.told.revision);
	let_go(&g->shared, &g->unused_shared, &g->shared_by, device,
	       g->shared.v[i_].sum.told.revision);
	return true;
}

static bool forget(void *state, struct cause *c, uint32_t process)
{
	const struct tally_process *p =
		process < c->tally.processes.n ? &c->tally.processes.v[process] : NULL;
	struct gpu_work *g = state;

	if (!g->gaps || !p)
		return true;
	for (uint32_t gpu = 0; gpu <= world_count(c->w, WORLD_GPU); gpu++) {
		uint32_t device = gaps_device_of(g->gaps, process, gpu);

		if (device != UINT32_MAX && !device_forget(g, device))
			return false;
	}
	return gaps_forget(g->gaps, process, p->threads.v, p->threads.n);
}

static void release(void *state)
{
	struct gpu_work *g = state;

	vec_free(&g->unused_waits);
	vec_free(&g->unused_issue);
	vec_free(&g->unused_shared);

	gaps_free(g->gaps);
	vec_free(&g->devices);
	vec_free(&g->waits);
	vec_free(&g->issue);
	map_free(&g->frames.by);
	map_free(&g->wait_by);
	map_free(&g->issue_by);
	vec_free(&g->shared);
	map_free(&g->shared_by);
	map_free(&g->shared_threads);
}

const struct watch_def watch_gpu_work = { .name = "gpu-work",
					  .size = sizeof(struct gpu_work),
					  .wants = wants,
					  .piece = outside,
					  .outer = outer,
					  .inner = inner,
					  .record = record,
					  .ends = ends,
					  .settle = settle,
					  .forget = forget,
					  .free = release,
					  .offcpu = offcpu };

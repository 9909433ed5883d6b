/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes spans to lib/gpustate/gaps.h, and its gaps, runs and waits to the kinds of findings.
 */
#include "lib/detect/gpu_work_internal.h"

#include "lib/base/compiler.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/loss_gaps.h"

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return SUBSCRIBE_CALLS;
	if (op->id == OP_SCHED_OFFCPU)
		return SUBSCRIBE_OFFCPU;
	if (!(op->flags & OP_CALL))
		return 0;
	/* Calls of any library, to their end: traced calls may be inside them. */
	return SUBSCRIBE_CALLS | (device_act_of(op) != DEVICE_NOTHING ? SUBSCRIBE_INNER_CALLS : 0);
}

static struct gpu_work *work_of(struct gap_sink *sink)
{
	return (struct gpu_work *)((char *)sink - offsetof(struct gpu_work, sink));
}

static bool on_idle_gap(struct gap_sink *sink, const struct gap *gap)
{
	struct gpu_work *g = work_of(sink);
	uint64_t ns = (uint64_t)(gap->end_ns - gap->start_ns);
	struct gpu_place from = { .device = gap->device,
				  .stack = gap->since_stack,
				  .op = gap->since_op };
	struct gpu_wait *wait;
	bool nomem;

	/* Another process kept it busy: nothing was lost, or not to this. So may calls that are
	 * not recorded. */
	if (2 * gap->others_ns > ns ||
	    cause_uncovered(g->c, gaps_device(g->gaps, gap->device)->process, TIERS_ALL,
			    gap->start_ns, gap->end_ns))
		return true;
	wait = gpu_place_of(g, &g->waits, from,
			    site_frames_get(&g->frames, g->c->w, gap->since_stack), &nomem);
	if (!vec_reach(&g->idle_ns, gap->device))
		return false;
	g->idle_ns.v[gap->device] += gap->unbounded ? 0 : ns;
	if (!wait)
		return !nomem; /* there are too many places: only the device's own total counts */
	if (!sync_storm_gap(g->c, wait, gap))
		return false;
	return loss_gaps_add(g->c, gaps_device(g->gaps, gap->device), gap,
			     !gap->unbounded && gpu_wait_storms(wait));
}

static bool on_issue_run(struct gap_sink *sink, const struct gap_run *run)
{
	return launch_bound_run(work_of(sink), run);
}

static bool on_device_wait(struct gap_sink *sink, const struct gap_wait *wait)
{
	return gpu_shared_wait(work_of(sink), wait);
}

COLD_CALL static bool start_gaps(struct gpu_work *g, struct cause *c)
{
	if (!g->gaps) {
		g->c = c;
		g->sink = (struct gap_sink){ on_idle_gap, on_issue_run, on_device_wait };
		g->gaps = gaps_new(c->w, &c->paused, &g->sink);
	}
	return g->gaps != NULL;
}

static bool on_gap(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return start_gaps(g, c) && gaps_outside(g->gaps, p);
}

static bool on_outer_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return (g->gaps || start_gaps(g, c)) && gaps_call(g->gaps, p);
}

static bool on_inner_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return (g->gaps || start_gaps(g, c)) && gaps_inner(g->gaps, p);
}

static bool on_record(void *state, struct cause *c, const struct record *r)
{
	struct gpu_work *g = state;
	const struct op_def *op;

	if (r->kind != RECORD_SAMPLED || r->u.SAMPLED.left_out == 0)
		return true;
	op = world_op(c->w, (uint16_t)r->u.SAMPLED.op);
	if (!op || device_act_of(op) == DEVICE_NOTHING)
		return true;
	if (!start_gaps(g, c))
		return false;
	gaps_partial(g->gaps);
	c->lost_time.partial = true;
	return true;
}

static bool on_offcpu(void *state, struct cause *c, const struct line_piece *p)
{
	struct gpu_work *g = state;

	return !g->gaps || gaps_wait(g->gaps, p);
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct gpu_work *g = state;

	return !g->gaps || gaps_settle(g->gaps, c->ended ? INT64_MAX : c->settled_ns)
		       ? 0
		       : err_nomem(e);
}

/* Gaps that last to the end are handed out before the losses are summed. */
static bool on_stream_end(void *state, struct cause *c)
{
	struct gpu_work *g = state;

	return !g->gaps || gaps_settle(g->gaps, INT64_MAX);
}

static bool forget_process(void *state, struct cause *c, uint32_t process)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);
	struct gpu_work *g = state;

	return !g->gaps || !p || gaps_forget(g->gaps, process, p->threads.v, p->threads.n);
}

static void free_state(void *state)
{
	struct gpu_work *g = state;

	gaps_free(g->gaps);
	vec_free(&g->idle_ns);
	map_free(&g->frames.by);
	map_free(&g->shared_threads);
}

const struct detector detector_gpu_work = { .size = sizeof(struct gpu_work),
					    .tolls = { &sync_storm, &launch_bound, &gpu_shared },
					    .subscribe_op = subscribe_op,
					    .on_span = on_gap,
					    .on_call = on_outer_call,
					    .on_inner_call = on_inner_call,
					    .on_record = on_record,
					    .on_end = on_stream_end,
					    .flush_window = flush_window,
					    .forget_process = forget_process,
					    .free = free_state,
					    .on_offcpu = on_offcpu };

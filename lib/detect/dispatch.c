/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches each attributed span to the ledger, the call classes and the detectors. Fast path: an
 * outermost call of a known thread with no host time skips every lookup whose result is already
 * known.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/compiler.h"
#include "lib/account/class_add.h"
#include "lib/account/analysis_state.h"
#include "lib/account/standing.h"

#define inside(sink) ((struct cause *)(sink)) /* line_sink is the first member */

static void ignore_span(struct line_sink *s, const struct line_piece *p)
{
}

static int ignore_fast_call(struct line_sink *s, const struct line_piece *p)
{
	return 0;
}

void cause_gives_up(struct cause *c)
{
	c->nomem = true;
	c->line_sink =
		(struct line_sink){ ignore_span, ignore_span, ignore_span,
				    .plain = ignore_fast_call, .plain_inner = ignore_fast_call };
}

/* Adds the span to the ledger of its thread and process. NULL: out of memory. */
static struct tally_thread *account_span(struct cause *c, const struct line_piece *p)
{
	struct tally_thread *th = tally_thread(&c->tally, p->process, p->thread);

	if (!th) {
		cause_gives_up(c);
		return NULL;
	}
	for (uint32_t m = p->parts->mask; m; m &= m - 1) {
		unsigned part = (unsigned)__builtin_ctz(m);

		th->ns_by[part] += p->parts->ns[part];
	}
	th->ns += (uint64_t)(p->end_ns - p->start_ns);
	if (p->overlap_ns) {
		th->ns_by[PART_UNKNOWN] -= p->overlap_ns;
		th->ns -= p->overlap_ns;
	}
	return th;
}

/* The time of a thread before a call is complete when the call is dispatched. */
ALWAYS_INLINE void account_gap(struct tally_thread *th, const struct line_piece *p)
{
	th->ns_by[PART_SELF] += p->before_ns;
	th->ns += p->before_ns;
}

/* Extends the lifetime of its process by the span, and updates its image and node. */
ALWAYS_INLINE struct tally_process *touch_process(struct cause *c, struct tally_thread *th,
						  const struct line_piece *p)
{
	struct tally_process *proc = &c->tally.processes.v[p->process];

	if (th->ctx != p->ev->ctx) {
		const struct world_ctx *ctx = world_get_ctx(c->w, p->ev->ctx);

		th->ctx = p->ev->ctx;
		if (ctx) {
			proc->image = ctx->image;
			proc->node = ctx->node;
		}
	}
	/* One of its threads may have been in a long call since before the first of another. */
	if (!proc->lived || p->start_ns < proc->first_ns)
		proc->first_ns = p->start_ns;
	if (!proc->lived || p->end_ns > proc->last_ns)
		proc->last_ns = p->end_ns;
	proc->lived = true;
	return proc;
}

/* The device has work to do from then on, or none. */
NOINLINE static void device_changed(struct cause *c, struct tally_thread *th,
				    struct tally_process *proc, const struct line_piece *p,
				    bool busy)
{
	if (th->busy != busy &&
	    !path_tracks_device(c->tracks, p->thread, p->end_ns, busy, th->calls))
		cause_gives_up(c);
	if (proc->busy != busy &&
	    !path_tracks_device_all(c->tracks, p->process, p->end_ns, busy, proc->calls))
		cause_gives_up(c);
	th->busy = proc->busy = busy;
}

/* Counts an outermost call of which the host took host_ns. */
ALWAYS_INLINE void account_call(struct cause *c, struct tally_thread *th,
				struct tally_process *proc, const struct line_piece *p,
				uint64_t host_ns)
{
	th->calls++;
	proc->calls++;
	if (p->op->flags & OP_LAUNCH) {
		proc->launches++;
		proc->launches_ns +=
			p->ev->dur_ns - (host_ns < p->ev->dur_ns ? host_ns : p->ev->dur_ns);
	}
	if (p->op->flags & (OP_SUBMIT | OP_SYNC)) {
		bool busy = !(p->op->flags & OP_SYNC);

		if (th->busy != busy || proc->busy != busy)
			device_changed(c, th, proc, p, busy);
	}
}

static int on_inner_call(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);

	if (!detectors_call(&c->detectors, c, p))
		cause_gives_up(c);
	c->calls++;
	return 0;
}

NOINLINE static int on_outer_call(struct cause *c, const struct line_piece *p)
{
	struct tally_process *proc;
	struct tally_thread *th = NULL;
	uint64_t host;

	if (p->before_ns) {
		th = tally_thread(&c->tally, p->process, p->thread);
		if (th)
			account_gap(th, p);
	}
	if ((p->before_ns && !th) ||
	    !classes_site(&c->classes, p->process, p->ev, c->ahead.site, &c->of)) {
		cause_gives_up(c);
		return 0;
	}
	if (!detectors_call(&c->detectors, c, p))
		cause_gives_up(c);
	c->calls++;
	th = account_span(c, p);
	if (!th)
		return 0;
	proc = touch_process(c, th, p);
	host = parts_sum(p->parts, PARTS_HOST);
	account_call(c, th, proc, p, host);
	host += parts_sum(p->parts, PARTS_RECORDING);
	if (!classes_add(&c->classes, p->process, p->ev, p->op, host,
			 parts_get(p->parts, PART_UNKNOWN), c->ahead.cell, &c->of) ||
	    (p->parts->nculprits && !lost_time_moment(&c->lost_time, c, p)))
		cause_gives_up(c);
	return 0;
}

static void on_call(struct line_sink *s, const struct line_piece *p)
{
	if (p->depth)
		on_inner_call(s, p);
	else
		on_outer_call(inside(s), p);
}

/* Notifies detectors that need only some calls, if this is one. False: out of memory. */
ALWAYS_INLINE bool notify_optional(struct cause *c, const struct op_subscribers *to,
				   struct tally_thread *th, const struct tally_process *proc,
				   const struct line_piece *p)
{
	if (p->op->flags & OP_LAUNCH && th->launches_left > 1)
		th->launches_left--;
	else if (!detectors_notify(&c->detectors, c, &to->countdown, p))
		return false;
	return proc->begun || detectors_notify(&c->detectors, c, &to->beginning, p);
}

/* on_outer_call for a call with no host time. */
static int on_fast_call(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	const struct op_subscribers *to = &c->detectors.ops[p->ev->op];
	struct tally_thread *th = tally_thread_known(&c->tally, p->thread);
	struct tally_process *proc;

	if (!to->made || !th || th->ctx != p->ev->ctx)
		return on_outer_call(c, p);
	account_gap(th, p);
	/* No detector adds threads or processes to the ledger: pointers into it stay valid. */
	proc = &c->tally.processes.v[p->process];
	if (!classes_site(&c->classes, p->process, p->ev, c->ahead.site, &c->of) ||
	    !detectors_notify(&c->detectors, c, &to->outer, p) ||
	    !notify_optional(c, to, th, proc, p)) {
		cause_gives_up(c);
		return 0;
	}
	c->calls++;
	th->ns_by[PART_SELF] += parts_get(p->parts, PART_SELF);
	th->ns_by[PART_DEVICE] += parts_get(p->parts, PART_DEVICE);
	th->ns += p->ev->dur_ns;
	touch_process(c, th, p);
	account_call(c, th, proc, p, 0);
	if (!classes_add(&c->classes, p->process, p->ev, p->op, 0, 0, c->ahead.cell, &c->of))
		cause_gives_up(c);
	return 0;
}

static void on_gap(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	struct tally_thread *th;

	if (!detectors_outside(&c->detectors, c, p))
		cause_gives_up(c);
	th = account_span(c, p);
	if (!th || !p->ev) /* on CPU */
		return;
	touch_process(c, th, p);
	if (!(p->parts->mask & PARTS_HOST))
		return;
	if (!classes_outside(&c->classes, p->process, p->ev, &c->of))
		cause_gives_up(c);
	else
		c->classes.v.v[c->of.class_id].host_ns += parts_sum(p->parts, PARTS_HOST);
}

static void on_offcpu(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	uint64_t ns;

	c->off_cpu = true;
	if (!detectors_offcpu(&c->detectors, c, p))
		cause_gives_up(c);
	if (!c->steal &&
	    (p->ev->op == OP_SCHED_STOLEN || event_get(p->ev, p->op, COL_STOLEN_NS, &ns)))
		c->steal = true;
	if (!tally_interval(&c->tally, p) || !standing_add(&c->standing, p) ||
	    (p->parts->nculprits && !lost_time_moment(&c->lost_time, c, p)))
		cause_gives_up(c);
}

void analysis_listener_init(struct cause *c)
{
	c->line_sink =
		(struct line_sink){ on_call, on_gap, on_offcpu, true, on_fast_call, on_inner_call };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that came too late for their place: a recorder that got no CPU, or a virtual machine that
 * stood still, delivers some behind others that ended after them.
 */
#include "lib/event/op.h"
#include "lib/path/path_state.h"

/* Nothing is known of the thread yet where the event lies, but for what lies inside it. */
static bool has_its_place(const struct path_thread *th, const struct event *ev, bool call)
{
	if (!call)
		return event_start(ev) >= path_thread_end(th);
	return (!th->log.begun || event_start(ev) >= segment_log_end(&th->log)) &&
	       (!th->tail.n || path_thread_end(th) <= ev->end_ns);
}

int path_late(struct path *p, const struct event *ev, struct err *e)
{
	static const struct segment unknown = { .state = SEGMENT_UNKNOWN };
	const struct op_def *def = world_op(p->w, ev->op);
	const struct world_ctx *ctx = world_get_ctx(p->w, ev->ctx);
	struct path_thread *th = ctx ? path_thread_known(p, ctx->thread) : NULL;
	bool call = def && def->flags & OP_CALL;

	if (!call && ev->op != OP_SCHED_OFFCPU)
		return 0;
	if (!th || has_its_place(th, ev, call))
		return path_event(p, ev, e);
	if (th->log.begun && ev->depth == 0 &&
	    !segment_log_restate(&th->log, event_start(ev), ev->end_ns, &unknown, 0))
		return err_nomem(e);
	return 0;
}

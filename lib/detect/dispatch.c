/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches each attributed span to the ledger, the call classes and the detectors. Fast path: an
 * outermost call of a known thread with no host time skips every lookup whose result is already
 * known.
 */
#include "lib/detect/dispatch.h"

#include "lib/base/compiler.h"
#include "lib/account/class_add.h"
#include "lib/account/analysis_state.h"
#include "lib/account/standing.h"

#define inside(sink) ((struct cause *)(sink)) /* line_sink is the first member */

static void deaf(struct line_sink *s, const struct line_piece *p)
{
}

static int deaf_to_plain(struct line_sink *s, const struct line_piece *p)
{
	return 0;
}

void cause_gives_up(struct cause *c)
{
	c->nomem = true;
	c->line_sink = (struct line_sink){ deaf, deaf, deaf, .plain = deaf_to_plain,
					   .plain_inner = deaf_to_plain };
}

/* The books of the piece's thread have its time, and its process is in them. NULL: out of memory. */
static struct tally_thread *booked(struct cause *c, const struct line_piece *p)
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

/* What a thread did before a call is over when the call is told. */
ALWAYS_INLINE void before_booked(struct tally_thread *th, const struct line_piece *p)
{
	th->ns_by[PART_SELF] += p->before_ns;
	th->ns += p->before_ns;
}

/* Its process lives as long as that has events, and looks as in the newest of them. */
ALWAYS_INLINE struct tally_process *lives(struct cause *c, struct tally_thread *th,
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
	/* Of its threads one may have been in a long call from before the first that another made. */
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

/* An outermost call of which the host took so much. */
ALWAYS_INLINE void counted(struct cause *c, struct tally_thread *th, struct tally_process *proc,
			   const struct line_piece *p, uint64_t host_ns)
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

static int inner_told(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);

	if (!watches_call(&c->watches, c, p))
		cause_gives_up(c);
	c->calls++;
	return 0;
}

NOINLINE static int outer_told(struct cause *c, const struct line_piece *p)
{
	struct tally_process *proc;
	struct tally_thread *th = NULL;
	uint64_t host;

	if (p->before_ns) {
		th = tally_thread(&c->tally, p->process, p->thread);
		if (th)
			before_booked(th, p);
	}
	if ((p->before_ns && !th) ||
	    !classes_site(&c->classes, p->process, p->ev, c->ahead.site, &c->of)) {
		cause_gives_up(c);
		return 0;
	}
	if (!watches_call(&c->watches, c, p))
		cause_gives_up(c);
	c->calls++;
	th = booked(c, p);
	if (!th)
		return 0;
	proc = lives(c, th, p);
	host = parts_sum(p->parts, PARTS_HOST);
	counted(c, th, proc, p, host);
	host += parts_sum(p->parts, PARTS_RECORDING);
	if (!classes_add(&c->classes, p->process, p->ev, p->op, host,
			 parts_get(p->parts, PART_UNKNOWN), c->ahead.cell, &c->of) ||
	    (p->parts->nculprits && !lost_time_moment(&c->lost_time, c, p)))
		cause_gives_up(c);
	return 0;
}

static void call_told(struct line_sink *s, const struct line_piece *p)
{
	if (p->depth)
		inner_told(s, p);
	else
		outer_told(inside(s), p);
}

/* Those who may be spared the call hear of it where it concerns them. False: out of memory. */
ALWAYS_INLINE bool spared(struct cause *c, const struct watch_ears *ears, struct tally_thread *th,
			  const struct tally_process *proc, const struct line_piece *p)
{
	if (p->op->flags & OP_LAUNCH && th->launches_left > 1)
		th->launches_left--;
	else if (!watches_tell(&c->watches, c, &ears->countdown, p))
		return false;
	return proc->begun || watches_tell(&c->watches, c, &ears->beginning, p);
}

/* The same of one that the host took nothing of. */
static int plain_told(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	const struct watch_ears *ears = &c->watches.ears[p->ev->op];
	struct tally_thread *th = tally_thread_known(&c->tally, p->thread);
	struct tally_process *proc;

	if (!ears->made || !th || th->ctx != p->ev->ctx)
		return outer_told(c, p);
	before_booked(th, p);
	/* No watch takes threads or processes into the books: where they stand stays. */
	proc = &c->tally.processes.v[p->process];
	if (!classes_site(&c->classes, p->process, p->ev, c->ahead.site, &c->of) ||
	    !watches_tell(&c->watches, c, &ears->outer, p) || !spared(c, ears, th, proc, p)) {
		cause_gives_up(c);
		return 0;
	}
	c->calls++;
	th->ns_by[PART_SELF] += parts_get(p->parts, PART_SELF);
	th->ns_by[PART_DEVICE] += parts_get(p->parts, PART_DEVICE);
	th->ns += p->ev->dur_ns;
	lives(c, th, p);
	counted(c, th, proc, p, 0);
	if (!classes_add(&c->classes, p->process, p->ev, p->op, 0, 0, c->ahead.cell, &c->of))
		cause_gives_up(c);
	return 0;
}

static void outside_told(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	struct tally_thread *th;

	if (!watches_outside(&c->watches, c, p))
		cause_gives_up(c);
	th = booked(c, p);
	if (!th || !p->ev) /* on CPU */
		return;
	lives(c, th, p);
	if (!(p->parts->mask & PARTS_HOST))
		return;
	if (!classes_outside(&c->classes, p->process, p->ev, &c->of))
		cause_gives_up(c);
	else
		c->classes.v.v[c->of.class_id].host_ns += parts_sum(p->parts, PARTS_HOST);
}

static void offcpu_told(struct line_sink *s, const struct line_piece *p)
{
	struct cause *c = inside(s);
	uint64_t ns;

	c->off_cpu = true;
	if (!watches_offcpu(&c->watches, c, p))
		cause_gives_up(c);
	if (!c->steal &&
	    (p->ev->op == OP_SCHED_STOLEN || event_get(p->ev, p->op, COL_STOLEN_NS, &ns)))
		c->steal = true;
	if (!tally_interval(&c->tally, p) || !standing_add(&c->standing, p) ||
	    (p->parts->nculprits && !lost_time_moment(&c->lost_time, c, p)))
		cause_gives_up(c);
}

void cause_hears(struct cause *c)
{
	c->line_sink = (struct line_sink){ call_told, outside_told, offcpu_told,
					   true,      plain_told,   inner_told };
}

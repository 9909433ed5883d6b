/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped: somebody stopped the process and let it go on later: a scheduler that suspends jobs, a shell, a debugger or
 * profiler that attaches. Proven by the kernel's state of its threads, and by who woke them from it. They all stand still
 * at once: it counts once. Not this: the recorder's own stops of programs that it attaches to as they start.
 */
#include <inttypes.h>

#include "lib/base/hash.h"
#include "lib/cause/detect/watches.h"
#include "lib/cause/names.h"
#include "lib/cause/tolls.h"

#define RECORDER "ingero-record"

struct stops {
	/* of: hash of what wakers are called, as each kill(1) is another process; 0: not known */
	struct toll_row row;
	uint32_t waker, by; /* thread that let it go on last, and its process */
	uint64_t longest_ns;
};

struct stopped {
	struct tolls tolls;
	VEC(int64_t) until_ns; /* by world process: told up to there, whoever let it go on */
};

static const struct tolls_def stopping;

static unsigned wants(const struct op_def *op)
{
	return op && op->id == OP_SCHED_OFFCPU ? WATCH_OFFCPU : 0;
}

static uint32_t process_of(const struct cause *c, uint32_t thread)
{
	const struct world_thread *t = thread ? world_get_thread(c->w, thread) : NULL;

	return t ? t->process : 0;
}

static bool piece(void *state, struct cause *c, const struct line_piece *p)
{
	struct stopped *s = state;
	uint64_t ns = parts_get(p->parts, PART_STOPPED), waker = 0, kind = WAKER_NONE;
	int64_t from = p->start_ns, until = p->start_ns + (int64_t)ns;
	struct bytes comm = { 0 };
	struct stops *x;
	uint32_t by;

	if (ns == 0)
		return true;
	if (event_get(p->ev, p->op, COL_WAKER_KIND, &kind) && kind == WAKER_TASK)
		event_get(p->ev, p->op, COL_WAKER, &waker);
	by = process_of(c, (uint32_t)waker);
	if (by)
		comm = name_thread(c->w, &c->tally, (uint32_t)waker);
	if (bytes_equal(comm, bytes_of(RECORDER)))
		return true;
	while (s->until_ns.n <= p->process) {
		if (!vec_push(&s->until_ns, INT64_MIN))
			return false;
	}
	from = from > s->until_ns.v[p->process] ? from : s->until_ns.v[p->process];
	if (until <= from || (uint64_t)(until - from) * 2 < ns)
		return true; /* the same stop, of another thread */
	x = tolls_row(&s->tolls, &stopping, p->process,
		      by ? (uint32_t)hash_bytes(comm.p, comm.n, 0) | 1 : 0, NULL);
	if (!x)
		return false;
	s->until_ns.v[p->process] = until;
	x->waker = (uint32_t)waker;
	x->by = by;
	x->row.toll.whole = true; /* a stop outside calls counts as much as one in them */
	x->longest_ns = ns > x->longest_ns ? ns : x->longest_ns;
	return where_add(&s->tolls.where, x->row.at, 0, p->ev->stack, (uint64_t)(until - from),
			 ns) &&
	       toll_add(c, &x->row.toll, p->thread, p->ev->op, p->start_ns, p->end_ns,
			(uint64_t)(until - from));
}

/* All of a process stands still: whichever of its threads was told of first. One long stop is enough, it is no sample. */
static bool due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct toll *t = &r->toll;
	uint64_t wall = cause_wall_ns(c), ns = t->ns;

	if (c->ended && t->told.revision) {
		*share = wall ? (double)ns / (double)wall : 0;
		return true;
	}
	if (!c->ended) {
		wall = (uint64_t)TALLY_PANES * TALLY_PANE_NS;
		ns = toll_lately(t, pane).ns;
	}
	*share = wall ? (double)ns / (double)wall : 0;
	return ns >= c->opt.min_lost_ns && *share >= c->opt.min_share &&
	       fact_due(c, &t->told, t->ns, *share);
}

static void tell(void *state, const struct cause *c, struct toll_row *r, struct telling *t)
{
	const struct stops *x = (struct stops *)r;
	const struct world_process *by = world_get_process(c->w, x->by),
				   *v = world_get_process(c->w, r->process);
	struct bytes comm = name_thread(c->w, &c->tally, x->waker);
	struct fact *f = &t->f;

	(void)state;
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " was stopped for ");
	fact_amount(f, &f->summary);
	if (by) {
		buf_puts(&t->more, comm.n ? "" : "?");
		buf_add(&t->more, comm.p ? comm.p : "", comm.n);
		f->culprit.kind = "process";
		f->culprit.pid = by->tgid;
		f->culprit.comm = f->identity = buf_text(&t->more);
		name_thread_full(&t->who, c->w, &c->tally, x->waker);
		buf_printf(&f->summary, "; %s let it go on", buf_text(&t->who));
	} else {
		f->culprit.kind = "none";
		buf_puts(&t->who, "who stopped it is not recorded");
	}
	f->culprit.text = buf_text(&t->who);
	f->gain = FACT_GAIN_ALL;
	f->one_ns = 0; /* whichever of its threads was told of, all stood still */
	for (unsigned i = 0; i < f->nmoments; i++)
		f->moments[i].text = "stopped";
	fact_evidence(f, "longest stop", (double)x->longest_ns, "ns");
	buf_printf(&t->where, "grep -E 'State|TracerPid' /proc/%" PRIu32 "/status",
		   v ? v->tgid : 0);
	fact_fix(f,
		 "Find out who sends it SIGSTOP (a batch system that suspends jobs, a shell) or "
		 "attaches to it (a debugger, strace, a profiler that stops what it looks at)",
		 buf_text(&t->where), r->toll.ns, r->toll.ns,
		 "while it is stopped it does nothing at all");
}

static const struct tolls_def stopping = {
	.kind = "stopped", .counted = "times", .row = sizeof(struct stops), .due = due, .tell = tell
};

static void end(void *state)
{
	vec_free(&((struct stopped *)state)->until_ns);
	tolls_free(state);
}

const struct watch_def watch_stopped = {
	.name = "stopped",
	.size = sizeof(struct stopped),
	.wants = wants,
	.offcpu = piece,
	.settle = tolls_settle,
	.forget = tolls_forget,
	.free = end,
};

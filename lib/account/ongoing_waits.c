/* SPDX-License-Identifier: Apache-2.0 */
/* What woke is found out in the end alone (line_heard): events are many, and do not look here. */
#include "lib/account/ongoing_waits.h"

#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/account/analysis_state.h"
#include "lib/account/names.h"
#include "lib/event/ongoing_wait.h"
#include "lib/event/part.h"
#include "lib/attrib/blame.h"
#include "lib/attrib/line.h"

bool cause_asleep_record(struct cause_asleep *a, const struct world *w, const struct record *r,
			 uint64_t calls)
{
	const struct rec_ASLEEP *now = &r->u.ASLEEP;
	struct cause_sleeper fresh = { .said = *r, .calls = calls, .calls_ns = now->time_ns },
			     *known;
	uint64_t at;

	if (!world_get_thread(w, now->thread))
		return true;
	if (!map_get(&a->at, now->thread, &at))
		return vec_push(&a->v, fresh) && map_put(&a->at, now->thread, a->v.n - 1);
	known = &a->v.v[at];
	if (known->said.u.ASLEEP.time_ns > now->time_ns)
		return true;
	if (known->said.u.ASLEEP.since_ns == now->since_ns) {
		fresh.calls = known->calls;
		fresh.calls_ns = known->calls_ns;
		fresh.again = true;
	}
	*known = fresh;
	return true;
}

bool cause_stands(const struct cause *c, const struct record *r, struct buf *out)
{
	const struct rec_ASLEEP *wait = &r->u.ASLEEP;
	const struct op_def *op = world_op(c->w, OP_SCHED_OFFCPU);
	const struct world_thread *t = world_get_thread(c->w, wait->thread);
	const struct cause_sleeper *s;
	struct event ev;
	uint32_t frame;
	uint64_t at;

	if (r->kind != RECORD_ASLEEP || !t || !map_get(&c->asleep.at, wait->thread, &at) ||
	    !asleep_event(r, op, &ev))
		return false;
	s = &c->asleep.v.v[at];
	if (!s->again || wait->thread >= c->tally.threads.n ||
	    !c->tally.threads.v[wait->thread].calls ||
	    c->tally.processes.v[t->process].calls != s->calls ||
	    cause_uncovered(c, t->process, TIERS_ALL, s->calls_ns, wait->time_ns))
		return false;
	name_victim(out, c->w, &c->tally, t->process);
	buf_printf(out, " makes no calls: for %s a thread has been %s", fmt_ns(ev.dur_ns).s,
		   part_text(blame_blocked(&ev, op)));
	frame = name_site_frame(c->w, ev.stack);
	if (frame) {
		buf_puts(out, ", in ");
		name_frame(out, c->w, frame);
	}
	return true;
}

void cause_asleep_gone(struct cause_asleep *a, uint32_t thread)
{
	uint64_t at;

	if (!map_get(&a->at, thread, &at))
		return;
	map_del(&a->at, thread);
	a->v.n--;
	if (at == a->v.n)
		return;
	a->v.v[at] = a->v.v[a->v.n];
	map_put(&a->at, a->v.v[at].said.u.ASLEEP.thread,
		at); /* it is there: no memory is asked for */
}

void cause_asleep_ended(struct cause_asleep *a, const struct world *w, uint32_t node,
			int64_t time_ns)
{
	for (size_t i = a->v.n; i-- > 0;) {
		const struct rec_ASLEEP *r = &a->v.v[i].said.u.ASLEEP;
		const struct world_thread *t = world_get_thread(w, r->thread);
		const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

		if (r->time_ns <= time_ns && (!node || !p || p->node == node))
			cause_asleep_gone(a, r->thread);
	}
}

/* By when, then by what threads are called, not by ids that depend on the file. */
static int stream_order(const void *x, const void *y, void *world)
{
	const struct rec_ASLEEP *a = &((const struct cause_sleeper *)x)->said.u.ASLEEP,
				*b = &((const struct cause_sleeper *)y)->said.u.ASLEEP;
	const struct world_thread *t = world_get_thread(world, a->thread),
				  *u = world_get_thread(world, b->thread);

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (t && u && t->tid != u->tid)
		return t->tid < u->tid ? -1 : 1;
	return (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

static bool goes_on(const struct cause_sleeper *s, const struct line *l)
{
	return !line_heard(l, s->said.u.ASLEEP.thread, s->said.u.ASLEEP.since_ns);
}

bool cause_asleep_any(const struct cause_asleep *a, const struct line *l)
{
	for (size_t i = 0; i < a->v.n; i++)
		if (goes_on(&a->v.v[i], l))
			return true;
	return false;
}

static int emit_wait(const struct record *r, const struct world *w, struct line *l,
		     cause_asleep_fn *tell, void *ctx, struct err *e)
{
	uint32_t thread = r->u.ASLEEP.thread;
	struct event ev;
	int rc = 0;

	for (unsigned i = 0; i < ASLEEP_OPS && rc >= 0; i++) {
		if (!asleep_event(r, world_op(w, asleep_ops[i]), &ev))
			continue;
		ev.ctx = line_ctx(l, thread);
		rc = tell(ctx, thread, &ev, e);
		if (rc == 0 && ev.op == OP_SCHED_OFFCPU)
			rc = line_asleep(l, thread, &ev, e);
	}
	return rc < 0 ? rc : 0;
}

int cause_asleep_tell(struct cause_asleep *a, const struct world *w, struct line *l,
		      cause_asleep_fn *tell, void *ctx, struct err *e)
{
	int rc = 0;

	if (a->v.n)
		qsort_r(a->v.v, a->v.n, sizeof(*a->v.v), stream_order, (void *)w);
	for (size_t i = 0; i < a->v.n && rc == 0; i++)
		if (goes_on(&a->v.v[i], l))
			rc = emit_wait(&a->v.v[i].said, w, l, tell, ctx, e);
	cause_asleep_free(a);
	return rc;
}

void cause_asleep_free(struct cause_asleep *a)
{
	map_free(&a->at);
	vec_free(&a->v);
}

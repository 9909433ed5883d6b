/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for Python's interpreter lock that only the clock ended: whose they were shows in what the
 * holder does next, when it has let go and wants the lock back, where the waiting thread took it
 * without another wait.
 */
#include "tests/tap.h"

#include <string.h>

#include "lib/attrib/line.h"
#include "tests/unit/events.h"

#define PIECES 32

struct collected {
	struct line_sink sink;
	struct parts off[PIECES];
	uint32_t thread[PIECES];
	unsigned n;
};

static void ignore(struct line_sink *s, const struct line_piece *p)
{
	(void)s, (void)p;
}

static void on_off(struct line_sink *s, const struct line_piece *p)
{
	struct collected *t = (struct collected *)s;

	if (t->n == PIECES)
		return;
	t->off[t->n] = *p->parts;
	t->thread[t->n++] = p->thread;
}

/* A wait for the interpreter; by: who let it go, NULL the clock ended it. */
static struct event *wait_gil(struct stage *s, struct actor a, int64_t start, int64_t end,
			      const struct actor *by)
{
	struct event *ev = stage_lock(s, a, 0, start, end, end, by ? *by : a, 0x7000);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
	if (!by) {
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		ev->present &= ~(1u << op_column(op_builtin(ev->op), COL_WAKER));
	}
	return ev;
}

/* What of its waits for locks the thread says that this one had. */
static uint64_t held_ns(struct stage *s, struct actor waits, struct actor holds)
{
	struct collected t = { .sink = { ignore, ignore, on_off } };
	struct line *l = line_new(s->w, &t.sink);
	uint64_t ns = 0;

	stage_sort(s);
	for (size_t i = 0; i < s->ev.n; i++)
		line_event(l, &s->ev.v[i], false, NULL);
	for (unsigned i = 0; i < t.n; i++)
		for (unsigned k = 0; k < t.off[i].nculprits; k++) {
			const struct line_culprit *c =
				culprit_get(line_culprits(l), t.off[i].c[k].culprit);

			if (t.thread[i] == waits.thread && t.off[i].c[k].part == PART_LOCK && c &&
			    c->thread == holds.thread)
				ns += t.off[i].c[k].ns;
		}
	line_free(l);
	s->ev.n = 0;
	return ns;
}

/* Five ms by the clock; the holder gives way and wants it back; a ms of work, and the next wait. */
static void handed_over(struct stage *s, struct actor v, struct actor h, int64_t back_ns)
{
	wait_gil(s, v, 0, 5 * MS, NULL);
	wait_gil(s, h, 5 * MS + back_ns, 7 * MS, &v);
	wait_gil(s, v, 7 * MS + 10 * US, 8 * MS, &h);
}

static void check_named(struct stage *s, struct actor v, struct actor h)
{
	handed_over(s, v, h, 20 * US);
	is_u64(held_ns(s, v, h), 6 * MS - 10 * US,
	       "who gives way after the five ms is who had the lock");
	handed_over(s, v, h, 20 * US);
	stage_offcpu(s, v, 0, 6 * MS, 6 * MS + 100 * US, 0, 0);
	is_u64(held_ns(s, v, h), 6 * MS - 10 * US, "the same with another wait in between");
	handed_over(s, v, h, 20 * US);
	stage_offcpu(s, v, 0, 5500 * US, 5900 * US, 400 * US, 0);
	is_u64(held_ns(s, v, h), 6 * MS - 10 * US,
	       "the same where it loses its CPU while it has the lock");
	for (int i = 0; i < 4; i++)
		wait_gil(s, v, i * 5100 * US, i * 5100 * US + 5 * MS, NULL);
	wait_gil(s, h, 20300 * US + 20 * US, 22 * MS, &v);
	wait_gil(s, v, 23 * MS, 24 * MS, NULL);
	is_u64(held_ns(s, v, h), 20 * MS, "of all waits that follow each other closely");
	wait_gil(s, v, 0, 5 * MS, NULL);
	wait_gil(s, h, 5020 * US, 10020 * US, NULL);
	wait_gil(s, h, 10030 * US, 12 * MS, &v);
	wait_gil(s, v, 12010 * US, 13 * MS, &h);
	is_u64(held_ns(s, v, h), 5990 * US, "also where the holder's own wait is in two halves");
}

static void check_not_named(struct stage *s, struct actor v, struct actor h)
{
	struct actor other = stage_actor(s, 100, 102, 1, "other"),
		     stranger = stage_actor(s, 200, 200, 1, "stranger");

	handed_over(s, v, h, 300 * US);
	is_u64(held_ns(s, v, h), MS - 10 * US, "who comes later for the lock did not have it");
	handed_over(s, v, h, -US);
	is_u64(held_ns(s, v, h), MS - 10 * US, "nor who has waited for it before");
	wait_gil(s, v, 0, 5 * MS, NULL);
	wait_gil(s, stranger, 5020 * US, 6 * MS, &v);
	wait_gil(s, v, 7 * MS, 8 * MS, &h);
	is_u64(held_ns(s, v, stranger), 0, "nor a thread of another process");
	wait_gil(s, v, 0, 5 * MS, NULL);
	wait_gil(s, other, 5010 * US, 5030 * US, &v);
	wait_gil(s, v, 5040 * US, 6 * MS, &h);
	is_u64(held_ns(s, v, other), 0, "nor who wakes while the wait goes on");
}

static void check_holder_kept(struct stage *s, struct actor v, struct actor h)
{
	handed_over(s, v, h, 20 * US);
	stage_offcpu(s, h, 0, MS, 3 * MS, 2 * MS, 3);
	stage_occupied(s, stage_actor(s, 300, 300, 1, "hog"), 3, MS, 3 * MS);
	is_u64(held_ns(s, v, h), 4 * MS - 10 * US,
	       "where the holder itself was kept from its CPU is not the holder's");
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     h = stage_actor(&s, 100, 101, 1, "augment");

	check_named(&s, v, h);
	check_not_named(&s, v, h);
	check_holder_kept(&s, v, h);
	stage_free(&s);
	return tap_done();
}

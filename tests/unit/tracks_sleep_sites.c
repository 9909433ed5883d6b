/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps of one thread as off-CPU intervals: which keep a pace, with and without a preemption right
 * before them. CPython works out until when it sleeps before it lets go of the interpreter's lock.
 */
#include "lib/tracks/sleep_sites.h"

#include "tests/tap.h"
#include "tests/unit/events.h"

#define ROUNDS 120
#define SLEEP  (16 * MS)

static const struct row {
	const char *name;
	bool until;	/* the end is worked out when the work begins, not when it is done */
	bool preempted; /* every other time, for some milliseconds, between that and the sleep */
	bool woken;	/* several times, for what it does not wait for, and waits on */
	enum pace pace;
} rows[] = {
	{ "sleeps of one length", false, false, false, PACE_ADDED },
	{ "of which preemptions take a part", false, true, false, PACE_ADDED },
	{ "sleeps until the next turn", true, false, false, PACE_KEPT },
	{ "and preempted before", true, true, false, PACE_KEPT },
	{ "waits of one length on a condition", false, false, true, PACE_ADDED },
	{ "until the next turn", true, false, true, PACE_KEPT },
};

/* The stack of all sleeps, and its line. */
static uint32_t stack, line;

static void put(struct stage *s, struct sleep_sites *sites, struct site_frames *frames,
		struct actor a, int64_t from, int64_t until, unsigned object)
{
	const struct op_def *op = op_builtin(OP_SCHED_OFFCPU);
	struct event *ev = stage_event(s, OP_SCHED_OFFCPU, a.ctx, 0, from, until);

	ev->stack = stack;
	event_set(ev, op, COL_WAIT_NS, object ? 0 : ev->dur_ns);
	event_set(ev, op, COL_OBJECT_KIND, object);
	event_set(ev, op, COL_WAKER_KIND,
		  object == OBJECT_TIMER   ? WAKER_TIMER
		  : object == OBJECT_FUTEX ? WAKER_TASK
		  : object		   ? WAKER_HARDIRQ
					   : WAKER_NONE);
	if (!sleep_sites_interval(sites, frames, ev))
		abort();
}

static enum pace pace_of(const struct row *r)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 0, "loop");
	struct sleep_sites *sites = calloc(1, sizeof(*sites));
	struct site_frames frames = { 0 };
	uint32_t chance = 1;
	int64_t now = 1000 * MS;
	enum pace pace;

	sites->w = s.w;
	line = world_frame(s.w, &(struct world_frame){ .kind = FRAME_UNKNOWN, .offset = 1 });
	stack = world_stack(s.w, &line, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		int64_t began = now, end;

		chance = chance * 1664525u + 1013904223u;
		now += 100 * US + (chance >> 16) % 200 * US; /* work */
		end = (r->until ? began : now) + SLEEP;
		if (r->preempted && i % 2 == 0) {
			int64_t kept = MS + (chance >> 20) % 3000 * US;

			put(&s, sites, &frames, a, now, now + kept, OBJECT_NONE);
			now += kept + 12 * US;
		}
		for (unsigned k = 0; r->woken && k < 3; k++) {
			int64_t until = now + (chance >> (8 + 4 * k)) % 2000 * US;

			put(&s, sites, &frames, a, now, until, OBJECT_FUTEX);
			now = until + 20 * US;
		}
		put(&s, sites, &frames, a, now, end, OBJECT_TIMER);
		now = end;
	}
	pace = sleep_sites_pace(sites, a.thread, line);
	sleep_sites_free(sites);
	map_free(&frames.by);
	free(sites);
	stage_free(&s);
	return pace;
}

/* Runs of four to eight sleeps, with something between two of them. */
static const struct {
	const char *name;
	unsigned object;
	bool call, polls;
	unsigned answers; /* what another thread waits for that it wakes in each */
} between[] = {
	{ "its CPU is taken between two sleeps", OBJECT_NONE, false, true },
	{ "it waits for the interpreter between two sleeps", OBJECT_GIL, false, true },
	{ "it waits for a disk between two sleeps", OBJECT_DISK, false, false },
	{ "it makes a call between two sleeps", OBJECT_NONE, true, false },
	{ "it answers somebody between two sleeps", OBJECT_NONE, false, false, OBJECT_SOCKET },
	{ "it lets go of a lock between two sleeps", OBJECT_NONE, false, true, OBJECT_FUTEX },
};

/* The other one is woken by the thread, at that time. */
static void answer(struct stage *s, struct sleep_sites *sites, struct site_frames *frames,
		   struct actor client, uint32_t by, int64_t now, unsigned object)
{
	const struct op_def *op = op_builtin(OP_SCHED_OFFCPU);
	struct event *ev = stage_event(s, OP_SCHED_OFFCPU, client.ctx, 0, now - 2 * MS, now);

	event_set(ev, op, COL_OBJECT_KIND, object);
	event_set(ev, op, COL_WAKER_KIND, WAKER_TASK);
	event_set(ev, op, COL_WAKER, by);
	if (!sleep_sites_interval(sites, frames, ev))
		abort();
}

static void check_between(size_t row)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 0, "loop"),
		     client = stage_actor(&s, 200, 200, 0, "client");
	struct sleep_sites *sites = calloc(1, sizeof(*sites));
	struct site_frames frames = { 0 };
	int64_t now = 1000 * MS;
	struct poll poll;

	sites->w = s.w;
	stack = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < 4 + i * 7 % 5; k++) {
			put(&s, sites, &frames, a, now, now + 2 * MS, OBJECT_TIMER);
			now += 2 * MS + 10 * US;
			if (between[row].answers)
				answer(&s, sites, &frames, client, a.thread, now,
				       between[row].answers);
			if (between[row].call)
				sleep_sites_event(sites, stage_call(&s, a, OP_CUDA_LAUNCH, 0, now,
								    now + 5 * US));
			else
				put(&s, sites, &frames, a, now, now + MS, between[row].object);
			now += between[row].call ? 20 * US : MS + 10 * US;
		}
		now += 10 * MS;
	}
	poll = sleep_sites_poll(sites, a.thread, 0);
	is_u64(poll.interval_us, between[row].polls ? 3020 : 0, "%s: %s", between[row].name,
	       between[row].polls ? "it polls" : "it does not poll");
	sleep_sites_free(sites);
	map_free(&frames.by);
	free(sites);
	stage_free(&s);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(pace_of(&rows[i]), rows[i].pace, "%s", rows[i].name);
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
		check_between(i);
	return tap_done();
}

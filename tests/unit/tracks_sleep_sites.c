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
	enum pace pace;
} rows[] = {
	{ "sleeps of one length", false, false, PACE_ADDED },
	{ "of which preemptions take a part", false, true, PACE_ADDED },
	{ "sleeps until the next turn", true, false, PACE_KEPT },
	{ "and preempted before", true, true, PACE_KEPT },
};

static void put(struct stage *s, struct sleep_sites *sites, struct site_frames *frames,
		struct actor a, int64_t from, int64_t until, unsigned object)
{
	const struct op_def *op = op_builtin(OP_SCHED_OFFCPU);
	struct event *ev = stage_event(s, OP_SCHED_OFFCPU, a.ctx, 0, from, until);

	event_set(ev, op, COL_WAIT_NS, object ? 0 : ev->dur_ns);
	event_set(ev, op, COL_OBJECT_KIND, object);
	event_set(ev, op, COL_WAKER_KIND, object ? WAKER_TIMER : WAKER_NONE);
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
		put(&s, sites, &frames, a, now, end, OBJECT_TIMER);
		now = end;
	}
	pace = sleep_sites_pace(sites, a.thread, 0);
	sleep_sites_free(sites);
	free(sites);
	stage_free(&s);
	return pace;
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(pace_of(&rows[i]), rows[i].pace, "%s", rows[i].name);
	return tap_done();
}

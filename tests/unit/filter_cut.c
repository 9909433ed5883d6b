/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a stream between two times: of events that began before, those parts that stand
 * at their end; of calls that have not returned, those that had not then. */
#include "lib/filter/cut.h"

#include "tests/tap.h"
#include "tests/unit/events.h"

#define SINCE 100

static uint64_t left_of(struct stage *s, const struct event *ev, uint16_t col)
{
	struct filter sel = { .resolved = true, .since_ns = SINCE, .until_ns = INT64_MAX };
	struct stream_item item = { .kind = STREAM_EVENTS, .events = ev, .n = 1 };
	struct filter_cut cut = { 0 };
	uint64_t v = UINT64_MAX;
	bool left;

	is_int(filter_cut_item(&cut, &sel, s->w, &item, &left, NULL), 0, "cut");
	is_u64(item.n, 1, "what ends in the time is there");
	is_u64(item.events[0].dur_ns, (uint64_t)(ev->end_ns - SINCE), "from its beginning on");
	event_get(&item.events[0], op_builtin(ev->op), col, &v);
	filter_cut_free(&cut);
	return v;
}

static void requests(struct stage *s, struct actor a)
{
	static const struct {
		uint64_t queue, left;
	} cases[] = { { 0, 0 }, { 30, 0 }, { 40, 0 }, { 45, 5 }, { 60, 20 }, { 100, 60 } };

	/* From 60 to 160: the first 40 are gone. */
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event *ev = stage_event(s, OP_IO_BLOCK, a.ctx, 0, 60, 160);

		stage_set(ev, COL_QUEUE_NS, cases[i].queue);
		is_u64(left_of(s, ev, COL_QUEUE_NS), cases[i].left,
		       "of %u in the queue, before the device has it", (unsigned)cases[i].queue);
	}
}

static void waits(struct stage *s, struct actor a)
{
	is_u64(left_of(s, stage_offcpu(s, a, 0, 60, 160, 20, 0), COL_WAIT_NS), 20,
	       "of a wait for the CPU, which is at the end, all");
	is_u64(left_of(s, stage_offcpu(s, a, 0, 60, 160, 80, 0), COL_WAIT_NS), 59,
	       "of a longer one all but that it was blocked before");
	is_u64(left_of(s, stage_offcpu(s, a, 0, 60, 160, 100, 0), COL_WAIT_NS), 60,
	       "of one that was preempted all");
}

/* start, time: of an OPEN record; what becomes of it between 100 and 200. */
static void calls(struct stage *s)
{
	static const struct {
		int64_t start, time;
		bool at_end, left;
		int64_t start_left, time_left;
		const char *what;
	} cases[] = {
		{ 10, 99, false, false, 0, 0, "open before: it may be over" },
		{ 10, 150, false, true, 100, 150, "open then" },
		{ 120, 200, false, false, 0, 0, "open behind" },
		{ 10, 900, true, true, 100, 200, "never returned" },
		{ 120, 900, true, true, 120, 200, "never returned, and began then" },
		{ 200, 900, true, false, 0, 0, "began behind" },
	};
	struct filter sel = { .resolved = true, .since_ns = SINCE, .until_ns = 200 };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record r = { .kind = RECORD_OPEN };
		struct stream_item item = { .kind = STREAM_RECORD, .record = &r };
		struct filter_cut cut = { 0 };
		bool left = !cases[i].left;

		REC_SET(&r, OPEN, start_ns, cases[i].start);
		REC_SET(&r, OPEN, time_ns, cases[i].time);
		REC_SET(&r, OPEN, at_end, cases[i].at_end);
		filter_cut_item(&cut, &sel, s->w, &item, &left, NULL);
		is_int(left, cases[i].left, "a call that is %s", cases[i].what);
		if (left) {
			is_i64(item.record->u.OPEN.start_ns, cases[i].start_left, "since when");
			is_i64(item.record->u.OPEN.time_ns, cases[i].time_left, "and when");
		}
		filter_cut_free(&cut);
	}
}

static void sleepers(struct stage *s)
{
	static const struct {
		int64_t since, time;
		bool left;
		int64_t since_left, time_left;
		const char *what;
	} cases[] = {
		{ 10, 99, false, 0, 0, "was asleep before: it may be awake" },
		{ 10, 150, true, 100, 150, "is asleep then" },
		{ 120, 900, true, 120, 200, "fell asleep then, and sleeps behind" },
		{ 10, 900, true, 100, 200, "sleeps all the time" },
		{ 200, 900, false, 0, 0, "falls asleep behind" },
	};
	struct filter sel = { .resolved = true, .since_ns = SINCE, .until_ns = 200 };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record r = { .kind = RECORD_ASLEEP };
		struct stream_item item = { .kind = STREAM_RECORD, .record = &r };
		struct filter_cut cut = { 0 };
		bool left = !cases[i].left;

		REC_SET(&r, ASLEEP, since_ns, cases[i].since);
		REC_SET(&r, ASLEEP, time_ns, cases[i].time);
		filter_cut_item(&cut, &sel, s->w, &item, &left, NULL);
		is_int(left, cases[i].left, "a thread that %s", cases[i].what);
		if (left) {
			is_i64(item.record->u.ASLEEP.since_ns, cases[i].since_left, "since when");
			is_i64(item.record->u.ASLEEP.time_ns, cases[i].time_left, "and when");
		}
		filter_cut_free(&cut);
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");

	requests(&s, a);
	waits(&s, a);
	calls(&s);
	sleepers(&s);
	stage_free(&s);
	return tap_done();
}

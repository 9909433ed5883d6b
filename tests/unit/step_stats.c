/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of single steps: how long they take over time without what was lost in them, and
 * which parts the slow ones consist of.
 */
#include "tests/tap.h"

#include "lib/tracks/step_stats.h"

#define MS 1000000ll

static int64_t now;

static void add_step(struct step_stats *s, uint64_t number, int64_t ns, bool certain)
{
	const struct loop_step step = {
		.number = number, .begin_ns = now, .end_ns = now + ns, .certain = certain
	};

	if (!step_stats_add(s, &step))
		abort();
	now += ns;
}

static void add_piece(struct step_stats *s, uint32_t number, int64_t from_ns, int64_t to_ns,
		      enum step_piece_kind kind)
{
	if (!step_stats_add_piece(s, number, &(struct track_add){ from_ns, to_ns, 0, 0 }, kind))
		abort();
}

static void count(struct step_stats *s, int64_t until_ns)
{
	if (!step_stats_count(s, until_ns))
		abort();
}

static const struct slow_step *find_slow(const struct step_stats *s, uint64_t number)
{
	for (unsigned i = 0; i < s->slow.n; i++)
		if (s->slow.v[i].number == number)
			return &s->slow.v[i];
	return NULL;
}

static uint64_t sum_of(const struct slow_step *s, uint32_t number)
{
	for (size_t i = 0; s && i < s->sums.n; i++)
		if (s->sums.v[i].number == number)
			return s->sums.v[i].total.ns;
	return 0;
}

/* A hundred steps of 10 ms: 1 is own code, 2 the device; number 41 and 77 lose 50 ms to 3. */
static void slow_steps(void)
{
	struct step_stats s = { 0 };
	uint64_t n = 0, own = 0, device = 0;
	int64_t began;

	now = 0;
	for (uint64_t i = 1; i <= 100; i++) {
		bool slow = i == 41 || i == 77;

		began = now;
		add_step(&s, i, slow ? 60 * MS : 10 * MS, true);
		step_stats_rewind(&s);
		add_piece(&s, 1, began, began + 6 * MS, STEP_PIECE_OWN);
		add_piece(&s, 2, began + 6 * MS, began + 10 * MS, STEP_PIECE_DEVICE);
		if (slow)
			add_piece(&s, 3, began + 10 * MS, now, STEP_PIECE_LOST);
		if (i % 30 == 0)
			count(&s, now);
	}
	count(&s, now);
	is_u64(s.slow.n, STEPS_SLOW, "some are kept");
	is_u64(sum_of(find_slow(&s, 41), 3), 50 * MS, "a slow one has what it lost");
	is_u64(sum_of(find_slow(&s, 77), 3), 50 * MS, "and so has the other");
	is_u64(sum_of(find_slow(&s, 77), 1), 6 * MS, "and its own code");
	for (unsigned i = 0; i < s.series->n; i++) {
		n += s.series->v[i].count;
		own += s.series->v[i].own_ns;
		device += s.series->v[i].device_ns;
	}
	is_u64(n, 100, "every step is in the series");
	is_u64(own, 1000 * MS, "without what was lost");
	is_u64(device, 400 * MS, "and with how long it waited for the device");
	ok(s.series->n == 5, "by when they ended: %u cells of 250 ms", s.series->n);
	step_stats_reset(&s);
}

/* A piece that reaches over several steps, and steps before it that have ended. */
static void long_piece(void)
{
	struct step_stats s = { 0 };

	now = 0;
	for (uint64_t i = 1; i <= 4; i++)
		add_step(&s, i, 10 * MS, true);
	step_stats_rewind(&s);
	add_piece(&s, 1, 15 * MS, 45 * MS, STEP_PIECE_LOST);
	is_u64(sum_of(find_slow(&s, 1), 1), 0, "a step before a piece has none of it");
	is_u64(sum_of(find_slow(&s, 2), 1), 5 * MS, "one in which it begins, what lies in it");
	is_u64(sum_of(find_slow(&s, 3), 1), 10 * MS, "one inside of it is all of it");
	is_u64(sum_of(find_slow(&s, 4), 1), 10 * MS, "the last one ends before it does");
	count(&s, 20 * MS);
	is_u64(s.open.n, 2, "steps that ended by then are counted");
	step_stats_reset(&s);
}

static void bounds(void)
{
	struct step_stats s = { 0 };

	now = 0;
	add_step(&s, 1, 500 * MS, false);
	is_u64(s.slow.n + s.open.n, 0, "a step that may be several is none of the slow ones");
	for (uint64_t i = 2; i < 3 * STEPS_OPEN_MAX; i++)
		add_step(&s, i, MS, true);
	ok(s.open.n <= STEPS_OPEN_MAX, "steps without pieces are not kept for ever");
	count(&s, now);
	ok(s.series->n <= STEP_CELLS && s.series->cell_ns >= STEP_CELL_NS,
	   "and the series is bounded");
	for (unsigned i = 0; i < 4; i++) {
		now += 3600 * 1000 * MS;
		add_step(&s, 1, MS, true);
	}
	count(&s, now);
	ok(s.series->n <= STEP_CELLS, "also of hours");
	step_stats_reset(&s);
}

int main(void)
{
	slow_steps();
	long_piece();
	bounds();
	return tap_done();
}

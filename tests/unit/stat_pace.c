/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps that keep a pace and sleeps that are added to the work, by what programs do with them:
 * which of both is said, from how many sleeps on, and that it is never the other.
 */
#include "tests/tap.h"

#include <math.h>

#include "lib/stat/pace.h"

#define MS   1e6
#define US   1e3
#define TICK (20 * MS)
#define RUNS 40

static uint64_t state;

/* Uniform in (0, 1). */
static double draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_normal(void)
{
	return sqrt(-2 * log(draw())) * cos(2 * 3.14159265358979 * draw());
}

/* ---- what is done between sleeps, about 2 ms ---- */

static double work_same(unsigned i)
{
	(void)i;
	return 2 * MS;
}

static double work_differs(unsigned i)
{
	(void)i;
	return 1 * MS + 7 * MS * draw();
}

/* Every fourth step has more to do. */
static double work_in_rounds(unsigned i)
{
	return i % 4 == 3 ? 8 * MS : 2 * MS;
}

/* One in ten takes longer than a tick. */
static double work_overruns(unsigned i)
{
	(void)i;
	return draw() < 0.1 ? 25 * MS : 2 * MS;
}

/* Once it had stopped for a minute, as one who is stopped, or whose recording was. */
static double work_stops(unsigned i)
{
	return i == 50 ? 60000 * MS : 2 * MS;
}

/* Looks whether it is ready five times of six. */
static double work_polls(unsigned i)
{
	return i % 6 ? 50 * US : 3 * MS;
}

static double entry; /* what it takes from reading the clock into the sleep, on a busy machine */

/* Launches something one time of twelve. */
static double work_looks(unsigned i)
{
	entry = -15 * US * log(draw());
	return (i % 12 ? 10 * US : 160 * US) + entry;
}

/* Now the rest of several steps, now a line for the log, on a busy machine. */
static double work_retries(unsigned i)
{
	return (i % 2 ? 2 : 12) * MS - 12 * MS * log(draw());
}

static double work_two_sleeps(unsigned i)
{
	return i % 2 ? 1 * MS : 4 * MS;
}

/* ---- how long it sleeps, which began to work at ran, and goes to sleep at now ---- */

struct sleeper {
	double tick; /* the last one meant */
};

/* Until the next tick, whenever that was. */
static double sleep_to_grid(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)ran;
	(void)i;
	s->tick = ceil(now / TICK) * TICK;
	return s->tick - now;
}

/* Until a tick after the last, which begins anew where that is over. */
static double sleep_to_next(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)ran;
	(void)i;
	s->tick += TICK;
	if (s->tick < now)
		s->tick = now + TICK;
	return s->tick - now;
}

/* What is left of a tick since it woke. */
static double sleep_the_rest(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)i;
	return fmax(ran + TICK - now, 10 * US);
}

static double sleep_fixed(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	(void)i;
	return TICK;
}

static double sleep_from_clock(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	(void)i;
	return 1 * MS - entry;
}

/* As long as it worked: it works half of the time. */
static double sleep_as_long(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)i;
	return now - ran;
}

static double sleep_at_random(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	(void)i;
	return TICK * (0.2 + 1.6 * draw());
}

/* Longer after less work, by chance as much as that is less. */
static double sleep_in_turn(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	return i % 2 ? 4 * MS : 1 * MS;
}

/* The second try waits for longer than the first. */
static double sleep_back_off(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	return i % 2 ? 30 * MS : 15 * MS;
}

/* Twice as long each time, until it is ready. */
static double sleep_longer(struct sleeper *s, double ran, double now, unsigned i)
{
	(void)s;
	(void)ran;
	(void)now;
	return 500 * US * (double)(1u << i % 6);
}

struct row {
	const char *name;
	double (*work)(unsigned i);
	double (*sleep)(struct sleeper *s, double ran, double now, unsigned i);
	double shake, late; /* of the work, and of wake-ups */
	enum pace is;
	unsigned from; /* so many sleeps say it nearly always; fewer do not say the contrary */
	double queued; /* after so many wake-ups another thread has the CPU for up to 4 ms */
};

static const struct row rows[] = {
	{ "to the next tick of a grid", work_same, sleep_to_grid, 50 * US, 20 * US, PACE_KEPT, 40 },
	{ "the same, work that differs", work_differs, sleep_to_grid, 50 * US, 20 * US, PACE_KEPT,
	  40 },
	{ "the same on a busy machine", work_same, sleep_to_grid, 300 * US, 300 * US, PACE_KEPT,
	  200 },
	{ "the same, steps in rounds", work_in_rounds, sleep_to_grid, 50 * US, 20 * US, PACE_KEPT,
	  64 },
	{ "the same, some take longer than a tick", work_overruns, sleep_to_grid, 50 * US, 20 * US,
	  PACE_KEPT, 64 },
	{ "a tick after the last, with a stop", work_stops, sleep_to_next, 50 * US, 20 * US,
	  PACE_KEPT, 128 },
	{ "the same, some take longer", work_overruns, sleep_to_next, 50 * US, 20 * US, PACE_KEPT,
	  64 },
	{ "the rest of a tick since it woke", work_same, sleep_the_rest, 50 * US, 20 * US,
	  PACE_KEPT, 40 },
	{ "the same, work that differs", work_differs, sleep_the_rest, 50 * US, 20 * US, PACE_KEPT,
	  40 },
	{ "the same, some take longer", work_overruns, sleep_the_rest, 50 * US, 20 * US, PACE_KEPT,
	  64 },
	{ "a fixed sleep", work_same, sleep_fixed, 50 * US, 20 * US, PACE_ADDED, 40 },
	{ "the same, work that differs", work_differs, sleep_fixed, 50 * US, 20 * US, PACE_ADDED,
	  40 },
	{ "the same on a busy machine", work_same, sleep_fixed, 300 * US, 300 * US, PACE_ADDED,
	  200 },
	{ "the same, steps in rounds", work_in_rounds, sleep_fixed, 50 * US, 20 * US, PACE_ADDED,
	  64 },
	{ "the same, with a stop", work_stops, sleep_fixed, 50 * US, 20 * US, PACE_ADDED, 128 },
	{ "looking whether it is ready", work_polls, sleep_fixed, 10 * US, 10 * US, PACE_ADDED,
	  200 },
	{ "as long as it worked", work_differs, sleep_as_long, 50 * US, 20 * US, PACE_ADDED, 64 },
	{ "two sleeps in turn", work_two_sleeps, sleep_in_turn, 50 * US, 20 * US, PACE_ADDED, 64 },
	{ "a retry's back-off", work_retries, sleep_back_off, 50 * US, 50 * US, PACE_ADDED, 128 },
	{ "twice as long each time", work_polls, sleep_longer, 10 * US, 10 * US, PACE_ADDED, 400 },
	{ "at random, work that differs", work_differs, sleep_at_random, 50 * US, 20 * US,
	  PACE_ADDED, 4096 },
	{ "to the next tick of a grid, queued", work_differs, sleep_to_grid, 50 * US, 20 * US,
	  PACE_KEPT, 64, 0.8 },
	{ "the rest of a tick since it had a CPU", work_differs, sleep_the_rest, 50 * US, 20 * US,
	  PACE_KEPT, 64, 0.8 },
	{ "the same, the work differs by less", work_same, sleep_the_rest, 300 * US, 20 * US,
	  PACE_KEPT, 64, 0.8 },
	{ "a fixed sleep, queued", work_same, sleep_fixed, 50 * US, 20 * US, PACE_ADDED, 64, 0.8 },
	{ "the same since it read the clock, launches now and then", work_looks, sleep_from_clock,
	  1 * US, 5 * US, PACE_ADDED, 400, 0.1 },
	{ "to the next tick, launches now and then", work_looks, sleep_to_grid, 1 * US, 5 * US,
	  PACE_UNKNOWN, 200, 0.1 },
	/* It may be a limit of something that differs: nobody knows. */
	{ "at random", work_same, sleep_at_random, 50 * US, 20 * US, PACE_UNKNOWN, 200 },
	/* Timers that are ended together make up for so little. */
	{ "to the next tick, next to no work", work_polls, sleep_to_grid, 10 * US, 10 * US,
	  PACE_UNKNOWN, 200 },
	{ "a fixed sleep, work that is always the same", work_same, sleep_fixed, 0, 0, PACE_UNKNOWN,
	  200 },
};

/* The verdict on so many sleeps. */
static enum pace play(const struct row *r, unsigned n, uint64_t seed)
{
	struct pace_sums p = { 0 };
	struct sleeper s = { 0 };
	double woke = 5e15, ran = woke;

	state = seed * 7919 + 1;
	s.tick = woke;
	for (unsigned i = 0; i < n; i++) {
		double now = ran + fmax(r->work(i) + r->shake * draw_normal(), 1 * US), until;

		until = now + r->sleep(&s, ran, now, i) + fabs(r->late * draw_normal());
		if (r->late > 0 && draw() < 0.01)
			until += 5 * MS * draw(); /* now and then late for whatever reason */
		ran = until + (draw() < r->queued ? 4 * MS * draw() : 0);
		pace_add(&p, (int64_t)now, (int64_t)until, (int64_t)ran);
		woke = until;
	}
	return pace_verdict(&p);
}

static void judge(const struct row *r, unsigned n, unsigned said[3])
{
	said[PACE_UNKNOWN] = said[PACE_KEPT] = said[PACE_ADDED] = 0;
	for (unsigned k = 0; k < RUNS; k++)
		said[play(r, n, k)]++;
}

static void programs(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		unsigned said[3], contrary = r->is ? PACE_KEPT + PACE_ADDED - r->is : PACE_UNKNOWN;

		judge(r, r->from, said);
		ok(said[r->is] >= RUNS - RUNS / 20, "%s: %u sleeps say it %u times of %u", r->name,
		   r->from, said[r->is], RUNS);
		judge(r, 2000, said);
		ok(said[r->is] >= RUNS - RUNS / 20 || r->from > 2000, "2000 say it %u times",
		   said[r->is]);
		judge(r, PACE_LEAST + 1, said);
		ok(contrary == PACE_UNKNOWN || said[contrary] == 0,
		   "and %u never the contrary: %u times", PACE_LEAST + 1, said[contrary]);
	}
}

static void few(void)
{
	const struct row *r = &rows[0];
	struct pace_sums p = { 0 };
	double slope, error;

	ok(pace_verdict(&p) == PACE_UNKNOWN && !pace_slope(&p, PACE_SINCE_WOKE, &slope, &error),
	   "no sleep says nothing");
	ok(play(r, PACE_LEAST, 1) == PACE_UNKNOWN,
	   "%u sleeps have %u times awake before them: too few", PACE_LEAST, PACE_LEAST - 1);
	ok(play(r, PACE_LEAST + 1, 1) == PACE_KEPT, "one more says it");
}

/* What it did long ago is forgotten. */
static void changes(void)
{
	struct pace_sums p = { 0 };
	struct sleeper s = { 0 };
	double woke = 0, slope, error;
	unsigned until = 0;

	state = 3;
	for (unsigned i = 0; i < 60000; i++) {
		double now = woke + work_differs(i);

		woke = now + (i < 40000 ? sleep_fixed(&s, woke, now, i)
					: sleep_to_grid(&s, woke, now, i));
		pace_add(&p, (int64_t)now, (int64_t)woke, (int64_t)woke);
		if (i < 40000 || until || pace_verdict(&p) != PACE_KEPT)
			continue;
		until = i - 40000;
	}
	ok(until > 500 && until < 8192, "40,000 fixed sleeps are forgotten after %u of a pace",
	   until);
	ok(pace_slope(&p, PACE_SINCE_WOKE, &slope, &error), "there is a slope");
	is_near(slope, 1, 0.02, "which is one in the end");
	ok(error > 0.005, "no certainty beyond the window: %g", error);
}

/* Sleeps that overlap are of no thread: what comes after them counts. */
static void disorder(void)
{
	struct pace_sums p = { 0 };

	for (unsigned i = 0; i < 100; i++)
		pace_add(&p, 1000000 - 1000 * (int64_t)i, 2000000, 2000000);
	ok(p.n == 0 && p.fits[0].windows == 0,
	   "sleeps that begin before the last ended are not counted");
	pace_add(&p, 3000000, 4000000, 4000000);
	ok(p.n == 1, "the next is");
}

int main(void)
{
	programs();
	few();
	changes();
	disorder();
	return tap_done();
}

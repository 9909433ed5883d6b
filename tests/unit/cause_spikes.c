/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every k-th call slow, and what looks like it: slow calls at random, steps that have more for the
 * device to do every so often, every fourth call.
 */
#include "tests/unit/kinds.h"

#define LENGTH	      (5000 * MS)
#define EVERY	      (5 * MS)
#define ALWAYS_INLINE (50 * US)
#define LONG	      (2 * MS)

static struct stage s;
static struct actor v;
static uint64_t state = 7;

static bool one_of(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n == 0;
}

/* A call of op every 5 ms; slow says which. Returns how many were. */
static unsigned calls(uint16_t op, bool (*slow)(unsigned i))
{
	unsigned n = 0;

	for (unsigned i = 1; i <= LENGTH / EVERY; i++) {
		int64_t t = i * EVERY;
		bool is = slow(i);

		stage_call(&s, v, op, 0, t, t + (is ? LONG : ALWAYS_INLINE));
		n += is && i > 64; /* before that nothing is known of what is usual */
	}
	return n;
}

static bool each_25th(unsigned i)
{
	return i % 25 == 0;
}

static bool each_21st(unsigned i)
{
	return i % 21 == 0;
}

static bool each_12th(unsigned i)
{
	return i % 12 == 0;
}

static bool each_4th(unsigned i)
{
	return i % 4 == 0;
}

static bool at_random(unsigned i)
{
	(void)i;
	return one_of(25);
}

static bool in_rows(unsigned i)
{
	return i % 200 < 8;
}

static bool never(unsigned i)
{
	(void)i;
	return false;
}

/* Eight threads take turns, each slow at its last call for longer than all others take until
 * theirs: together they lose more than the time there is, one of them a fifth of it. */
static void side_by_side(void)
{
	struct actor a[8];

	for (unsigned i = 0; i < 8; i++)
		a[i] = stage_actor(&s, 100, 101 + i, 1, "train");
	for (unsigned i = 0; i < LENGTH / EVERY; i++) {
		bool slow = i % 25 == 24 && i < 900;
		int64_t t = i * EVERY;

		stage_call(&s, a[i / 25 % 8], OP_CUDA_MALLOC_HOST, 0, t,
			   t + (slow ? 200 * MS : ALWAYS_INLINE));
	}
	tells_of_eight(&s, "periodic-spike", LENGTH);
}

int main(void)
{
	unsigned n;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	n = calls(OP_CUDA_MALLOC_HOST, each_25th);
	tells(&s, "periodic-spike", "Every 25th call", n * (LONG - ALWAYS_INLINE));
	n = calls(OP_CUDA_MALLOC_HOST, each_21st);
	tells(&s, "periodic-spike", "Every 21st call", n * (LONG - ALWAYS_INLINE));
	n = calls(OP_CUDA_MALLOC_HOST, each_12th);
	tells(&s, "periodic-spike", "Every 12th call", n * (LONG - ALWAYS_INLINE));
	side_by_side();

	calls(OP_CUDA_MALLOC_HOST, at_random);
	not_told(&s, "periodic-spike", "one of 25, at random");
	calls(OP_CUDA_MALLOC_HOST, each_4th);
	not_told(&s, "periodic-spike", "every fourth, as the program is made");
	calls(OP_CUDA_MALLOC_HOST, in_rows);
	not_told(&s, "periodic-spike", "eight in a row, and then none for long");
	calls(OP_CUDA_DEVICE_SYNC, each_25th);
	not_told(&s, "periodic-spike", "waits for a device that has more to do in every 25th step");

	calls(OP_CUDA_MALLOC_HOST, never);
	for (unsigned i = 25; i < LENGTH / EVERY; i += 25) {
		int64_t t = i * EVERY;

		/* inside the call: it takes as long because it was not let run */
		s.ev.v[i - 1].end_ns += LONG;
		s.ev.v[i - 1].dur_ns += LONG;
		stage_offcpu(&s, v, 1, t + 10 * US, t + 10 * US + LONG, LONG, 0);
	}
	not_told(&s, "periodic-spike", "a call that the host interrupts at a pace");
	stage_free(&s);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target of whole recordings over a small corpus: recordings of the fixture, some thousand
 * mutations of them, and the files named as arguments (what a fuzzer found). It aborts where
 * something is wrong.
 */
#ifndef INGERO_TESTS_FUZZ_MUTATE_H
#define INGERO_TESTS_FUZZ_MUTATE_H

#include <stdio.h>

#include "lib/base/io.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static uint64_t mutate_state = 7;

static inline uint32_t below(uint32_t n)
{
	mutate_state = mutate_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(mutate_state >> 33) % n;
}

/* A byte changed, a stretch moved, removed or doubled. */
static inline void mutate(struct buf *b)
{
	uint32_t from = below((uint32_t)b->n), n = below(64) + 1, to = below((uint32_t)b->n);

	if (n > b->n - from)
		n = (uint32_t)(b->n - from);
	switch (below(5)) {
	case 0:
		memmove(b->p + from, b->p + from + n, b->n - from - n);
		b->n -= n;
		break;
	case 1:
		if (to + n <= b->n)
			memmove(b->p + to, b->p + from, n);
		break;
	case 2:
		le_put(b->p + from, n < 4 ? 1 : 4, below(3) ? below(300) : UINT32_MAX - below(3));
		break;
	default:
		b->p[from] ^= (char)(1 << below(8));
	}
}

static inline int replay_recordings(int argc, char **argv)
{
	static const uint32_t sizes[][2] = { { 0, 0 }, { 1, 0 }, { 20, 7 }, { 60, 25 } };
	struct fixture f;
	unsigned rounds = 0;

	for (int i = 1; i < argc; i++) {
		struct buf file = { 0 };

		is_int(read_file(argv[i], &file, 1 << 20, NULL), 0, "%s is readable", argv[i]);
		LLVMFuzzerTestOneInput((const uint8_t *)file.p, file.n);
		buf_free(&file);
	}
	fixture_init(&f);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct buf whole = { 0 }, copy = { 0 };

		fixture_recording(&f, &whole, sizes[i][0], sizes[i][1]);
		for (unsigned k = 0; k < 500; k++, rounds++) {
			buf_reset(&copy);
			buf_add(&copy, whole.p, whole.n);
			for (unsigned m = below(6); m > 0 && copy.n; m--)
				mutate(&copy);
			LLVMFuzzerTestOneInput((const uint8_t *)copy.p, copy.n);
		}
		buf_free(&whole);
		buf_free(&copy);
	}
	is_u64(rounds, 2000, "mutated recordings are read to their ends");
	world_free(f.w);
	return tap_done();
}

#endif

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
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static inline uint32_t below(uint32_t n)
{
	return replay_below(n);
}

static inline void mutate_number(char *at, uint32_t room)
{
	le_put(at, room < 4 ? 1 : 4, below(3) ? below(300) : UINT32_MAX - below(3));
}

static inline void mutate(struct buf *b)
{
	replay_change(b, 64, mutate_number);
}

static inline int replay_recordings(int argc, char **argv)
{
	static const uint32_t sizes[][2] = { { 0, 0 }, { 1, 0 }, { 20, 7 }, { 60, 25 } };
	struct fixture f;
	unsigned rounds = 0;

	replay_files(argc, argv);
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

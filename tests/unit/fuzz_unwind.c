/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target unwind over mutations of a small file with frames of many kinds, most of them in
 * its .eh_frame. */
#include "tests/fuzz/unwind.c"

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"
#include "tests/unit/cfi.h"

#define SEED_FUNCTIONS 40

static void make_seed(struct buf *seed)
{
	static const struct bytes programs[] = {
		{ "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x10\x0c\x07\x08", 13 },
		{ "\x0a\x44\x0e\x20\x02\x20\x0b\x41\x0f\x03\x76\x78\x06", 13 },
		{ "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 13 },
		{ "\x10\x06\x02\x76\x70\x09\x03\x04\x03\x10\x01\x07\x10", 13 },
	};
	struct buf frames = { 0 };

	cfi_put_usual_cie(&frames, false);
	for (unsigned i = 0; i < SEED_FUNCTIONS; i++)
		cfi_put_fde(&frames, 0, CFI_CODE + i * 0x3000, 0x2000 + i % 3 * 0x1000,
			    programs[i % (sizeof(programs) / sizeof(programs[0]))]);
	cfi_put_file(seed, &frames);
	buf_free(&frames);
}

int main(int argc, char **argv)
{
	struct buf seed = { 0 };
	unsigned round;

	replay_files(argc, argv);
	make_seed(&seed);
	for (round = 0; round < REPLAY_ROUNDS / 4; round++) {
		struct buf b = { 0 };

		buf_add(&b, seed.p, seed.n);
		if (replay_below(8) == 0)
			replay_mutate(&b);
		for (unsigned m = replay_below(12); m > 0 && b.n > CFI_HEAD + 16; m--)
			b.p[CFI_HEAD + replay_below((uint32_t)b.n - CFI_HEAD)] =
				(char)replay_below(256);
		for (unsigned m = replay_below(3); m > 0 && b.n > 300; m--)
			b.p[replay_below(300)] ^= (char)(1 << replay_below(8));
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS / 4, "mutated files");
	buf_free(&seed);
	return tap_done();
}

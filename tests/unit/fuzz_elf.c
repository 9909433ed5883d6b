/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target elf over mutations of a small library with sections and a PLT, and of the vDSO
 * where that is not built. */
#include "tests/fuzz/elf.c"

#include <sys/auxv.h>

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"

#define VDSO_BYTES 4096 /* at least one page is mapped */

static void read_seed(struct buf *seed)
{
	const char *build = getenv("BUILD");
	char path[4096];

	snprintf(path, sizeof(path), "%s/double/libthrough-kept.so", build ? build : "build");
	if (read_file(path, seed, 1 << 20, NULL) || seed->n == 0)
		buf_add(seed, (const void *)getauxval(AT_SYSINFO_EHDR), VDSO_BYTES);
}

int main(int argc, char **argv)
{
	struct buf seed = { 0 };
	unsigned round;

	replay_files(argc, argv);
	read_seed(&seed);
	for (round = 0; round < REPLAY_ROUNDS; round++) {
		struct buf b = { 0 };

		buf_add(&b, seed.p, seed.n);
		for (unsigned m = replay_below(8); m > 0 && b.n; m--)
			replay_mutate(&b);
		/* Heads and tables stand at both ends of the file. */
		for (unsigned m = replay_below(8); m > 0 && b.n > 512; m--)
			b.p[replay_below(2) ? replay_below(512) : b.n - 1 - replay_below(512)] =
				(char)replay_below(256);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, REPLAY_ROUNDS, "mutated libraries");
	buf_free(&seed);
	return tap_done();
}

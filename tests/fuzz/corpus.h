/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without a fuzzer, beginning with the files of a folder: each as it is, then
 * mutations of them.
 */
#ifndef INGERO_TESTS_FUZZ_CORPUS_H
#define INGERO_TESTS_FUZZ_CORPUS_H

#include <dirent.h>
#include <stdlib.h>

#include "lib/base/vec.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"

/* In the order of their names, which no file system has. */
static inline int replay_corpus(int argc, char **argv, const char *folder, unsigned rounds)
{
	VEC(struct buf) seeds = { 0 };
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, alphasort);
	unsigned round;

	replay_files(argc, argv);
	for (int i = 0; i < n; i++) {
		struct buf path = { 0 }, seed = { 0 };

		buf_printf(&path, "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.' &&
		    (read_file(buf_text(&path), &seed, 1 << 20, NULL) || !vec_push(&seeds, seed)))
			abort();
		buf_free(&path);
		free(names[i]);
	}
	free(names);
	ok(seeds.n > 0, "%s: %zu files", folder, seeds.n);
	for (size_t i = 0; i < seeds.n; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)seeds.v[i].p, seeds.v[i].n);
	for (round = 0; seeds.n && round < rounds; round++) {
		const struct buf *seed = &seeds.v[replay_below((uint32_t)seeds.n)];
		struct buf b = { 0 };

		buf_add(&b, seed->p, seed->n);
		for (unsigned m = replay_below(6); m > 0 && b.n; m--)
			replay_mutate(&b);
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_free(&b);
	}
	is_u64(round, rounds, "mutations of them");
	for (size_t i = 0; i < seeds.n; i++)
		buf_free(&seeds.v[i]);
	vec_free(&seeds);
	return tap_done();
}

#endif

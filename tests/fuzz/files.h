/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fuzzer found, replayed: the files named on a target's command line.
 */
#ifndef INGERO_TESTS_FUZZ_FILES_H
#define INGERO_TESTS_FUZZ_FILES_H

#include "lib/base/io.h"
#include "tests/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void replay_files(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct buf file = { 0 };

		is_int(read_file(argv[i], &file, 1 << 20, NULL), 0, "%s is readable", argv[i]);
		LLVMFuzzerTestOneInput((const uint8_t *)file.p, file.n);
		buf_free(&file);
	}
}

#endif

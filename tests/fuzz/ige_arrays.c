/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a recording, read as events and as columns, once as they are and
 * once with all checksums made to fit. Both must tell the same. `make fuzz-ige_arrays` builds it;
 * tests/unit/fuzz_ige_arrays.c replays inputs.
 */
#include <string.h>

#include "tests/fuzz/both.h"
#include "tests/fuzz/mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void compare(const void *p, size_t n, bool mended)
{
	struct heard events, columns;

	hear_events(&events, p, n);
	hear_columns(&columns, p, n);
	/* Blocks that are senseless though their checksums fit, or of a newer version in a column
	 * that is not asked for: what is met first, and where reading goes on, depends on which
	 * columns are looked into. */
	if (mended && (events.report.damaged_blocks || columns.report.damaged_blocks ||
		       events.report.too_new != columns.report.too_new))
		return;
	if (!both_same(&events, &columns))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	unsigned char *copy;

	if (n > (1u << 20))
		return 0;
	copy = malloc(n + 1);
	if (!copy)
		return 0;
	compare(p, n, false);
	memcpy(copy, p, n);
	mend(copy, n);
	compare(copy, n, true);
	free(copy);
	return 0;
}

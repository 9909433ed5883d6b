/* SPDX-License-Identifier: Apache-2.0 */
/* How many iterations there were where calls are missing, by those that are not. */
#include "tests/tap.h"

#include "lib/event/op.h"
#include "lib/event/tier.h"
#include "lib/loops/loop_anchor.h"

#define WHOLE 100

/* Of WHOLE whole iterations each `every`-th makes the call so often, and so do 20 others. */
struct row {
	const char *name;
	unsigned every, times;
	uint64_t want; /* 0: not known */
};

static const struct row rows[] = {
	{ "one in each", 1, 1, 20 },	     { "two in each", 1, 2, 20 },
	{ "one in every second", 2, 1, 20 }, { "one in every tenth: too few", 10, 1, 0 },
	{ "bursts in a few", 25, 13, 0 },    { "two in every second: bursts", 2, 2, 0 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct loop_anchor a = { 0 };
		uint64_t n = 0;

		for (unsigned k = 0; k < WHOLE + 20; k++) {
			for (unsigned t = 0; t < rows[i].times && k % rows[i].every == 0; t++)
				loop_anchor_add(&a, 1, OP_CUDA_MEMCPY, false, k * 1000);
			loop_anchor_end(&a, k < WHOLE ? 0 : 1u << TIER_LAUNCHES, k * 1000 + 999);
		}
		ok(loop_anchor_estimate(&a, &n) == (rows[i].want > 0), "%s", rows[i].name);
		if (rows[i].want)
			is_u64(n, rows[i].want, "as many as there were");
	}
	return tap_done();
}

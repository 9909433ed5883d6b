/* SPDX-License-Identifier: Apache-2.0 */
/* Rising lists as one: the same as sorting all their numbers, however many lists, however long. */
#include "lib/input/kway_merge.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "tests/tap.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Lists of up to `most` numbers below `range`, each with its list in the lowest bits. */
static bool as_sorted(uint64_t seed, unsigned lists, uint32_t most, uint64_t range)
{
	static struct input_kway_merge s;
	static uint64_t all[INPUT_KWAY_MERGE_ROOM];
	const uint64_t *out;
	size_t n = 0, merged;

	input_kway_merge_begin(&s);
	for (unsigned k = 0; k < lists; k++) {
		uint32_t count = 1 + (uint32_t)(hash_u64(seed + k) % most);
		uint64_t *to;

		if (n + count > INPUT_KWAY_MERGE_ROOM)
			break;
		to = input_kway_merge_add(&s, count);
		for (uint32_t i = 0; i < count; i++)
			to[i] = (1 + hash_u64(seed ^ (uint64_t)(k + 1) << 32 ^ i) % range) *
					INPUT_KWAY_MERGE +
				k;
		qsort(to, count, sizeof(*to), compare);
		for (uint32_t i = 0; i < count; i++)
			all[n++] = to[i];
	}
	qsort(all, n, sizeof(*all), compare);
	out = input_kway_merge_merge(&s, &merged);
	for (size_t i = 0; i < n && merged == n; i++)
		if (out[i] != all[i])
			return false;
	return merged == n;
}

int main(void)
{
	static const struct {
		const char *what;
		unsigned lists;
		uint32_t most;
		uint64_t range;
	} cases[] = {
		{ "no list", 0, 1, 1 },
		{ "one", 1, 100, 1000 },
		{ "two", 2, 1000, 1 << 30 },
		{ "three, one of them left over in each round", 3, 600, 1 << 20 },
		{ "eight", 8, 256, 1 << 30 },
		{ "single numbers", 64, 1, 1 << 10 },
		{ "many that are alike", 5, 300, 3 },
		{ "as many as there may be", 64, 32, UINT64_C(1) << 56 },
		{ "long ones next to short ones", 7, 290, 40 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned wrong = 0;

		for (uint64_t seed = 0; seed < 200; seed++)
			wrong += !as_sorted(seed * 1000, cases[i].lists, cases[i].most,
					    cases[i].range);
		is_u64(wrong, 0, "%s", cases[i].what);
	}
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel that most time was lost with: never one that has less than half, always one that has
 * much more.
 */
#include "lib/account/launched.h"

#include "tests/tap.h"

static uint64_t seed = 7;

static uint64_t next(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static struct record named(uint32_t process, uint64_t func, const char *text)
{
	struct record r = { .kind = RECORD_KERNEL };

	REC_SET(&r, KERNEL, process, process);
	REC_SET(&r, KERNEL, func, func);
	REC_SET(&r, KERNEL, name, bytes_of(text));
	return r;
}

static void name(struct launched_names *n, uint32_t process, uint64_t func, const char *text)
{
	struct record r = named(process, func, text);

	ok(launched_name(n, &r), "%s is taken", text);
}

/* In each of many files of one recording. */
static void again(struct launched_names *n, uint32_t process, uint64_t func, const char *text)
{
	struct record r = named(process, func, text);

	for (unsigned i = 0; i < 70000; i++)
		launched_name(n, &r);
}

int main(void)
{
	struct launched_names names = { 0 };
	struct launched none = { 0 };
	unsigned wrong = 0, missed = 0, said = 0;
	uint64_t func;

	ok(!launched_most(&none, 100, &func), "nothing launched, none");
	launched_add(&none, 5, 49);
	ok(!launched_most(&none, 100, &func), "less than half of all is not most");
	launched_add(&none, 5, 1);
	ok(launched_most(&none, 100, &func) && func == 5, "half is");

	for (unsigned round = 0; round < 300; round++) {
		uint64_t ns[20] = { 0 }, total = 0, share = next(100);
		struct launched l = { 0 };

		for (unsigned i = 0; i < 2000; i++) {
			uint64_t k = next(100) < share ? 3 : next(20), w = 1 + next(1000);

			launched_add(&l, k + 100, w);
			ns[k] += w;
			total += w;
		}
		if (launched_most(&l, total, &func)) {
			said++;
			wrong += ns[func - 100] * 2 < total;
		} else {
			/* What is kept is less than what there was by a fifth of all at most. */
			missed += ns[3] > total / 10 * 7 + 1;
		}
	}
	ok(said > 50, "it is said of many (%u of 300)", said);
	is_u64(wrong, 0, "never of one with less than half");
	is_u64(missed, 0, "always of one with seven tenths");

	name(&names, 1, 0x10, "_Z5saxpyifPKfPf");
	name(&names, 2, 0x10, "sgemm_128");
	ok(bytes_equal(launched_name_of(&names, 1, 0x10), bytes_of("_Z5saxpyifPKfPf")) &&
		   bytes_equal(launched_name_of(&names, 2, 0x10), bytes_of("sgemm_128")),
	   "a handle means something in its process only");
	is_u64(launched_name_of(&names, 3, 0x10).n, 0, "elsewhere nothing");
	again(&names, 1, 0x10, "_Z5saxpyifPKfPf");
	name(&names, 1, 0x20, "late");
	ok(bytes_equal(launched_name_of(&names, 1, 0x20), bytes_of("late")),
	   "and one that is new after a name was told again and again");
	launched_names_free(&names);
	return done_testing();
}

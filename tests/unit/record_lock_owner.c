/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of mutexes from the words that stand in memory, and what is no mutex. */
#include "lib/record/lock_owner.h"

#include <linux/futex.h>

#include "tests/tap.h"

#define SHARED	  128
#define RECURSIVE 1

int main(void)
{
	/* Words are lock, count, owner, users, kind. */
	static const struct {
		const char *what;
		uint32_t word[LOCK_WORDS], op, value;
		enum lock_kind kind;
		uint32_t tid;
		bool shared;
	} cases[] = {
		{ "a mutex", { 2, 0, 77, 1, 0 }, FUTEX_WAIT, 2, LOCK_MUTEX, 77, false },
		{ "one between processes",
		  { 2, 0, 77, 1, SHARED },
		  FUTEX_WAIT,
		  2,
		  LOCK_MUTEX,
		  77,
		  true },
		{ "a recursive one",
		  { 2, 3, 77, 1, RECURSIVE },
		  FUTEX_WAIT,
		  2,
		  LOCK_MUTEX,
		  77,
		  false },
		{ "one that nobody has any more",
		  { 2, 0, 0, 0, 0 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "one that nobody waits for any more",
		  { 1, 0, 77, 1, 0 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "a count in one that is not recursive",
		  { 2, 3, 77, 1, 0 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "a kind that glibc has not",
		  { 2, 0, 77, 1, 0x400 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "a number no thread has",
		  { 2, 0, 1u << 23, 1, 0 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "pointers behind another's word",
		  { 2, 0x7f12, 0x5566, 0, 0x5544 },
		  FUTEX_WAIT,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "a condition", { 4, 0, 77, 1, 0 }, FUTEX_WAIT, 4, LOCK_NONE, 0, false },
		{ "a wait that is no lock's",
		  { 2, 0, 77, 1, 0 },
		  FUTEX_WAIT_BITSET,
		  2,
		  LOCK_NONE,
		  0,
		  false },
		{ "a robust lock",
		  { FUTEX_WAITERS | 78 },
		  FUTEX_WAIT,
		  FUTEX_WAITERS | 78,
		  LOCK_ROBUST,
		  78,
		  false },
		{ "one whose owner died",
		  { FUTEX_WAITERS | FUTEX_OWNER_DIED | 78 },
		  FUTEX_WAIT,
		  FUTEX_WAITERS | 78,
		  LOCK_ROBUST,
		  78,
		  false },
		{ "one that was let go of",
		  { 0 },
		  FUTEX_WAIT,
		  FUTEX_WAITERS | 78,
		  LOCK_NONE,
		  0,
		  false },
		{ "priority inheritance",
		  { FUTEX_WAITERS | 79 },
		  FUTEX_LOCK_PI,
		  0,
		  LOCK_PI,
		  79,
		  false },
		{ "the same by the newer command",
		  { FUTEX_WAITERS | 79 },
		  FUTEX_LOCK_PI2,
		  0,
		  LOCK_PI,
		  79,
		  false },
		{ "the same without an owner", { 0 }, FUTEX_LOCK_PI, 0, LOCK_NONE, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lock_owner o;
		bool known = lock_owner_parse(cases[i].word, cases[i].op, cases[i].value, &o);

		is_int(known, cases[i].kind != LOCK_NONE, "%s: whether it has an owner",
		       cases[i].what);
		if (known)
			ok(o.kind == cases[i].kind && o.tid == cases[i].tid &&
				   o.shared == cases[i].shared,
			   "%s: which, and between whom", cases[i].what);
	}
	return tap_done();
}

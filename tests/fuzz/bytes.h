/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutations of bytes, the same ones in every run: for the replays of fuzz targets.
 */
#ifndef INGERO_TESTS_FUZZ_BYTES_H
#define INGERO_TESTS_FUZZ_BYTES_H

#include <stdint.h>
#include <string.h>

#include "lib/base/buf.h"

#define REPLAY_ROUNDS 20000

static uint64_t replay_state = 11;

static inline uint32_t replay_below(uint32_t n)
{
	replay_state = replay_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(replay_state >> 33) % n;
}

/* A byte changed, a stretch of up to reach bytes moved or removed, or a value put there: set, which
 * has room for so many bytes. */
static inline void replay_change(struct buf *b, uint32_t reach,
				 void (*set)(char *at, uint32_t room))
{
	uint32_t from = replay_below((uint32_t)b->n), n = replay_below(reach) + 1,
		 to = replay_below((uint32_t)b->n);

	if (n > b->n - from)
		n = (uint32_t)(b->n - from);
	switch (replay_below(5)) {
	case 0:
		memmove(b->p + from, b->p + from + n, b->n - from - n);
		b->n -= n;
		break;
	case 1:
		if (to + n <= b->n)
			memmove(b->p + to, b->p + from, n);
		break;
	case 2:
		set(b->p + from, n);
		break;
	default:
		b->p[from] ^= (char)(1 << replay_below(8));
	}
}

static inline void replay_small(char *at, uint32_t room)
{
	(void)room;
	*at = (char)(replay_below(2) ? 0xff : replay_below(20));
}

static inline void replay_mutate(struct buf *b)
{
	replay_change(b, 32, replay_small);
}

#endif

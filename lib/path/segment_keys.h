/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of segments: all that a segment is but for its time, and whose it is, as a number. Threads
 * make the same calls again and again, so that a log holds numbers, and equal segments have equal
 * ones. Bounded by SEGMENT_KEYS_MAX; those of threads that are over are used again.
 */
#ifndef INGERO_PATH_SEGMENT_KEYS_H
#define INGERO_PATH_SEGMENT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"
#include "lib/path/sampled_edges.h"
#include "lib/path/segment.h"

/* Once there are so many, segments that are new get keys without a line: 26 MiB. */
#define SEGMENT_KEYS_MAX 524288

/* Calls whose keys are found at once: 24 B each. One stands at its place or shortly behind it. */
#define SEGMENT_CALLS_MAX  262144
#define SEGMENT_CALLS_NEAR 8

/* What has to be looked at more closely says so in its number. */
#define SEGMENT_KEY_WAITING  (UINT32_C(1) << 30)
#define SEGMENT_KEY_RUNNABLE (UINT32_C(2) << 30)
#define SEGMENT_KEY_MIXED    (UINT32_C(3) << 30) /* the rest is the number of a mix (mixes.h) */
#define SEGMENT_KEY_KIND     (UINT32_C(3) << 30)

struct segment_key {
	struct segment s; /* but for its end */
	uint32_t thread;  /* world thread id; 0: the key is free */
};

/* A call that has its place here, or shortly before. */
struct segment_call {
	uint64_t place; /* thread and line */
	uint32_t call;	/* its key; 0: none was met */
	uint32_t after; /* that of own code behind it */
	uint16_t op;
};

struct segment_slot {
	uint32_t tag; /* upper half of the hash */
	uint32_t key; /* 0: the slot is free */
};

/* Zero-initialised is empty. */
struct segment_keys {
	VEC(struct segment_key) v; /* v[0] is not used */
	struct segment_slot *slots;
	size_t nslots;
	VEC(uint32_t) free; /* keys that are to be used again */
	VEC(uint32_t) bare; /* by key: segment_key_bare; 0: not looked up yet */
	struct segment_call *calls;
	size_t ncalls;
	struct sampled_edges *edges; /* of own code; the path's */
};

void segment_keys_free(struct segment_keys *k);

/* 0: out of memory. Not for mixes. */
uint32_t segment_key(struct segment_keys *k, uint32_t thread, const struct segment *s);

/* Gives back the keys for which `drop` is true, none of which is held by a log or a mix. False: out
 * of memory, and nothing is changed. */
bool segment_keys_prune(struct segment_keys *k, bool (*drop)(void *ctx, uint32_t key), void *ctx);

/* How many are in use. */
static inline size_t segment_keys_count(const struct segment_keys *k)
{
	return k->v.n - k->free.n;
}

/* The same without line and op; 0: out of memory. */
uint32_t segment_key_bare(struct segment_keys *k, uint32_t key);

/* Where a call has its place: by what the stream says it has in common with others, which are
 * small numbers, those of calls that follow each other side by side. Threads that execute the same
 * program have places apart. */
static inline size_t segment_call_at(const struct segment_keys *k, uint32_t thread, uint32_t line,
				     uint32_t site)
{
	return ((site ? site : line) + thread * UINT32_C(0x9e3779b9)) & (k->ncalls - 1);
}

/* A call is next: what it needs is fetched into the cache. */
static inline void segment_call_ahead(const struct segment_keys *k, uint32_t thread, uint32_t line,
				      uint32_t site)
{
	if (k->ncalls)
		__builtin_prefetch(&k->calls[segment_call_at(k, thread, line, site)]);
}

const struct segment_call *segment_call_learn(struct segment_keys *k, uint32_t thread,
					      const struct segment *s, uint32_t site);

/* Keys of a call and of own code behind it. NULL: out of memory. */
static inline const struct segment_call *segment_call(struct segment_keys *k, uint32_t thread,
						      const struct segment *s, uint32_t site)
{
	const uint64_t place = (uint64_t)thread << 32 | s->line;
	const struct segment_call *c;
	size_t at = k->ncalls ? segment_call_at(k, thread, s->line, site) : 0;

	for (unsigned i = 0; i < SEGMENT_CALLS_NEAR && k->ncalls; i++) {
		c = &k->calls[(at + i) & (k->ncalls - 1)];
		if (c->place == place && c->op == s->op && c->call)
			return c;
		if (!c->call)
			break;
	}
	return segment_call_learn(k, thread, s, site);
}

static inline const struct segment_key *segment_key_get(const struct segment_keys *k, uint32_t key)
{
	return &k->v.v[key & ~SEGMENT_KEY_KIND];
}

#endif

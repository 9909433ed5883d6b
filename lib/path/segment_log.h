/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of one thread's segments, oldest first, each ending where the next begins. Old ones are
 * folded into checkpoints (mixes.h), so that the log tiles the thread's life from its first segment
 * on however long it lives.
 */
#ifndef INGERO_PATH_SEGMENT_LOG_H
#define INGERO_PATH_SEGMENT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"
#include "lib/path/segment_keys.h"

/* Millions of them are held. */
struct segment_entry {
	int64_t end_ns;
	uint32_t key;
} __attribute__((packed, aligned(4)));

/* Zero-initialised but for keys and thread is empty. */
struct segment_log {
	VEC(struct segment_entry) v;
	struct segment_keys *keys; /* of all threads */
	int64_t begin_ns;	   /* where the first one begins; valid when begun */
	uint32_t thread;	   /* world thread id */
	uint32_t found : 31;	   /* what segment_log_find was asked for last */
	bool begun : 1;
};

static inline void segment_log_free(struct segment_log *l)
{
	vec_free(&l->v);
}

/* The log begins there, if it has not begun. */
static inline void segment_log_begin(struct segment_log *l, int64_t at_ns)
{
	if (l->begun)
		return;
	l->begun = true;
	l->begin_ns = at_ns;
}

/* Where the next one begins; valid when begun. */
static inline int64_t segment_log_end(const struct segment_log *l)
{
	return l->v.n ? l->v.v[l->v.n - 1].end_ns : l->begin_ns;
}

/* Where the i-th one begins. */
static inline int64_t segment_log_start(const struct segment_log *l, size_t i)
{
	return i ? l->v.v[i - 1].end_ns : l->begin_ns;
}

/* What the i-th one is, but for its end; not of a mix. */
static inline const struct segment *segment_log_what(const struct segment_log *l, size_t i)
{
	return &segment_key_get(l->keys, l->v.v[i].key)->s;
}

static inline bool segment_log_is_mix(const struct segment_log *l, size_t i)
{
	return l->v.v[i].key >= SEGMENT_KEY_MIXED;
}

/* The next one, from where the last one ended to s->end_ns, of a log that has begun; one that
 * continues the last makes it longer, and an empty one is ignored. False: out of memory. */
bool segment_log_push(struct segment_log *l, const struct segment *s);

/* The first that ends after then; v.n: none. */
size_t segment_log_find(struct segment_log *l, int64_t at_ns);

/* What was on a CPU in [from, to) outside of calls was in this state, what was blocked was so for
 * that (segment_mark_memory). False: out of memory. */
bool segment_log_restate(struct segment_log *l, int64_t from_ns, int64_t to_ns,
			 const struct segment *as, uint16_t blocked);

#endif

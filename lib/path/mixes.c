/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds old segments of a log into checkpoints, and cuts pieces out of them. Part k of a cut is the
 * difference of two rounded running sums, so that no nanosecond is lost or counted twice however a
 * checkpoint is cut.
 */
#include "lib/path/mixes.h"

#include <string.h>

#define MIX_LINES 16 /* parts; further ones are kept without their lines */

void mixes_free(struct mixes *m)
{
	for (size_t i = 0; i < m->v.n; i++)
		vec_free(&m->v.v[i].parts);
	vec_free(&m->v);
	vec_free(&m->position);
}

/* The number of an empty one; 0: out of memory. */
static uint32_t mix_new(struct mixes *m)
{
	uint32_t number = m->free;

	if (number) {
		m->free = m->v.v[number - 1].next_free;
		return number;
	}
	return vec_push(&m->v, (struct mix){ 0 }) ? (uint32_t)m->v.n : 0;
}

static void mix_release(struct mixes *m, uint32_t number)
{
	struct mix *mix = &m->v.v[number - 1];

	m->parts -= mix->parts.n;
	vec_free(&mix->parts);
	mix->next_free = m->free;
	m->free = number;
}

/* Adds so much of that key, a part of the mix if it has room for another. */
static bool part_add(struct mixes *m, struct segment_keys *keys, struct mix *mix, uint32_t key,
		     uint64_t ns)
{
	const size_t index = key & ~SEGMENT_KEY_KIND;
	uint16_t *at;

	if (!vec_reach(&m->position, index))
		return false;
	/* What an earlier mix left there is of another key here. */
	at = &m->position.v[index];
	if (*at < mix->parts.n && mix->parts.v[*at].key == key) {
		mix->parts.v[*at].ns += ns;
		return true;
	}
	if (mix->parts.n >= MIX_LINES) {
		uint32_t bare = segment_key_bare(keys, key);

		if (bare != key)
			return bare && part_add(m, keys, mix, bare, ns);
	}
	if (mix->parts.n > UINT16_MAX || !vec_push(&mix->parts, (struct mix_part){ ns, key }))
		return false;
	*at = (uint16_t)(mix->parts.n - 1);
	m->parts++;
	return true;
}

/* Adds a segment, or all parts of the mix that it is. */
static bool mix_add(struct mixes *m, struct segment_keys *keys, uint32_t number, uint32_t key,
		    uint64_t ns)
{
	struct mix *mix = &m->v.v[number - 1];
	const struct mix *from;

	if (key < SEGMENT_KEY_MIXED)
		return part_add(m, keys, mix, key, ns);
	from = &m->v.v[(key & ~SEGMENT_KEY_KIND) - 1];
	for (size_t i = 0; i < from->parts.n; i++) {
		if (!part_add(m, keys, mix, from->parts.v[i].key, from->parts.v[i].ns))
			return false;
	}
	return true;
}

/* Segments first to last of the log become one. Its number; 0: out of memory. */
static uint32_t fold_run(struct mixes *m, const struct segment_log *log, int64_t start_ns,
			 size_t first, size_t last)
{
	uint32_t number = mix_new(m);

	for (size_t i = first; number && i <= last; i++) {
		const struct segment_entry *s = &log->v.v[i];

		if (!mix_add(m, log->keys, number, s->key, (uint64_t)(s->end_ns - start_ns))) {
			mix_release(m, number);
			return 0;
		}
		start_ns = s->end_ns;
	}
	for (size_t i = first; number && i <= last; i++) {
		if (segment_log_is_mix(log, i))
			mix_release(m, log->v.v[i].key & ~SEGMENT_KEY_KIND);
	}
	return number;
}

/* The last of those from first on that end in its cell, in time, and are short. */
static size_t run_end(const struct segment_log *log, size_t first, int64_t until_ns,
		      int64_t cell_ns)
{
	int64_t cell = (log->v.v[first].end_ns - 1) / cell_ns, start = log->v.v[first].end_ns;
	size_t last = first;

	while (last + 1 < log->v.n && log->v.v[last + 1].end_ns <= until_ns &&
	       (log->v.v[last + 1].end_ns - 1) / cell_ns == cell &&
	       log->v.v[last + 1].end_ns - start < cell_ns) {
		last++;
		start = log->v.v[last].end_ns;
	}
	return last;
}

bool mixes_fold(struct mixes *m, struct segment_log *log, int64_t until_ns, int64_t cell_ns)
{
	int64_t start = log->begin_ns;
	size_t put = 0, i = 0;
	bool done = true;

	while (done && i < log->v.n && log->v.v[i].end_ns <= until_ns) {
		struct segment_entry s = log->v.v[i];
		size_t last = s.end_ns - start < cell_ns ? run_end(log, i, until_ns, cell_ns) : i;

		if (last > i) {
			uint32_t number = fold_run(m, log, start, i, last);

			if (!number) {
				done = false;
				break;
			}
			s.end_ns = log->v.v[last].end_ns;
			s.key = SEGMENT_KEY_MIXED | number;
		}
		start = s.end_ns;
		log->v.v[put++] = s;
		i = last + 1;
	}
	if (put == i)
		return done;
	memmove(log->v.v + put, log->v.v + i, (log->v.n - i) * sizeof(log->v.v[0]));
	log->v.n -= i - put;
	return done;
}

void mixes_release(struct mixes *m, const struct segment_log *log)
{
	for (size_t i = 0; i < log->v.n; i++) {
		if (segment_log_is_mix(log, i))
			mix_release(m, log->v.v[i].key & ~SEGMENT_KEY_KIND);
	}
}

/* How much of the first sum ns lies before so much of all. */
static int64_t share_before(uint64_t sum, int64_t at, int64_t all)
{
	return (int64_t)((unsigned __int128)sum * (uint64_t)at / (uint64_t)all);
}

void mixes_cut(const struct mixes *m, uint32_t number, int64_t start_ns, int64_t end_ns,
	       int64_t from_ns, int64_t to_ns, mixes_each_fn *each, void *ctx)
{
	const struct mix *mix = &m->v.v[number - 1];
	int64_t all = end_ns - start_ns, a = from_ns - start_ns, b = to_ns - start_ns;
	int64_t done = 0, from = from_ns;
	uint64_t sum = 0;

	for (size_t i = 0; i < mix->parts.n; i++) {
		int64_t until;

		sum += mix->parts.v[i].ns;
		until = share_before(sum, b, all) - share_before(sum, a, all);
		if (until > done)
			each(ctx, from, from + until - done, mix->parts.v[i].key);
		if (until > done) {
			from += until - done;
			done = until;
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a thread's segments: an array in order of time, searched from its end.
 */
#include "lib/path/segment_log.h"

#include <string.h>

#include "lib/base/bisect.h"

bool segment_log_push(struct segment_log *l, const struct segment *s)
{
	struct segment_entry *last = l->v.n ? &l->v.v[l->v.n - 1] : NULL;
	uint32_t key;

	if (s->end_ns <= segment_log_end(l))
		return true;
	key = segment_key(l->keys, l->thread, s);
	/* Two waits in a row stay two: when each was ended counts. */
	if (last && !segment_blocked(s) && last->key == key) {
		last->end_ns = s->end_ns;
		return true;
	}
	return key && vec_push(&l->v, (struct segment_entry){ s->end_ns, key });
}

static inline bool ends_behind(const struct segment_log *l, size_t i, int64_t at_ns)
{
	return l->v.v[i].end_ns > at_ns;
}

/* Most are asked for near the one before, or near the end: steps from there get longer until one
 * is passed over. */
size_t segment_log_find(struct segment_log *l, int64_t at_ns)
{
	const size_t n = l->v.n;
	size_t from = l->found < n ? l->found : n, to = from, step = 1;

	if (from == n || ends_behind(l, from, at_ns)) {
		while (from && ends_behind(l, from - 1, at_ns)) {
			to = from - 1;
			from = from > step ? from - step : 0;
			step *= 2;
		}
	} else {
		while (to < n && !ends_behind(l, to, at_ns)) {
			from = to + 1;
			to = n - to > step ? to + step : n;
			step *= 2;
		}
	}
	/* All before from end by then, and none from to on. */
	bisect(i, from, to, !ends_behind(l, i, at_ns));
	l->found = from & INT32_MAX; /* where it does not fit, the search takes longer */
	return from;
}

static bool is_own(const struct segment_log *l, size_t i)
{
	return !segment_log_is_mix(l, i) && segment_log_what(l, i)->state == SEGMENT_OWN;
}

/* A boundary at that time, which lies within the log, where the thread is in its own code: a wait
 * stays whole, as its end says when it was ended. False: out of memory. */
static bool split_own(struct segment_log *l, int64_t at_ns)
{
	size_t i = segment_log_find(l, at_ns);

	if (i == l->v.n || segment_log_start(l, i) >= at_ns || !is_own(l, i))
		return true;
	if (!vec_reserve(&l->v, 1))
		return false;
	memmove(&l->v.v[i + 1], &l->v.v[i], (l->v.n - i) * sizeof(l->v.v[0]));
	l->v.v[i].end_ns = at_ns;
	l->v.n++;
	return true;
}

/* A blocked segment was blocked for that. */
static bool mark_memory(struct segment_log *l, size_t i, uint16_t flags)
{
	struct segment s = *segment_log_what(l, i);

	segment_mark_memory(&s, flags);
	l->v.v[i].key = segment_key(l->keys, l->thread, &s);
	return l->v.v[i].key != 0;
}

bool segment_log_restate(struct segment_log *l, int64_t from_ns, int64_t to_ns,
			 const struct segment *as, uint16_t blocked)
{
	uint32_t key = segment_key(l->keys, l->thread, as);

	if (!key || !split_own(l, from_ns) || !split_own(l, to_ns))
		return false;
	for (size_t i = segment_log_find(l, from_ns); i < l->v.n && segment_log_start(l, i) < to_ns;
	     i++) {
		if (segment_log_is_mix(l, i))
			continue;
		if (is_own(l, i))
			l->v.v[i].key = key;
		else if (segment_blocked(segment_log_what(l, i)) && !mark_memory(l, i, blocked))
			return false;
	}
	return true;
}

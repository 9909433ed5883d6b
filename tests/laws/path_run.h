/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path over a stream in memory, and the pieces it told.
 */
#ifndef INGERO_TESTS_LAWS_PATH_RUN_H
#define INGERO_TESTS_LAWS_PATH_RUN_H

#include "lib/path/path.h"
#include "tests/laws/path_piece.h"
#include "tests/laws/path_stream.h"

static inline const char *run_state_text(unsigned state)
{
	static const char *const texts[SEGMENT_STATES] = {
		[SEGMENT_UNKNOWN] = "unknown",
		[SEGMENT_OWN] = "own code",
		[SEGMENT_CALL] = "in call",
		[SEGMENT_SYNC] = "device (spin or return)",
		[SEGMENT_RECLAIM] = "memory reclaim",
		[SEGMENT_COMPACT] = "memory compaction",
		[SEGMENT_FAULT_IN] = "page fault, on CPU",
		[SEGMENT_STOLEN] = "stolen by the hypervisor",
		[SEGMENT_THROTTLED] = "throttled",
		[SEGMENT_WAKE_UP] = "wake-up latency",
		[SEGMENT_RUNNABLE] = "CPU taken",
		[SEGMENT_BLOCKED] = "blocked",
		[SEGMENT_WAITING] = "waiting",
		[SEGMENT_UNENDED] = "never ended",
		[SEGMENT_TOO_DEEP] = "chain too deep",
	};

	return state < SEGMENT_STATES ? texts[state] : "?";
}

struct path_run {
	struct path_listener listener;
	struct path *path;
	VEC(struct run_piece) v;
	size_t before_end; /* told before the last event */
};

static inline void run_add(struct path_listener *l, const struct path_piece *p)
{
	struct path_run *r = (struct path_run *)l;

	if (!vec_push(&r->v, run_piece_of(p)))
		abort();
}

static inline int run_order(const void *a, const void *b)
{
	const struct run_piece *x = a, *y = b;

	if (x->anchor != y->anchor)
		return x->anchor < y->anchor ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/* Without the events for which left_out is true (NULL: none are), each of which is told as lost
 * if `lossy`. */
static inline void run_open(struct path_run *r, const struct path_stream *s,
			    const struct path_options *o,
			    bool (*left_out)(void *ctx, size_t i, const struct event *ev),
			    void *ctx, bool lossy)
{
	int64_t before = INT64_MIN;

	memset(r, 0, sizeof(*r));
	r->listener.on_piece = run_add;
	r->path = path_new(s->w, o, &r->listener);
	for (size_t i = 0; i < s->ev.n; i++) {
		const struct event *ev = &s->ev.v[i];

		if (left_out && left_out(ctx, i, ev)) {
			if (lossy)
				path_lost(r->path, before,
					  i + 1 < s->ev.n ? s->ev.v[i + 1].end_ns : s->end_ns, 1);
			continue;
		}
		before = ev->end_ns;
		if (path_event(r->path, ev, NULL))
			abort();
	}
	r->before_end = r->v.n;
	for (size_t i = 0; i < s->open.n; i++) {
		const struct stream_open *c = &s->open.v[i];

		if (path_open(r->path, c->thread, c->op, c->start_ns, c->depth, c->stack, s->end_ns,
			      NULL))
			abort();
	}
	if (path_finish(r->path, s->end_ns, NULL))
		abort();
	qsort(r->v.v, r->v.n, sizeof(r->v.v[0]), run_order);
}

static inline void run_close(struct path_run *r)
{
	path_free(r->path);
	vec_free(&r->v);
}

/* The pieces of one anchor: the first of *n. */
static inline const struct run_piece *run_of(const struct path_run *r, uint32_t anchor, size_t *n)
{
	size_t i = 0, k;

	while (i < r->v.n && r->v.v[i].anchor != anchor)
		i++;
	for (k = i; k < r->v.n && r->v.v[k].anchor == anchor;)
		k++;
	*n = k - i;
	return r->v.v + i;
}

/* How far the pieces of all anchors are from tiling their lives: ns in gaps or overlaps, or
 * missing at an end. */
static inline uint64_t run_untiled(const struct path_run *r)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < path_anchors(r->path); i++) {
		struct path_anchor a = path_anchor(r->path, i);
		size_t n;
		const struct run_piece *v = run_of(r, a.thread, &n);
		int64_t at = a.begin_ns;

		for (size_t k = 0; k < n; k++) {
			wrong += (uint64_t)llabs(v[k].from_ns - at) + (v[k].to_ns <= v[k].from_ns);
			at = v[k].to_ns;
		}
		wrong += (uint64_t)llabs(a.end_ns - at);
	}
	return wrong;
}

#endif

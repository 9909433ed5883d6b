/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives the pieces of paths and sums them by what they are, as tracks do
 * (lib/tracks/track_sums.h).
 */
#ifndef INGERO_TESTS_PATH_PARTS_H
#define INGERO_TESTS_PATH_PARTS_H

#include <stdlib.h>

#include "lib/tracks/track_sums.h"

struct path_parts {
	struct path_listener listener; /* first: it is cast back */
	struct path *path;
	struct track_names names;
	VEC(struct track_sums) sums; /* by anchor, all of it in WINDOW_STEPS */
	struct track_parts list;     /* of the anchor that was asked for last */
};

static inline void path_parts_add(struct path_parts *s, const struct path_piece *p)
{
	const struct track_add add = { .from_ns = p->from_ns, .to_ns = p->to_ns };
	struct track_sums *of;
	uint32_t number;

	if (!vec_reach(&s->sums, p->anchor))
		abort();
	of = &s->sums.v[p->anchor];
	number = track_sums_number(of, &s->names, p);
	if (!number)
		abort();
	track_total_add(&of->v.v[number - 1].total[WINDOW_STEPS], &add);
}

static inline void path_parts_on_piece(struct path_listener *l, const struct path_piece *p)
{
	path_parts_add((struct path_parts *)l, p);
}

/* path: whose pieces they are; NULL: one that is made here, with these options. */
static inline void path_parts_init(struct path_parts *s, const struct world *w, struct path *path,
				   const struct path_options *o)
{
	*s = (struct path_parts){ .listener.on_piece = path_parts_on_piece };
	track_names_init(&s->names, w);
	s->path = path ? path : path_new(w, o, &s->listener);
	if (!s->path)
		abort();
}

/* As before the first piece; who is which culprit is kept. */
static inline void path_parts_reset(struct path_parts *s)
{
	for (size_t i = 0; i < s->sums.n; i++)
		track_sums_free(&s->sums.v[i]);
	vec_free(&s->sums);
}

/* The path stays. */
static inline void path_parts_free(struct path_parts *s)
{
	path_parts_reset(s);
	vec_free(&s->list.v);
	track_names_free(&s->names);
}

/* The parts of an anchor's path, until the next question. */
static inline const struct track_parts *path_parts_of(struct path_parts *s, uint32_t anchor)
{
	s->list.v.n = 0;
	if (anchor < s->sums.n && !track_sums_parts(&s->sums.v[anchor], WINDOW_STEPS, anchor,
						    s->path, &s->names, &s->list))
		abort();
	return &s->list;
}

static inline uint64_t path_parts_ns(const struct track_parts *parts)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < parts->v.n; i++)
		ns += parts->v.v[i].ns;
	return ns;
}

#endif

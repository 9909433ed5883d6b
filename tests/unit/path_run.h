/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream made by hand, its critical path, and what of it is of which class.
 */
#ifndef INGERO_TESTS_PATH_RUN_H
#define INGERO_TESTS_PATH_RUN_H

#include "lib/path/path.h"
#include "tests/unit/events.h"
#include "tests/unit/path_parts.h"

struct outcome {
	struct path_parts parts;
	struct path *path;
};

static inline struct outcome run(struct stage *s, uint32_t anchor, int64_t end)
{
	struct outcome t;

	stage_sort(s);
	path_parts_init(&t.parts, s->w, NULL, NULL);
	t.path = t.parts.path;
	for (size_t i = 0; i < s->ev.n; i++) {
		if (path_event(t.path, &s->ev.v[i], NULL))
			abort();
	}
	if (path_finish(t.path, end, NULL))
		abort();
	path_parts_of(&t.parts, anchor);
	return t;
}

static inline void outcome_free(struct outcome *t)
{
	path_free(t->path);
	path_parts_free(&t->parts);
}

/* ns of the class that this thread is the culprit of; 0: that nobody is. */
static inline uint64_t ns_of(const struct outcome *t, enum path_class class, uint32_t thread)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < t->parts.list.v.n; i++) {
		const struct track_part *p = &t->parts.list.v.v[i];
		const struct path_culprit *c =
			path_culprit_get(&t->parts.names.culprits, p->culprit);

		if (p->class == class && (c ? c->members[0] : 0) == thread)
			ns += p->ns;
	}
	return ns;
}

/* The device that is waited for; 0: none, or not known. */
static inline uint32_t disk_of(const struct outcome *t)
{
	uint32_t device = 0;

	for (size_t i = 0; i < t->parts.list.v.n; i++)
		device |= t->parts.list.v.v[i].device;
	return device;
}

static inline struct event *wait_for(struct stage *s, struct actor a, unsigned object,
				     int64_t start, int64_t ready, int64_t end, struct actor waker)
{
	struct event *ev = stage_offcpu(s, a, 0, start, end, (uint64_t)(end - ready), 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, waker.thread);
	return ev;
}

static inline void sleep_for(struct stage *s, struct actor a, int64_t start, int64_t end)
{
	struct event *ev = stage_offcpu(s, a, 0, start, end, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
}

#endif

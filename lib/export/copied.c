/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the bytes of nested copies once, not once per call. It keeps only threads inside a call in
 * which something was copied.
 */
#include "lib/export/copied.h"

#include <string.h>

static struct copied_thread *thread_of(struct copied *c, uint32_t id)
{
	uint64_t at;

	return c->at.n && map_get(&c->at, id, &at) ? &c->threads.v[at] : NULL;
}

static struct copied_thread *thread_new(struct copied *c, uint32_t id)
{
	if (c->threads.n == COPIED_THREADS) {
		map_clear(&c->at);
		c->threads.n = 0;
	}
	if (!vec_push(&c->threads, (struct copied_thread){ .id = id }))
		return NULL;
	if (map_put(&c->at, id, c->threads.n - 1))
		return &c->threads.v[c->threads.n - 1];
	c->threads.n--;
	return NULL;
}

static void thread_drop(struct copied *c, struct copied_thread *t)
{
	struct copied_thread *last = &c->threads.v[--c->threads.n];

	map_del(&c->at, t->id);
	if (t == last)
		return;
	*t = *last;
	map_put(&c->at, t->id, (uint64_t)(t - c->threads.v)); /* it is there: needs no memory */
}

/* The oldest two that lie beside each other become one. */
static void make_room(struct copied_thread *t)
{
	unsigned i = 1;

	while (i + 1 < t->n && t->spans[i].depth != t->spans[i - 1].depth)
		i++;
	t->spans[i - 1].bytes += t->spans[i].bytes;
	memmove(&t->spans[i], &t->spans[i + 1], (t->n - i - 1) * sizeof(t->spans[0]));
	t->n--;
}

uint64_t copied_call(struct copied *c, uint32_t thread, const struct event *ev, uint64_t bytes)
{
	struct copied_thread *t = thread_of(c, thread);
	int64_t start_ns = event_start(ev);
	uint64_t inside = 0;

	while (t && t->n && t->spans[t->n - 1].depth > ev->depth &&
	       t->spans[t->n - 1].start_ns >= start_ns)
		inside += t->spans[--t->n].bytes;
	if (!ev->depth && t)
		thread_drop(c, t);
	if (ev->depth && !t && bytes)
		t = thread_new(c, thread);
	if (ev->depth && t && (bytes || inside)) {
		if (t->n == COPIED_SPANS)
			make_room(t);
		t->spans[t->n++] = (struct copied_span){ .start_ns = start_ns,
							 .bytes = bytes > inside ? bytes : inside,
							 .depth = ev->depth };
	}
	return bytes > inside ? bytes - inside : 0;
}

void copied_free(struct copied *c)
{
	map_free(&c->at);
	vec_free(&c->threads);
}

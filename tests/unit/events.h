/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams made by hand for tests of line/ and cause/: a world with processes and threads, events
 * added in any order and sorted into stream order, and an analysis run over them.
 */
#ifndef INGERO_TESTS_EVENTS_H
#define INGERO_TESTS_EVENTS_H

#include <stdlib.h>

#include "lib/base/vec.h"
#include "lib/detect/analysis.h"
#include "lib/event/event.h"
#include "lib/event/stream.h"
#include "lib/world/event_order.h"
#include "lib/world/world.h"

#define MS 1000000ll
#define US 1000ll

struct stage {
	struct world *w;
	uint32_t node;
	VEC(struct event) ev;
	VEC(struct record) rec; /* told before the events */
};

static inline struct stage stage_new(void)
{
	struct stage s = { .w = world_new() };
	struct world_node n = { .uuid = { 1, 2, 3 }, .boot = 7 };

	n.name = world_string(s.w, bytes_of("testhost"));
	s.node = world_node(s.w, &n);
	return s;
}

static inline void stage_free(struct stage *s)
{
	world_free(s->w);
	vec_free(&s->ev);
	vec_free(&s->rec);
}

/* A thread of a process, with the context its events carry. tid == tgid: the main thread. */
struct actor {
	uint32_t process, thread, ctx;
};

static inline struct actor stage_actor(struct stage *s, uint32_t tgid, uint32_t tid,
				       uint32_t parent, const char *comm)
{
	struct world_process p = {
		.node = s->node, .tgid = tgid, .start_ns = tgid * 1000, .parent = parent
	};
	struct world_cgroup g = { .node = s->node,
				  .id = 5,
				  .path = world_string(s->w, bytes_of("/job")) };
	struct world_image im = { .comm = world_string(s->w, bytes_of(comm)) };
	struct world_thread t = { .tid = tid, .start_ns = tid * 1000, .comm = im.comm };
	struct world_ctx c = { .node = s->node };
	struct actor a;

	a.process = im.process = t.process = world_process(s->w, &p);
	c.image = world_image(s->w, &im);
	a.thread = c.thread = world_thread(s->w, &t);
	c.cgroup = world_cgroup(s->w, &g);
	a.ctx = world_ctx(s->w, &c);
	return a;
}

/* Valid until the next one. */
static inline struct record *stage_record(struct stage *s, enum record_kind kind)
{
	struct record r = { .kind = (uint16_t)kind };

	if (!vec_push(&s->rec, r))
		abort();
	return &s->rec.v[s->rec.n - 1];
}

static inline void stage_socket(struct stage *s, uint64_t id, const char *remote)
{
	struct record *r = stage_record(s, RECORD_SOCKET);

	REC_SET(r, SOCKET, id, id);
	REC_SET(r, SOCKET, remote, bytes_of(remote));
}

static inline void stage_peer(struct stage *s, uint64_t socket, uint32_t pid, const char *comm)
{
	struct record *r = stage_record(s, RECORD_PEER);

	REC_SET(r, PEER, socket, socket);
	REC_SET(r, PEER, pid, pid);
	REC_SET(r, PEER, comm, bytes_of(comm));
}

static inline struct event *stage_event(struct stage *s, uint16_t op, uint32_t ctx, unsigned depth,
					int64_t start, int64_t end)
{
	struct event ev = { .end_ns = end,
			    .dur_ns = (uint64_t)(end - start),
			    .op = op,
			    .depth = (uint16_t)depth,
			    .ctx = ctx };

	if (!vec_push(&s->ev, ev))
		abort();
	return &s->ev.v[s->ev.n - 1];
}

static inline void stage_set(struct event *ev, uint16_t col, uint64_t v)
{
	event_set(ev, op_builtin(ev->op), col, v);
}

static inline struct event *stage_call(struct stage *s, struct actor a, uint16_t op, unsigned depth,
				       int64_t start, int64_t end)
{
	return stage_event(s, op, a.ctx, depth, start, end);
}

/* Off its CPU from start to end, the last wait_ns of it runnable on cpu. */
static inline struct event *stage_offcpu(struct stage *s, struct actor a, unsigned depth,
					 int64_t start, int64_t end, uint64_t wait_ns, unsigned cpu)
{
	struct event *ev = stage_event(s, OP_SCHED_OFFCPU, a.ctx, depth, start, end);

	stage_set(ev, COL_WAIT_NS, wait_ns);
	stage_set(ev, COL_CPU_OUT, cpu);
	stage_set(ev, COL_CPU_IN, cpu);
	return ev;
}

static inline struct event *stage_occupied(struct stage *s, struct actor who, unsigned cpu,
					   int64_t start, int64_t end)
{
	struct world_ctx c = { .node = s->node };
	struct event *ev = stage_event(s, OP_SCHED_OCCUPIED, world_ctx(s->w, &c), 0, start, end);

	stage_set(ev, COL_CPU, cpu);
	stage_set(ev, COL_OCCUPANT, who.thread);
	return ev;
}

static inline struct event *stage_migrate(struct stage *s, struct actor a, int64_t at,
					  unsigned from, unsigned to)
{
	struct event *ev = stage_event(s, OP_SCHED_MIGRATE, a.ctx, 0, at, at);

	stage_set(ev, COL_CPU_OUT, from);
	stage_set(ev, COL_CPU_IN, to);
	return ev;
}

/* Blocked on a mutex from start until releaser lets go at ready, running again at end. */
static inline struct event *stage_lock(struct stage *s, struct actor a, unsigned depth,
				       int64_t start, int64_t ready, int64_t end,
				       struct actor releaser, uint64_t address)
{
	struct event *ev = stage_offcpu(s, a, depth, start, end, (uint64_t)(end - ready), 0);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_FUTEX);
	stage_set(ev, COL_OBJECT, address);
	stage_set(ev, COL_FUTEX_OP, 0);
	stage_set(ev, COL_FUTEX_VAL, 2);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, releaser.thread);
	return ev;
}

static struct world *stage_world_;

static int stage_order_(const void *a, const void *b)
{
	return world_event_order(stage_world_, a, b);
}

static inline void stage_sort(struct stage *s)
{
	stage_world_ = s->w;
	if (s->ev.n)
		qsort(s->ev.v, s->ev.n, sizeof(*s->ev.v), stage_order_);
}

#endif

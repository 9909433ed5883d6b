/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: an event is only handed on when its thread was announced on the same ring before it; what cannot be
 * understood is counted in refused, so that a mismatch of the two sides shows.
 */
#include "lib/probe/wire.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/probe/sched_wire.h"

struct probe_wire {
	struct world *world;
	uint32_t node;
	struct probe_wire_owner owner;
	VEC(struct probe_thread) threads; /* one per announcement */
	struct map by_tid;		  /* newest announcement of a tid */
	struct map stacks;		  /* number -> world stack */
	struct map images;	/* tgid << 32 | execs -> image, of the process it was asked for */
	struct map image_start; /* the same key -> start of that process: numbers are reused */
	struct map delivered;	/* tgid << 8 | source -> events */
	uint64_t last_key, last_count; /* most events come in runs of one key */
	uint32_t lost_seen;
	bool lost_known;
	uint64_t refused;
};

int probe_wire_new(struct probe_wire **out, struct world *w, uint32_t node,
		   const struct probe_wire_owner *owner, struct err *e)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_nomem(e);
	(*out)->world = w;
	(*out)->node = node;
	(*out)->owner = *owner;
	(*out)->last_key = UINT64_MAX;
	return 0;
}

void probe_wire_free(struct probe_wire *wire)
{
	if (!wire)
		return;
	vec_free(&wire->threads);
	map_free(&wire->by_tid);
	map_free(&wire->stacks);
	map_free(&wire->images);
	map_free(&wire->image_start);
	map_free(&wire->delivered);
	free(wire);
}

static struct bytes comm_text(const char comm[16])
{
	return (struct bytes){ comm, strnlen(comm, 16) };
}

static uint32_t image_of(struct probe_wire *wire, const struct wire_thread *w, uint32_t process,
			 uint32_t *cgroup_path)
{
	uint64_t key = (uint64_t)w->tgid << 32 | w->execs, image, start = 0;
	struct probe_exe exe = { 0 };

	*cgroup_path = 0;
	if (map_get(&wire->images, key, &image) && map_get(&wire->image_start, key, &start) &&
	    start == probe_start(w->tgid_start_ns))
		return (uint32_t)image;
	if (wire->owner.process)
		wire->owner.process(wire->owner.ctx, w, process);
	if (wire->owner.exe)
		wire->owner.exe(wire->owner.ctx, w->tgid, w->execs, &exe);
	if (!exe.comm)
		exe.comm = world_string(wire->world, comm_text(w->comm));
	*cgroup_path = exe.cgroup_path;
	image = world_image(wire->world, &(struct world_image){ .process = process,
								.exec = w->execs,
								.exe = exe.exe,
								.cmdline = exe.cmdline,
								.comm = exe.comm });
	map_put(&wire->images, key, image);
	map_put(&wire->image_start, key, probe_start(w->tgid_start_ns));
	return (uint32_t)image;
}

static struct probe_thread make_thread(struct probe_wire *wire, const struct wire_thread *w)
{
	struct probe_thread t = { .tid = w->tid, .tgid = w->tgid };
	uint32_t image, cgroup = 0, path;

	t.process = world_process(
		wire->world, &(struct world_process){ .node = wire->node,
						      .tgid = w->tgid,
						      .start_ns = probe_start(w->tgid_start_ns),
						      .parent = w->parent,
						      .ns_tgid = w->ns_tgid,
						      .uid = w->uid });
	image = image_of(wire, w, t.process, &path);
	t.thread = world_thread(
		wire->world,
		&(struct world_thread){ .process = t.process,
					.tid = w->tid,
					.start_ns = probe_start(w->start_ns),
					.comm = world_string(wire->world, comm_text(w->comm)) });
	if (w->cgroup)
		cgroup = world_cgroup(wire->world, &(struct world_cgroup){ .node = wire->node,
									   .id = w->cgroup,
									   .path = path });
	t.ctx = world_ctx(wire->world, &(struct world_ctx){ .node = wire->node,
							    .image = image,
							    .thread = t.thread,
							    .cgroup = cgroup });
	return t;
}

static void take_thread(struct probe_wire *wire, const struct wire_thread *w)
{
	struct probe_thread t = make_thread(wire, w);

	if (vec_push(&wire->threads, t))
		map_put(&wire->by_tid, w->tid, wire->threads.n - 1);
}

/* Somebody who is no target but is met on a CPU, or wakes one. Announced once per name: what a thread executes
 * after an exec is somebody else in findings, so it gets an identity of its own, told apart by the digits
 * below the tick of its start. */
static void take_occupant(struct probe_wire *wire, const struct wire_thread *w)
{
	struct world_process process = { .node = wire->node,
					 .tgid = w->tgid,
					 .start_ns = probe_start(w->tgid_start_ns),
					 .parent = w->parent,
					 .ns_tgid = w->ns_tgid,
					 .uid = w->uid };
	struct probe_thread t = { .tid = w->tid, .tgid = w->tgid };
	struct world_thread thread = { .tid = w->tid, .start_ns = probe_start(w->start_ns) };
	const struct probe_thread *known = probe_wire_thread(wire, w->tid);
	const struct world_thread *was =
		known ? world_get_thread(wire->world, known->thread) : NULL;

	t.process = thread.process = world_process(wire->world, &process);
	thread.comm = world_string(wire->world, comm_text(w->comm));
	if (was && was->process == thread.process &&
	    probe_start(was->start_ns) == thread.start_ns) {
		if (known->ctx || was->comm == thread.comm)
			return;
		thread.start_ns = was->start_ns + 1;
	}
	t.thread = world_thread(wire->world, &thread);
	if (vec_push(&wire->threads, t))
		map_put(&wire->by_tid, w->tid, wire->threads.n - 1);
}

static void take_stack(struct probe_wire *wire, const struct wire_stack *s, size_t n)
{
	uint32_t stack;

	if (s->n == 0 || s->n > WIRE_STACK_MAX || n < WIRE_STACK_HEAD + s->n * sizeof(s->ip[0])) {
		wire->refused++;
		return;
	}
	if (!wire->owner.stack)
		return;
	stack = wire->owner.stack(wire->owner.ctx, s->tgid, (const uint64_t *)s->ip, s->n);
	if (stack)
		map_put(&wire->stacks, s->id, stack);
}

/* The kernel's running count of losses; its steps say where in the stream they happened. */
void probe_wire_lost(struct probe_wire *wire, uint32_t lost)
{
	uint32_t step = lost - wire->lost_seen;

	if (step == 0)
		return;
	/* Threads on other CPUs read it a moment ago: an older value is not a step back. */
	if (step > INT32_MAX)
		return;
	wire->lost_seen = lost;
	if (wire->owner.lost)
		wire->owner.lost(wire->owner.ctx, step);
}

const struct probe_thread *probe_wire_thread(const struct probe_wire *wire, uint32_t tid)
{
	uint64_t i;

	return map_get(&wire->by_tid, tid, &i) ? &wire->threads.v[i] : NULL;
}

uint32_t probe_wire_stack(const struct probe_wire *wire, uint32_t number)
{
	uint64_t stack = 0;

	if (number)
		map_get(&wire->stacks, number, &stack);
	return (uint32_t)stack;
}

void probe_wire_emit(struct probe_wire *wire, const struct event *ev, uint32_t tgid)
{
	uint64_t key = (uint64_t)tgid << 8 | ev->op >> 8, n = 0;

	if (key != wire->last_key) {
		if (wire->last_count)
			map_put(&wire->delivered, wire->last_key, wire->last_count);
		map_get(&wire->delivered, key, &n);
		wire->last_key = key;
		wire->last_count = n;
	}
	wire->last_count++;
	wire->owner.event(wire->owner.ctx, ev);
}

uint64_t probe_wire_delivered(const struct probe_wire *wire, uint32_t tgid, uint8_t source)
{
	uint64_t key = (uint64_t)tgid << 8 | source, n = 0;

	if (key == wire->last_key)
		return wire->last_count;
	map_get(&wire->delivered, key, &n);
	return n;
}

static void take_call(struct probe_wire *wire, const struct wire_call *c,
		      const struct wire_call_long *l)
{
	const struct probe_thread *t = probe_wire_thread(wire, c->tid);
	struct event ev = { 0 };

	if (!t) {
		wire->refused++;
		return;
	}
	probe_wire_lost(wire, c->lost);
	ev.end_ns = (int64_t)c->end_ns;
	ev.dur_ns = c->dur_ns | (l ? (uint64_t)l->dur_high << 32 : 0);
	ev.op = c->op;
	ev.depth = c->depth_present & 15;
	ev.ret = c->ret;
	ev.ctx = t->ctx;
	ev.stack = probe_wire_stack(wire, c->stack);
	ev.present = c->depth_present >> 4;
	ev.x[0] = c->x[0];
	ev.x[1] = c->x[1];
	ev.x[2] = l ? l->x2 : 0;
	probe_wire_emit(wire, &ev, t->tgid);
}

void probe_wire_record(struct probe_wire *wire, const void *p, size_t n)
{
	const struct wire_call *call = p;

	switch (n ? call->kind : 0) {
	case WIRE_CALL:
		if (n < sizeof(*call))
			break;
		take_call(wire, call, NULL);
		return;
	case WIRE_CALL_LONG:
		if (n < sizeof(struct wire_call_long))
			break;
		take_call(wire, call, p);
		return;
	case WIRE_THREAD:
		if (n < sizeof(struct wire_thread))
			break;
		take_thread(wire, p);
		return;
	case WIRE_STACK:
		if (n < WIRE_STACK_HEAD)
			break;
		take_stack(wire, p, n);
		return;
	case WIRE_OCCUPANT:
		if (n < sizeof(struct wire_thread))
			break;
		take_occupant(wire, p);
		return;
	default:
		if (probe_sched_record(wire, p, n))
			return;
	}
	wire->refused++;
}

void probe_wire_life(struct probe_wire *wire, const struct wire_life *l)
{
	struct event ev = { .end_ns = (int64_t)l->time_ns };
	const struct probe_thread *t = probe_wire_thread(wire, l->who.tid);
	const struct op_def *def;
	struct probe_thread made;

	switch (l->kind) {
	case WIRE_FORK:
		ev.op = OP_PROC_FORK;
		break;
	case WIRE_EXEC:
		ev.op = OP_PROC_EXEC;
		break;
	case WIRE_EXIT:
		ev.op = OP_PROC_EXIT;
		break;
	default:
		return;
	}
	def = op_builtin(ev.op);
	if (!t || l->kind == WIRE_EXEC) {
		/* It made no call yet, or is another program now. Only for this event: calls made before the exec
		 * may still be waiting in the other ring, which announces the thread itself. */
		made = make_thread(wire, &l->who);
		t = &made;
	}
	ev.ctx = t->ctx;
	if (l->kind == WIRE_FORK) {
		uint32_t process = t->process, tgid = t->tgid, child;
		uint64_t start_ns = probe_start(l->child_start_ns);

		if (l->process)
			process = world_process(wire->world,
						&(struct world_process){ .node = wire->node,
									 .tgid = l->child_tgid,
									 .start_ns = start_ns,
									 .parent = l->who.tgid,
									 .uid = l->who.uid });
		child = world_thread(
			wire->world,
			&(struct world_thread){
				.process = process,
				.tid = l->child,
				.start_ns = start_ns,
				.comm = world_string(wire->world, comm_text(l->who.comm)) });
		event_set(&ev, def, COL_CHILD, child);
		probe_wire_emit(wire, &ev, tgid);
		return;
	}
	if (l->kind == WIRE_EXIT)
		event_set(&ev, def, COL_STATUS, (uint64_t)(uint32_t)l->status);
	probe_wire_emit(wire, &ev, t->tgid);
}

uint64_t probe_wire_refused(const struct probe_wire *wire)
{
	return wire->refused;
}

struct world *probe_wire_world(const struct probe_wire *wire)
{
	return wire->world;
}

uint32_t probe_wire_node(const struct probe_wire *wire)
{
	return wire->node;
}

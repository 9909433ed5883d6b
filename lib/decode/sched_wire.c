/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are set by position, in the order in which formats/ops.def lists them for the op; the
 * unit test reads every one back by its name. What the kernel did not say is absent, never zero.
 */
#include "lib/world/fault_stack.h"
#include "lib/decode/sched_wire.h"

#include "lib/event/op.h"
#include "lib/decode/host_wire.h"
#include "lib/decode/wire_internal.h"

/* Columns of SCHED_OFFCPU. */
enum {
	X_WAIT,
	X_THROTTLED,
	X_SYSCALL,
	X_OBJECT_KIND,
	X_OBJECT,
	X_WAKER,
	X_WAKER_KIND,
	X_CPU_OUT,
	X_CPU_IN,
	X_FUTEX_OP,
	X_FUTEX_VAL,
	X_STOLEN,
	X_WAKING
};

/* Columns of SCHED_OUTSIDE. */
enum {
	Y_RELEASER,
	Y_WAIT,
	Y_SYSCALL,
	Y_OBJECT_KIND,
	Y_OBJECT,
	Y_WAKER,
	Y_WAKER_KIND,
	Y_CPU_OUT,
	Y_CPU_IN,
	Y_FUTEX_OP,
	Y_FUTEX_VAL,
	Y_WAKING
};

static void set_column(struct event *ev, unsigned i, uint64_t value)
{
	ev->x[i] = value;
	ev->present |= 1u << i;
}

/* All idle tasks are one thread of one process: 0 of 0, as the kernel numbers them. */
static uint32_t idle_thread(struct wire_decoder *wire)
{
	struct world *w = wire_decoder_world(wire);
	uint32_t process =
		world_process(w, &(struct world_process){ .node = wire_decoder_node(wire) });

	return world_thread(w,
			    &(struct world_thread){ .process = process,
						    .comm = world_string(w, bytes_of("swapper")) });
}

/* The context of events that are of nobody who is recorded. */
static uint32_t nobodys_ctx(struct wire_decoder *wire, const struct decode_thread *t)
{
	return world_ctx(wire_decoder_world(wire),
			 &(struct world_ctx){ .node = wire_decoder_node(wire),
					      .cgroup = t ? t->cgroup : 0 });
}

/* Its priority, unless this file says it already: before an event that it counts for. */
static void emit_priority(struct wire_decoder *wire, const struct decode_thread *t)
{
	struct record r = { .kind = RECORD_PRIORITY };

	if ((!t->autogroup && !t->cpu_cgroup) || t->file == wire->file + 1)
		return;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is one of them */
	wire->threads.v[t - wire->threads.v].file = wire->file + 1;
	REC_SET(&r, PRIORITY, thread, t->thread);
	REC_SET(&r, PRIORITY, nice, t->nice);
	REC_SET(&r, PRIORITY, policy, t->policy);
	if (t->autogroup) {
		REC_SET(&r, PRIORITY, autogroup, t->autogroup);
		REC_SET(&r, PRIORITY, autogroup_nice, t->autogroup_nice);
	} else {
		REC_SET(&r, PRIORITY, cgroup, t->cpu_cgroup);
	}
	wire_decoder_say(wire, &r);
}

static bool emit_occupied(struct wire_decoder *wire, uint32_t cpu, uint32_t tid, uint64_t end_ns,
			  uint64_t dur_ns)
{
	const struct decode_thread *t = tid ? wire_decoder_thread(wire, tid) : NULL;
	struct event ev = { .op = OP_SCHED_OCCUPIED };

	if (tid && !t)
		return false;
	if (t)
		emit_priority(wire, t);
	ev.end_ns = (int64_t)end_ns;
	ev.dur_ns = dur_ns;
	ev.ctx = nobodys_ctx(wire, t);
	set_column(&ev, 0, cpu);
	set_column(&ev, 1, t ? t->thread : idle_thread(wire));
	wire_decoder_emit(wire, &ev);
	return true;
}

static bool decode_occupied(struct wire_decoder *wire, const struct wire_occupied *o)
{
	wire_decoder_lost(wire, o->lost);
	return emit_occupied(wire, o->cpu, o->tid, o->end_ns, o->dur_ns);
}

/* Up to the end of an interval. A CPU that idled did so until it had switched; of another, the
 * thread has had the end. */
static bool emit_behind(struct wire_decoder *wire, const struct wire_offcpu *o)
{
	uint64_t own = o->occupant && o->own_ns < o->occupied_ns ? o->own_ns
		       : o->occupant				 ? o->occupied_ns
								 : 0;

	return (own == o->occupied_ns || emit_occupied(wire, o->cpu_in, o->occupant,
						       o->end_ns - own, o->occupied_ns - own)) &
	       (!own || emit_occupied(wire, o->cpu_in, o->tid, o->end_ns, own));
}

/* Who woke it, or, where a soft interrupt ended a wait for what is sent, may have sent that. NULL:
 * nobody is known. */
static const struct decode_thread *waker_of(struct wire_decoder *wire, const struct wire_offcpu *o)
{
	bool sent = o->waker_kind == WAKER_SOFTIRQ &&
		    (o->object_kind == OBJECT_SOCKET || o->object_kind == OBJECT_POLL);

	return o->waker_kind == WAKER_TASK || (sent && o->waker)
		       ? wire_decoder_thread(wire, o->waker)
		       : NULL;
}

static bool decode_outside(struct wire_decoder *wire, const struct wire_offcpu *o)
{
	const struct decode_thread *t = wire_decoder_thread(wire, o->tid), *waker;
	struct event ev = { .op = OP_SCHED_OUTSIDE,
			    .end_ns = (int64_t)o->end_ns,
			    .dur_ns = o->dur_ns };

	if (!t)
		return false;
	if (!(o->flags & OFFCPU_UNENDED))
		wire_decoder_lost(wire, o->lost);
	ev.ctx = nobodys_ctx(wire, t);
	set_column(&ev, Y_RELEASER, t->thread);
	set_column(&ev, Y_WAIT, o->wait_ns);
	if (o->syscall >= 0)
		set_column(&ev, Y_SYSCALL, (uint64_t)o->syscall);
	if (o->object_kind != OBJECT_NONE)
		set_column(&ev, Y_OBJECT_KIND, o->object_kind);
	if (o->flags & OFFCPU_OBJECT)
		set_column(&ev, Y_OBJECT, o->object);
	if (o->waker_kind != WAKER_NONE)
		set_column(&ev, Y_WAKER_KIND, o->waker_kind);
	waker = o->waker_kind == WAKER_TASK ? wire_decoder_thread(wire, o->waker) : NULL;
	if (waker)
		set_column(&ev, Y_WAKER, waker->thread);
	if (o->flags & OFFCPU_WAKING)
		set_column(&ev, Y_WAKING, o->waking_ns);
	set_column(&ev, Y_CPU_OUT, o->cpu_out);
	if (!(o->flags & OFFCPU_UNENDED))
		set_column(&ev, Y_CPU_IN, o->cpu_in);
	if (o->flags & OFFCPU_FUTEX) {
		set_column(&ev, Y_FUTEX_OP, o->futex_op);
		set_column(&ev, Y_FUTEX_VAL, o->futex_val);
	}
	wire_decoder_emit(wire, &ev);
	return true;
}

static bool decode_offcpu(struct wire_decoder *wire, const struct wire_offcpu *o)
{
	const struct decode_thread *t = wire_decoder_thread(wire, o->tid), *waker;
	struct event ev = { .op = OP_SCHED_OFFCPU };
	bool whole;

	if (o->flags & OFFCPU_OUTSIDE)
		return decode_outside(wire, o);
	if (!t || !t->ctx)
		return false;
	if (!(o->flags & OFFCPU_UNENDED)) /* that is printed, by nobody who counts */
		wire_decoder_lost(wire, o->lost);
	emit_priority(wire, t);
	whole = !o->occupied_ns || emit_behind(wire, o);
	ev.end_ns = (int64_t)o->end_ns;
	ev.dur_ns = o->dur_ns;
	ev.depth = o->depth;
	ev.ctx = t->ctx;
	ev.stack = wire_decoder_stack(wire, o->stack);
	set_column(&ev, X_WAIT, o->wait_ns);
	if (o->flags & OFFCPU_THROTTLED)
		set_column(&ev, X_THROTTLED, o->throttled_ns);
	if (o->flags & OFFCPU_STOLEN)
		set_column(&ev, X_STOLEN, o->stolen_ns);
	if (o->syscall >= 0)
		set_column(&ev, X_SYSCALL, (uint64_t)o->syscall);
	if (o->object_kind != OBJECT_NONE)
		set_column(&ev, X_OBJECT_KIND,
			   o->object_kind == OBJECT_FUTEX &&
					   wire_decoder_gil(wire, t->tgid, o->object)
				   ? OBJECT_GIL
				   : o->object_kind);
	if (o->flags & OFFCPU_OBJECT)
		set_column(&ev, X_OBJECT, o->object);
	if (o->waker_kind != WAKER_NONE)
		set_column(&ev, X_WAKER_KIND, o->waker_kind);
	waker = waker_of(wire, o);
	if (waker)
		set_column(&ev, X_WAKER, waker->thread);
	if (o->flags & OFFCPU_WAKING)
		set_column(&ev, X_WAKING, o->waking_ns);
	set_column(&ev, X_CPU_OUT, o->cpu_out);
	if (!(o->flags & OFFCPU_UNENDED))
		set_column(&ev, X_CPU_IN, o->cpu_in);
	if (o->flags & OFFCPU_FUTEX) {
		set_column(&ev, X_FUTEX_OP, o->futex_op);
		set_column(&ev, X_FUTEX_VAL, o->futex_val);
	}
	wire_decoder_emit(wire, &ev);
	if (o->number)
		whole &= decode_host_wait(wire, o, t->ctx);
	return whole;
}

static bool decode_migrate(struct wire_decoder *wire, const struct wire_migrate *m)
{
	const struct decode_thread *t = wire_decoder_thread(wire, m->tid);
	struct event ev = { .op = OP_SCHED_MIGRATE };

	if (!t || !t->ctx)
		return false;
	wire_decoder_lost(wire, m->lost);
	ev.end_ns = (int64_t)m->time_ns;
	ev.ctx = t->ctx;
	set_column(&ev, 0, m->cpu_out);
	set_column(&ev, 1, m->cpu_in);
	wire_decoder_emit(wire, &ev);
	return true;
}

static bool decode_stolen(struct wire_decoder *wire, const struct wire_stolen *s)
{
	const struct decode_thread *t = wire_decoder_thread(wire, s->tid);
	struct event ev = { .op = OP_SCHED_STOLEN };

	if (!t || !t->ctx)
		return false;
	wire_decoder_lost(wire, s->lost);
	ev.end_ns = (int64_t)s->end_ns;
	ev.dur_ns = s->dur_ns;
	ev.depth = s->depth;
	ev.ctx = t->ctx;
	set_column(&ev, 0, s->cpu);
	wire_decoder_emit(wire, &ev);
	return true;
}

static bool decode_sample(struct wire_decoder *wire, const struct wire_sample *s)
{
	const struct decode_thread *t = wire_decoder_thread(wire, s->tid);
	struct event ev = { .op = OP_CPU_SAMPLE };

	if (!t || !t->ctx)
		return false;
	wire_decoder_lost(wire, s->lost);
	ev.end_ns = (int64_t)s->time_ns;
	ev.depth = s->depth;
	ev.ctx = t->ctx;
	ev.stack = wire_decoder_stack(wire, s->stack);
	if (s->in_kernel == SAMPLE_IN_FAULT)
		ev.stack = world_fault_stack(wire_decoder_world(wire), ev.stack);
	set_column(&ev, 0, s->cpu);
	set_column(&ev, 1, s->in_kernel);
	wire_decoder_emit(wire, &ev);
	return true;
}

static bool decode_allowed(struct wire_decoder *wire, const struct wire_allowed *a)
{
	const struct decode_thread *t = wire_decoder_thread(wire, a->tid);

	if (!t || !t->ctx)
		return false;
	wire_decoder_lost(wire, a->lost);
	wire_decoder_allowed(wire, a, t);
	return true;
}

bool decode_sched_record(struct wire_decoder *wire, const void *p, size_t n)
{
	switch (n ? *(const uint8_t *)p : 0) {
	case WIRE_OFFCPU:
		return n >= sizeof(struct wire_offcpu) && decode_offcpu(wire, p);
	case WIRE_OCCUPIED:
		return n >= sizeof(struct wire_occupied) && decode_occupied(wire, p);
	case WIRE_MIGRATE:
		return n >= sizeof(struct wire_migrate) && decode_migrate(wire, p);
	case WIRE_STOLEN:
		return n >= sizeof(struct wire_stolen) && decode_stolen(wire, p);
	case WIRE_ALLOWED:
		return n >= sizeof(struct wire_allowed) && decode_allowed(wire, p);
	case WIRE_SAMPLE:
		return n >= sizeof(struct wire_sample) && decode_sample(wire, p);
	}
	return false;
}

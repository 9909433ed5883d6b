/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: an event is only handed on when its thread was announced on the same ring before it;
 * what cannot be understood is counted in refused, so that a mismatch of the two sides shows.
 */
#include "lib/decode/wire.h"

#include <string.h>

#include "lib/event/op.h"
#include "lib/decode/kernel_handles.h"
#include "lib/decode/host_wire.h"
#include "lib/decode/sched_wire.h"

/* l or wide, or neither, is the record that c begins. */
static void decode_call(struct wire_decoder *wire, const struct wire_call *c,
			const struct wire_call_long *l, const struct wire_call_wide *wide)
{
	const struct decode_thread *t = wire_decoder_thread(wire, c->tid);
	struct event ev = { 0 };

	if (!t || !t->ctx) {
		wire_decoder_refuse(wire);
		return;
	}
	wire_decoder_lost(wire, c->lost);
	ev.end_ns = (int64_t)c->end_ns;
	ev.dur_ns = c->dur_ns | (uint64_t)(l ? l->dur_high : wide ? wide->dur_high : 0) << 32;
	ev.op = c->op;
	ev.depth = c->depth_present & 15;
	ev.ret = c->ret;
	ev.ctx = t->ctx;
	ev.stack = wire_decoder_call_stack(wire, c->stack, t->tgid);
	ev.present = c->depth_present >> 4;
	ev.x[0] = c->x[0];
	ev.x[1] = c->x[1];
	ev.x[2] = l ? l->x2 : 0;
	if (wide) {
		ev.present = wide->present;
		memcpy(ev.x + 2, wide->more, sizeof(wide->more));
	}
	ev.ctx = wire_decoder_current(wire, t, &ev);
	wire_decoder_count(wire, t->process, c->copy);
	wire_decoder_launched(wire, t, &ev);
	wire_decoder_emit(wire, &ev);
}

static bool decode_kernel(struct wire_decoder *wire, const struct wire_kernel *k, size_t n)
{
	size_t room = n - WIRE_KERNEL_HEAD, length = strnlen(k->name, room);

	if (length == room)
		return false;
	wire_decoder_named(wire, k->tgid, k->handle, (struct bytes){ k->name, length });
	return true;
}

void wire_decoder_record(struct wire_decoder *wire, const void *p, size_t n)
{
	const struct wire_call *call = p;

	switch (n ? call->kind : 0) {
	case WIRE_CALL:
		if (n < sizeof(*call))
			break;
		decode_call(wire, call, NULL, NULL);
		return;
	case WIRE_CALL_LONG:
		if (n < sizeof(struct wire_call_long))
			break;
		decode_call(wire, call, p, NULL);
		return;
	case WIRE_CALL_WIDE:
		if (n < sizeof(struct wire_call_wide))
			break;
		decode_call(wire, call, NULL, p);
		return;
	case WIRE_NVTX:
		if (n >= NVTX_HEAD + NVTX_SHORT &&
		    wire_decoder_nvtx(wire, p,
				      n < sizeof(struct wire_nvtx) ? n : sizeof(struct wire_nvtx)))
			return;
		break;
	case WIRE_KERNEL:
		if (n > WIRE_KERNEL_HEAD && decode_kernel(wire, p, n))
			return;
		break;
	case WIRE_UNREAD:
		if (n < sizeof(struct wire_unread))
			break;
		wire_decoder_unread(wire, p);
		return;
	case WIRE_THREAD:
		if (n < sizeof(struct wire_thread))
			break;
		wire_decoder_announce(wire, p);
		return;
	case WIRE_STACK:
		if (n < WIRE_STACK_HEAD)
			break;
		if (wire_decoder_announce_stack(wire, p, n))
			return;
		break;
	case WIRE_PYTHON:
		if (wire_decoder_announce_python(wire, p, n))
			return;
		break;
	case WIRE_CODE:
	case WIRE_LINES:
		if (wire_decoder_announce_code(wire, p, n))
			return;
		break;
	case WIRE_ASLEEP:
		if (n < sizeof(struct wire_asleep))
			break;
		wire_decoder_asleep(wire, p);
		return;
	case WIRE_OCCUPANT:
		if (n < sizeof(struct wire_thread))
			break;
		wire_decoder_announce_occupant(wire, p);
		return;
	default:
		if (decode_sched_record(wire, p, n) || decode_host_record(wire, p, n))
			return;
	}
	wire_decoder_refuse(wire);
}

/* Names of kernels belong to a program that runs. */
static void names_of(struct wire_decoder *wire, const struct wire_life *l)
{
	struct kernel_handles *h = wire_decoder_handles(wire);

	if (l->kind == WIRE_FORK && l->process)
		kernel_handles_born(h, l->child_tgid, l->who.tgid);
	else if (l->kind == WIRE_NEW)
		kernel_handles_born(h, l->who.tgid, 0);
	else if (l->kind == WIRE_EXEC)
		kernel_handles_executed(h, l->who.tgid);
	else if (l->kind == WIRE_EXIT && l->process)
		kernel_handles_ended(h, l->who.tgid);
}

void wire_decoder_life(struct wire_decoder *wire, const struct wire_life *l)
{
	struct event ev = { .end_ns = (int64_t)l->time_ns };
	struct world *world = wire_decoder_world(wire);
	const struct decode_thread *t = wire_decoder_born(wire, l->who.tid, l->who.start_ns);
	const struct op_def *def;
	struct decode_thread made;

	names_of(wire, l);
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
	case WIRE_OOM:
		if (!decode_host_oom(wire, l))
			wire_decoder_refuse(wire);
		return;
	default:
		return;
	}
	def = op_builtin(ev.op);
	if (l->kind == WIRE_EXIT)
		wire_decoder_over(wire, &l->who);
	if (!t || !t->ctx || l->kind == WIRE_EXEC || wire_decoder_exec(wire, t) != l->who.execs) {
		/* It made no call yet, or none since it is another program. Only for this event:
		 * calls made before the exec may still be waiting in the other ring, which
		 * announces the thread itself. */
		made = wire_decoder_make(wire, &l->who);
		t = &made;
	}
	ev.ctx = t->ctx;
	if (l->kind == WIRE_FORK) {
		uint32_t process = t->process, child;
		uint64_t start_ns = decode_start(l->child_start_ns);

		if (l->process)
			process = world_process(
				world, &(struct world_process){ .node = wire_decoder_node(wire),
								.tgid = l->child_tgid,
								.start_ns = start_ns,
								.parent = l->who.tgid,
								.uid = l->who.uid });
		child = world_thread(
			world, &(struct world_thread){
				       .process = process,
				       .tid = l->child,
				       .start_ns = start_ns,
				       .comm = world_string(world, decode_comm(l->who.comm)) });
		event_set(&ev, def, COL_CHILD, child);
		wire_decoder_emit(wire, &ev);
		return;
	}
	if (l->kind == WIRE_EXIT)
		event_set(&ev, def, COL_STATUS, (uint64_t)(uint32_t)l->status);
	wire_decoder_emit(wire, &ev);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fields are called as the columns are that they stand for. */
#include "lib/event/ongoing_wait.h"

#include <string.h>

const uint16_t asleep_ops[ASLEEP_OPS] = { OP_SCHED_OFFCPU, OP_IO_FILE, OP_NET_SOCKET };

#define ROW(op, name, column)                            \
	{                                                \
		OP_##op, COL_##column, REC_ASLEEP_##name \
	}

static const struct {
	uint16_t op, column, field;
} rows[] = {
	ROW(SCHED_OFFCPU, cpu_out, CPU_OUT),
	ROW(SCHED_OFFCPU, syscall, SYSCALL),
	ROW(SCHED_OFFCPU, object_kind, OBJECT_KIND),
	ROW(SCHED_OFFCPU, object, OBJECT),
	ROW(SCHED_OFFCPU, futex_op, FUTEX_OP),
	ROW(SCHED_OFFCPU, futex_val, FUTEX_VAL),
	ROW(IO_FILE, file, FILE),
	ROW(IO_FILE, syscall, SYSCALL),
	ROW(IO_FILE, write, WRITE),
	ROW(NET_SOCKET, socket, SOCKET),
	ROW(NET_SOCKET, object, FD),
	ROW(NET_SOCKET, syscall, SYSCALL),
	ROW(NET_SOCKET, write, WRITE),
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static void *place_of(struct record *r, const struct record_field *f)
{
	return (char *)&r->u + f->offset;
}

static void put_field(struct record *r, uint16_t number, uint64_t value)
{
	const struct record_field *f = &record_builtin(RECORD_ASLEEP)->fields[number - 1];
	uint32_t narrow = (uint32_t)value;

	memcpy(place_of(r, f), f->type == REC_U64 ? (void *)&value : (void *)&narrow,
	       f->type == REC_U64 ? sizeof(value) : sizeof(narrow));
	r->present |= 1u << (number - 1);
}

static uint64_t get_field(const struct record *r, uint16_t number)
{
	const struct record_field *f = &record_builtin(RECORD_ASLEEP)->fields[number - 1];
	const void *p = (const char *)&r->u + f->offset;
	uint64_t wide;
	uint32_t narrow;

	memcpy(&wide, p, f->type == REC_U64 ? sizeof(wide) : 0);
	memcpy(&narrow, p, sizeof(narrow));
	return f->type == REC_U64 ? wide : narrow;
}

void asleep_add(struct record *r, const struct event *ev, uint32_t thread)
{
	const struct op_def *op = op_builtin(ev->op);
	uint64_t value;

	if (ev->op == OP_SCHED_OFFCPU) {
		r->kind = RECORD_ASLEEP;
		REC_SET(r, ASLEEP, time_ns, ev->end_ns);
		REC_SET(r, ASLEEP, thread, thread);
		REC_SET(r, ASLEEP, since_ns, event_start(ev));
		REC_SET(r, ASLEEP, depth, ev->depth);
		if (ev->stack)
			REC_SET(r, ASLEEP, stack, ev->stack);
	}
	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].op == ev->op && event_get(ev, op, rows[i].column, &value))
			put_field(r, rows[i].field, value);
	}
}

bool asleep_event(const struct record *r, const struct op_def *op, struct event *ev)
{
	const struct rec_ASLEEP *a = &r->u.ASLEEP;

	if (!op || a->since_ns >= a->time_ns || a->depth > UINT16_MAX ||
	    (op->id == OP_IO_FILE && !REC_HAS(r, ASLEEP, file)) ||
	    (op->id == OP_NET_SOCKET && !REC_HAS(r, ASLEEP, socket)))
		return false;
	*ev = (struct event){ .end_ns = a->time_ns,
			      .dur_ns = (uint64_t)a->time_ns - (uint64_t)a->since_ns,
			      .op = op->id,
			      .depth = (uint16_t)a->depth,
			      .stack = a->stack };
	event_set(ev, op, COL_WAIT_NS, 0); /* it waits for no CPU */
	for (size_t i = 0; i < NROWS; i++) {
		if (rows[i].op == op->id && record_has(r, rows[i].field))
			event_set(ev, op, rows[i].column, get_field(r, rows[i].field));
	}
	return true;
}

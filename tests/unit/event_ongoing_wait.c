/* SPDX-License-Identifier: Apache-2.0 */
/* A wait that goes on is its record, and comes back from it with every column that it had. */
#include <string.h>

#include "lib/event/ongoing_wait.h"
#include "tests/tap.h"

static struct event event_of(uint16_t op, const uint16_t *cols, const uint64_t *values, unsigned n)
{
	struct event ev = {
		.op = op, .end_ns = 9000, .dur_ns = 8000, .depth = 1, .ctx = 4, .stack = 5
	};

	for (unsigned i = 0; i < n; i++)
		event_set(&ev, op_builtin(op), cols[i], values[i]);
	return ev;
}

static void comes_back(const char *what, const struct event *told, unsigned n)
{
	struct record r = { 0 };
	struct event back;

	for (unsigned i = 0; i < n; i++)
		asleep_add(&r, &told[i], 77);
	ok(r.kind == RECORD_ASLEEP && r.u.ASLEEP.thread == 77, "%s: a record of the thread", what);
	for (unsigned i = 0; i < ASLEEP_OPS; i++) {
		const struct event *was = NULL;

		for (unsigned k = 0; k < n; k++)
			was = told[k].op == asleep_ops[i] ? &told[k] : was;
		ok(asleep_event(&r, op_builtin(asleep_ops[i]), &back) == !!was,
		   "%s: %s is there, or not, as it was", what, op_builtin(asleep_ops[i])->name);
		if (!was)
			continue;
		back.ctx = was->ctx;
		ok(memcmp(&back, was, sizeof(back)) == 0, "%s: %s is as it was", what,
		   op_builtin(asleep_ops[i])->name);
	}
}

static void senseless(void)
{
	struct record r = { .kind = RECORD_ASLEEP };
	struct event ev;

	REC_SET(&r, ASLEEP, time_ns, 5);
	REC_SET(&r, ASLEEP, since_ns, 5);
	ok(!asleep_event(&r, op_builtin(OP_SCHED_OFFCPU), &ev), "no wait is of no time");
	REC_SET(&r, ASLEEP, since_ns, 4);
	ok(asleep_event(&r, op_builtin(OP_SCHED_OFFCPU), &ev), "of any time it is");
	REC_SET(&r, ASLEEP, depth, 70000);
	ok(!asleep_event(&r, op_builtin(OP_SCHED_OFFCPU), &ev), "calls are not that deep");
	ok(!asleep_event(&r, NULL, &ev), "an op that is not known");
}

int main(void)
{
	const uint16_t off[] = { COL_WAIT_NS, COL_SYSCALL,  COL_OBJECT_KIND, COL_OBJECT,
				 COL_CPU_OUT, COL_FUTEX_OP, COL_FUTEX_VAL },
		       file[] = { COL_FILE, COL_SYSCALL, COL_WRITE },
		       sock[] = { COL_SOCKET, COL_FD, COL_SYSCALL, COL_WRITE };
	const uint64_t futex[] = { 0, 202, OBJECT_FUTEX, 0x7fff12345678, 3, 9, 2 },
		       fd[] = { 0, 0, OBJECT_FD, 12, 3 }, read[] = { 0xfedcba9876543210, 0, 0 },
		       recv[] = { 0x123456789abcdef0, 12, 0, 1 };
	struct event on_futex = event_of(OP_SCHED_OFFCPU, off, futex, 7),
		     in_fault = event_of(OP_SCHED_OFFCPU, (uint16_t[]){ COL_WAIT_NS, COL_CPU_OUT },
					 (uint64_t[]){ 0, 0 }, 2),
		     on_file[] = { event_of(OP_SCHED_OFFCPU, off, fd, 5),
				   event_of(OP_IO_FILE, file, read, 3) },
		     on_socket[] = { event_of(OP_SCHED_OFFCPU, off, fd, 5),
				     event_of(OP_NET_SOCKET, sock, recv, 4) };

	comes_back("a futex", &on_futex, 1);
	comes_back("what is not known", &in_fault, 1);
	comes_back("a file", on_file, 2);
	comes_back("a socket", on_socket, 2);
	senseless();
	return tap_done();
}

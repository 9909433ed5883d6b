/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is told as having ended a wait: the thread that woke, or the one that a soft interrupt came
 * on top of, where that may have sent what the wait was for.
 */
#include "lib/decode/wire.h"
#include "tests/tap.h"

static uint64_t waker, kind;

static void on_event(void *ctx, const struct event *ev)
{
	const struct op_def *def = op_builtin(ev->op);

	(void)ctx;
	waker = event_get_or(ev, def, COL_WAKER, 0);
	kind = event_get_or(ev, def, COL_WAKER_KIND, WAKER_NONE);
}

static void announce(struct wire_decoder *wire, unsigned record, uint32_t tid)
{
	struct wire_thread t = { .kind = (uint8_t)record,
				 .tid = tid,
				 .tgid = tid,
				 .parent = 1,
				 .start_ns = 5000000000,
				 .tgid_start_ns = 5000000000,
				 .comm = "one" };

	wire_decoder_record(wire, &t, sizeof(t));
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned kind, object;
		uint32_t tid, told;
	} cases[] = {
		{ "a task", WAKER_TASK, OBJECT_FUTEX, 8, 8 },
		{ "who may have sent to a socket", WAKER_SOFTIRQ, OBJECT_SOCKET, 8, 8 },
		{ "or to one of several", WAKER_SOFTIRQ, OBJECT_POLL, 8, 8 },
		{ "a soft interrupt on top of nobody who sends", WAKER_SOFTIRQ, OBJECT_SOCKET, 0,
		  0 },
		{ "of a disk", WAKER_SOFTIRQ, OBJECT_DISK, 8, 0 },
		{ "of a pipe", WAKER_SOFTIRQ, OBJECT_FD, 8, 0 },
		{ "who was not announced", WAKER_SOFTIRQ, OBJECT_SOCKET, 9, 0 },
		{ "a hard interrupt", WAKER_HARDIRQ, OBJECT_SOCKET, 8, 0 },
		{ "a timer", WAKER_TIMER, OBJECT_POLL, 8, 0 },
	};
	struct wire_decoder_owner owner = { .event = on_event };
	struct world *w = world_new();
	struct wire_decoder *wire = NULL;
	struct err e;

	if (!w || wire_decoder_new(&wire, w, 1, &owner, &e) != 0)
		abort();
	announce(wire, WIRE_THREAD, 7);
	announce(wire, WIRE_OCCUPANT, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const __typeof__(cases[0]) *k = &cases[i];
		const struct world_thread *t;
		struct wire_offcpu o = { .kind = WIRE_OFFCPU,
					 .object_kind = (uint8_t)k->object,
					 .waker_kind = (uint8_t)k->kind,
					 .waker = k->tid,
					 .tid = 7,
					 .end_ns = 9000,
					 .dur_ns = 800,
					 .syscall = -1 };

		wire_decoder_record(wire, &o, sizeof(o));
		t = world_get_thread(w, (uint32_t)waker);
		is_u64(t ? t->tid : 0, k->told, "%s", k->name);
		is_u64(kind, k->kind, "and what woke it");
	}
	wire_decoder_free(wire);
	world_free(w);
	return tap_done();
}

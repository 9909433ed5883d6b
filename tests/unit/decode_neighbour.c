/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that is no target is called: as the kernel does, but an interpreter by what it
 * runs.
 */
#include "lib/decode/sched_wire.h"

#include <stdio.h>
#include <string.h>

#include "lib/decode/wire.h"
#include "tests/tap.h"

static struct world *w;
static char name[64];

static void on_event(void *ctx, const struct event *ev)
{
	const struct world_thread *t;
	uint64_t occupant;

	(void)ctx;
	if (!event_get(ev, op_builtin(ev->op), COL_OCCUPANT, &occupant))
		return;
	t = world_get_thread(w, (uint32_t)occupant);
	snprintf(name, sizeof(name), "%s", t ? world_text(w, t->comm).p : "");
}

static uint32_t on_program(void *ctx, uint32_t tgid, uint32_t comm)
{
	(void)ctx;
	return tgid == 9 && bytes_equal(world_text(w, comm), bytes_of("python"))
		       ? world_string(w, bytes_of("python backup.py"))
		       : comm;
}

/* Who is said to have had a CPU. */
static const char *occupant(struct wire_decoder *wire, uint32_t tgid, uint32_t tid,
			    const char *comm)
{
	struct wire_thread t = { .kind = WIRE_OCCUPANT,
				 .tid = tid,
				 .tgid = tgid,
				 .parent = 1,
				 .start_ns = 5000000000,
				 .tgid_start_ns = 5000000000 };
	struct wire_occupied o = {
		.kind = WIRE_OCCUPIED, .cpu = 1, .tid = tid, .end_ns = 100, .dur_ns = 40
	};

	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	name[0] = '\0';
	wire_decoder_record(wire, &t, sizeof(t));
	wire_decoder_record(wire, &o, sizeof(o));
	return name;
}

int main(void)
{
	struct wire_decoder_owner owner = { .event = on_event, .program = on_program };
	struct wire_decoder *wire = NULL;
	struct err e;

	w = world_new();
	if (!w || wire_decoder_new(&wire, w, 1, &owner, &e))
		return 1;
	is_str(occupant(wire, 9, 9, "sh"), "sh", "a program");
	is_str(occupant(wire, 9, 9, "python"), "python backup.py", "what an interpreter runs");
	is_str(occupant(wire, 9, 9, "sleep"), "sleep", "another program that it executed");
	is_str(occupant(wire, 9, 10, "python"), "python", "a thread is called by its own name");
	wire_decoder_free(wire);
	world_free(w);
	return tap_done();
}

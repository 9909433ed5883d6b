/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priorities of threads, from ring records to PRIORITY records: once in each file of a recording,
 * before the first event that a priority counts for, and again where a thread is announced anew.
 */
#include "lib/decode/sched_wire.h"

#include <stdio.h>
#include <string.h>

#include "lib/decode/wire.h"
#include "tests/tap.h"

static struct record last;
static unsigned nsaid, nevents, said_before;

static void on_event(void *ctx, const struct event *ev)
{
	(void)ctx;
	(void)ev;
	if (nevents++ == 0)
		said_before = nsaid;
}

static void on_record(void *ctx, struct record *r)
{
	(void)ctx;
	if (r->kind != RECORD_PRIORITY)
		return;
	nsaid++;
	last = *r;
}

static void announce(struct wire_decoder *wire, struct wire_thread t, const char *comm)
{
	t.tgid = t.tid;
	t.start_ns = t.tgid_start_ns = 5000000000;
	snprintf(t.comm, sizeof(t.comm), "%s", comm);
	wire_decoder_record(wire, &t, sizeof(t));
}

/* A thread waits for a CPU that another one has. How many records are said. */
static unsigned wait_behind(struct wire_decoder *wire, uint32_t occupant)
{
	struct wire_offcpu o = { .kind = WIRE_OFFCPU,
				 .tid = 7,
				 .end_ns = 9000,
				 .dur_ns = 800,
				 .wait_ns = 800,
				 .occupied_ns = 800,
				 .own_ns = 0,
				 .occupant = occupant,
				 .syscall = -1 };

	nsaid = 0;
	wire_decoder_record(wire, &o, sizeof(o));
	return nsaid;
}

int main(void)
{
	struct wire_decoder_owner owner = { .event = on_event, .record = on_record };
	struct world *w = world_new();
	struct wire_decoder *wire = NULL;
	struct err e;

	if (!w || wire_decoder_new(&wire, w, 1, &owner, &e))
		return 1;
	announce(wire,
		 (struct wire_thread){
			 .kind = WIRE_THREAD, .tid = 7, .policy = 1, .cpu_cgroup = 42 },
		 "work");
	announce(wire,
		 (struct wire_thread){ .kind = WIRE_OCCUPANT,
				       .tid = 9,
				       .nice = -5,
				       .autogroup = 31,
				       .autogroup_nice = 19 },
		 "sh");
	is_u64(nsaid, 0, "who was only announced has no record");
	is_u64(wait_behind(wire, 9), 2, "who waits, and who has the CPU");
	is_u64(said_before, 2, "before the first event");
	ok(last.u.PRIORITY.nice == -5 && last.u.PRIORITY.policy == 0 &&
		   last.u.PRIORITY.autogroup == 31 && last.u.PRIORITY.autogroup_nice == 19,
	   "nice, policy and autogroup");
	ok(!REC_HAS(&last, PRIORITY, cgroup), "instead of a cgroup");
	is_u64(wait_behind(wire, 9), 0, "and not again");
	announce(wire,
		 (struct wire_thread){
			 .kind = WIRE_OCCUPANT, .tid = 9, .nice = 19, .autogroup = 31 },
		 "backup");
	is_u64(wait_behind(wire, 9), 1, "but where it executes another program");
	is_int((int)last.u.PRIORITY.nice, 19, "with that one's nice");
	wire_decoder_again(wire, 10000);
	is_u64(wait_behind(wire, 0), 1, "and in the next file");
	ok(last.u.PRIORITY.cgroup == 42 && last.u.PRIORITY.policy == 1 &&
		   !REC_HAS(&last, PRIORITY, autogroup),
	   "a thread of a cgroup");
	announce(wire, (struct wire_thread){ .kind = WIRE_OCCUPANT, .tid = 8 }, "other");
	is_u64(wait_behind(wire, 8), 0, "what is not known is not said");
	wire_decoder_free(wire);
	world_free(w);
	return tap_done();
}

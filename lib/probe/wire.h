/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring bytes to events. The decoder keeps who each thread is and what each stack number means, turns every
 * finished call into a struct event in world ids, and asks its owner only once per distinct process or
 * stack. Needs neither BPF nor root: captured bytes decode the same way anywhere.
 */
#ifndef INGERO_PROBE_WIRE_H
#define INGERO_PROBE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/world/world.h"

/* /proc shows start times in clock ticks; so that a process seen there and one announced by the kernel are the
 * same one, all start times are cut to them. */
#define PROBE_TICK_NS 10000000ull
static inline uint64_t probe_start(uint64_t boot_ns)
{
	return boot_ns - boot_ns % PROBE_TICK_NS;
}

struct probe_thread {
	uint32_t tid, tgid;
	uint32_t process, thread, ctx; /* world ids */
};

/* What a process executes: strings of the world, 0 unknown. */
struct probe_exe {
	uint32_t exe, cmdline, comm, cgroup_path;
};

struct probe_wire;

/* What the decoder asks of its owner. All but event may be NULL. */
struct probe_wire_owner {
	void *ctx;
	void (*event)(void *ctx, const struct event *ev);
	void (*lost)(void *ctx,
		     uint64_t n); /* that many were lost between the last event and the next */
	/* What tgid executes after that many execs; called once for each. */
	void (*exe)(void *ctx, uint32_t tgid, uint32_t execs, struct probe_exe *out);
	/* The world stack of these addresses, 0 for none; called once per distinct stack. */
	uint32_t (*stack)(void *ctx, uint32_t tgid, const uint64_t *ip, unsigned n);
	/* A process of the targets was heard of for the first time (or after an exec). */
	void (*process)(void *ctx, const struct wire_thread *w, uint32_t process);
};

int probe_wire_new(struct probe_wire **out, struct world *w, uint32_t node,
		   const struct probe_wire_owner *owner, struct err *e);
void probe_wire_free(struct probe_wire *wire);

/* One record of the event ring, or of the life ring. Unknown kinds and short records are counted, not trusted. */
void probe_wire_record(struct probe_wire *wire, const void *p, size_t n);
void probe_wire_life(struct probe_wire *wire, const struct wire_life *l);

uint64_t probe_wire_refused(const struct probe_wire *wire);

/* NULL: never announced. Valid until the next record. */
const struct probe_thread *probe_wire_thread(const struct probe_wire *wire, uint32_t tid);
uint32_t probe_wire_stack(const struct probe_wire *wire, uint32_t number); /* world id, 0 unknown */
uint64_t probe_wire_delivered(const struct probe_wire *wire, uint32_t tgid, uint8_t source);

/* For the decoders of other records (sched): hand an event on; the thread's ctx for events of its own. */
struct world *probe_wire_world(const struct probe_wire *wire);
uint32_t probe_wire_node(const struct probe_wire *wire);
void probe_wire_emit(struct probe_wire *wire, const struct event *ev, uint32_t tgid);
void probe_wire_lost(struct probe_wire *wire,
		     uint32_t lost); /* a record's running count of losses, before its event */

#endif

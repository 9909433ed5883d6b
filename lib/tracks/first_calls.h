/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slow calls are the first of their kind: the first that a process makes of an op, or of a
 * launch of a kernel. What a library loads or compiles lazily, the first call pays for.
 */
#ifndef INGERO_TRACKS_FIRST_CALLS_H
#define INGERO_TRACKS_FIRST_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/gpustate/launched_names.h"
#include "lib/world/world.h"

#define FIRST_CALLS_SLOW_NS 10000000 /* shorter ones are not kept */
#define FIRST_CALLS_MAX	    4096     /* kept; the oldest: what is loaded lazily is loaded early */
#define FIRST_CALLS_RECENT  8192     /* kinds that are known without a lookup: 2 to the 13th */

struct slow_first {
	uint32_t thread, process;
	int64_t start_ns, end_ns;
	uint16_t op;
	bool launch; /* of its kernel: func; else of its op */
	uint64_t func;
};

/* Zero-initialised but for w is empty. */
struct first_calls {
	const struct world *w;
	VEC(uint8_t) ops; /* by op: enum first_op, or the place of the column with the kernel */
	struct map seen;  /* hash of process, op and kernel */
	uint64_t recent[FIRST_CALLS_RECENT];
	VEC(struct slow_first) v;
	struct launched_names names;
};

enum first_op {
	FIRST_OP_UNKNOWN, /* not looked at yet */
	FIRST_OP_OTHER,	  /* no call */
	FIRST_OP_CALL,
	FIRST_OP_LAUNCH /* with its kernel in the first extra column, and so on */
};

/* Of a kind that was not met a moment ago. False: out of memory. */
bool first_calls_look(struct first_calls *f, const struct event *ev, uint64_t func);
/* What kind of op it is; FIRST_OP_UNKNOWN: out of memory. */
uint8_t first_calls_op(struct first_calls *f, uint16_t op);

/* The next event in stream order. False: out of memory. */
static inline bool first_calls_event(struct first_calls *f, const struct event *ev)
{
	uint8_t op = ev->op < f->ops.n ? f->ops.v[ev->op] : FIRST_OP_UNKNOWN;
	uint64_t func, kind;

	if (op == FIRST_OP_UNKNOWN)
		op = first_calls_op(f, ev->op);
	if (op <= FIRST_OP_OTHER || ev->depth)
		return op != FIRST_OP_UNKNOWN;
	func = op >= FIRST_OP_LAUNCH ? ev->x[op - FIRST_OP_LAUNCH] : 0;
	kind = (func ^ (uint64_t)ev->ctx << 40 ^ (uint64_t)ev->op << 24) * 0x9e3779b97f4a7c15u;
	if (f->recent[kind >> 51] == kind)
		return true;
	f->recent[kind >> 51] = kind;
	return first_calls_look(f, ev, func);
}
/* A KERNEL record. False: out of memory. */
bool first_calls_record(struct first_calls *f, const struct record *r);
void first_calls_free(struct first_calls *f);

/* The call of this op and thread around that time; NULL: it is not the first, or is short. */
const struct slow_first *first_calls_find(const struct first_calls *f, uint32_t thread, uint16_t op,
					  int64_t at_ns);

/* "the first recorded launch of kernel matmul", "the first recorded call". */
void slow_first_print(struct buf *out, const struct first_calls *f, const struct slow_first *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to "by what?": one row per process, call site, size … of what was counted. Every event
 * is in one row, those of what has none, is not known or did not fit included: sums over rows are
 * the sums of ops.
 */
#ifndef INGERO_EVENT_GROUPS_H
#define INGERO_EVENT_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/paused.h"

/* Names as on the command line. */
#define BY_KEYS(X)                \
	X(OP, "op")               \
	X(PID, "pid")             \
	X(THREAD, "thread")       \
	X(STACK, "stack")         \
	X(LINE, "line")           \
	X(KERNEL, "kernel")       \
	X(SIZE, "size")           \
	X(DIRECTION, "direction") \
	X(STREAM, "stream")       \
	X(DEVICE, "device")       \
	X(CGROUP, "cgroup")       \
	X(POD, "pod")             \
	X(CONTAINER, "container") \
	X(NODE, "node")           \
	X(RANK, "rank")           \
	X(STEP, "step")

enum by_key {
#define BY_ENUM(id, name) BY_##id,
	BY_KEYS(BY_ENUM)
#undef BY_ENUM
};

/* So many keys have rows; events of others are counted in one row. A key takes some 3 KiB, by the
 * spread of its durations. */
#define BY_KEYS_MAX 16384

enum by_kind {
	BY_KNOWN,
	BY_NONE,    /* events that have none: calls that launch no kernel */
	BY_UNKNOWN, /* events of which the recording does not say it */
	BY_OTHER,   /* beyond BY_KEYS_MAX */
};

struct by_row {
	enum by_kind kind;
	uint32_t key, name, node; /* world strings; name, node: 0 none. key: 0 unless BY_KNOWN */
	uint64_t order;		  /* of keys that are numbers; 0 of all others */
	uint64_t count, errors;
	uint64_t timed;			 /* of count: have a duration */
	uint64_t p50_ns, p95_ns, p99_ns; /* of those, nearest rank, within 0.4 % */
	uint64_t max_ns, total_ns;
	uint64_t self_ns, lost_ns; /* as of an op: event/ops.h */
	uint64_t calls_self_ns;	   /* own time of calls */
	uint64_t calls;	     /* BY_STEP: those counted in it; count and times are of its steps */
	struct estimate all; /* with the calls that were made while no probes were attached */
};

struct by_table {
	enum by_key key;
	VEC(struct by_row)
	rows; /* in the order of numbers, else by total, most first; none, unknown, other last */
};

/* "line" */
const char *by_key_name(enum by_key key);
/* "known", "none", "unknown", "other"; all of them, ended by NULL. */
extern const char *const by_kinds[];
const char *by_kind_name(enum by_kind kind);
/* False: no such key. */
bool by_key_find(const char *name, enum by_key *key);

#endif

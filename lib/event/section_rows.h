/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording holds beside its operations, section by section: what ask/ finds out and emit/
 * writes down. Plain values; the code that fills in the arrays owns them. Ids are those of the
 * world the events came with; 0 is unknown.
 */
#ifndef INGERO_EVENT_SECTION_ROWS_H
#define INGERO_EVENT_SECTION_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/op.h"
#include "lib/event/part.h"

struct series;

/* In the order in which they are shown. Names as on the command line. */
#define VIEW_SECTIONS(X)          \
	X(PROCESSES, "processes") \
	X(SYSTEM, "system")       \
	X(TIME, "time")           \
	X(RUNTIME, "runtime")     \
	X(DRIVER, "driver")       \
	X(GRAPHS, "graphs")       \
	X(NCCL, "nccl")           \
	X(MARKS, "marks")         \
	X(HOST, "host")           \
	X(KERNELS, "kernels")     \
	X(IO, "io")               \
	X(NET, "net")             \
	X(GPU, "gpu")             \
	X(MEMORY, "memory")       \
	X(RATES, "rates")         \
	X(LATENCY, "latency")     \
	X(ERRORS, "errors")       \
	X(CAUSES, "causes")

enum view_section {
#define VIEW_ENUM(id, name) VIEW_##id,
	VIEW_SECTIONS(VIEW_ENUM)
#undef VIEW_ENUM
		VIEW_COUNT
};
#define VIEW_BIT(id) (1u << VIEW_##id)
#define VIEW_ALL     ((1u << VIEW_COUNT) - 1)

/* One metric of one subject. */
enum view_scope { VIEW_NODE, VIEW_GPU_WHOLE, VIEW_GPU_PROCESS, VIEW_DEVICE };

struct view_metric {
	enum view_scope scope;
	uint16_t metric;  /* enum metric_id */
	uint32_t node;	  /* world id, 0: the only one */
	uint64_t subject; /* GPU: world id; DEVICE: its number */
	uint32_t process; /* world id, of GPU_PROCESS */
	uint64_t n;	  /* samples */
	double first, last, sum, max;
	/* A counter: what it grew, in how much time; nothing from a sample to a lower one, between
	 * which it began anew. */
	double grew;
	int64_t grew_ns;
	int64_t first_ns, last_ns;
	const struct series
		*series; /* stat/series.h; gauges: the value; counters: growth per second */
};

/* How long a GPU was held down for a reason: NVML's bits. */
#define VIEW_LIMITS 9
struct view_gpu {
	uint32_t gpu;
	uint64_t known_ns;		/* for so long it is known */
	uint64_t limit_ns[VIEW_LIMITS]; /* by bit */
	uint64_t xids;
};
struct view_xid {
	uint32_t gpu, process;
	uint32_t number;
	int64_t time_ns;
};

/* Requests of one kind to one block device. */
struct view_disk {
	uint32_t node;
	uint64_t device;
	unsigned way; /* 0 read 1 write 2 flush 3 discard */
	uint64_t count, bytes, p50_ns, p99_ns, max_ns;
	uint64_t queued, queue_ns,
		device_ns;	/* queued: of so many it is known when the device got them */
	uint32_t origin, mount; /* strings: what is known of it by the files met */
};
/* Calls that waited for one file. */
struct view_file {
	uint32_t path, fstype, mount, origin; /* strings */
	uint64_t count, ns, max_ns;
};
struct view_socket {
	uint32_t protocol, local, remote;
	/* Who has the other end: pid 0 not known of all connections, or several; then comm says of
	 * which command all are, or 0. */
	uint32_t peer_pid, peer_comm;
	uint64_t count, ns, max_ns; /* calls that waited for it */
	uint64_t retransmits, segments;
};

/* What an operation of the host was about. */
enum view_about {
	VIEW_ABOUT_TASK,    /* who had the CPU, or held the lock */
	VIEW_ABOUT_SYSCALL, /* in which the thread slept */
	VIEW_ABOUT_FILE,
	VIEW_ABOUT_DEVICE,
	VIEW_ABOUT_SOCKET,
	VIEW_ABOUT_STATE, /* waiting for a CPU, and nobody can be named */
	VIEW_ABOUT_OTHER, /* all that is too little for a row of its own */
};
struct view_detail {
	const struct op_def *op;
	enum view_about about;
	uint32_t text;	/* string */
	enum part part; /* of off-CPU time that was taken; else PART_COUNT */
	uint64_t count, ns;
};

/* Executable graphs by the call site that made them. */
struct view_graph {
	uint32_t process, site; /* site: string, 0 no stack */
	const struct op_def *op;
	uint64_t created, again, launches, alive, most_alive;
};
struct view_comm {
	uint32_t process;
	uint64_t handle;
	bool has_rank;
	uint32_t rank, ranks;
	uint64_t calls, bytes, ns, max_ns, errors, async_errors;
};

struct view_site {
	uint32_t text; /* string, 0 no stack */
	const struct op_def *op;
	uint64_t bytes, n, at_peak_bytes, allocations;
};
#define VIEW_SITES  5
#define VIEW_POINTS 64
struct view_memory {
	uint32_t process;
	uint64_t live_bytes, managed_bytes, pinned_bytes, n, peak_bytes;
	int64_t peak_ns;
	uint64_t allocations, frees, failed, unknown_frees, beyond;
	bool ended;
	unsigned nsites;
	struct view_site sites[VIEW_SITES]; /* most held when it held most first */
	/* Of equal spans, the most that was held in each. */
	unsigned npoints;
	int64_t span_ns;
	double points[VIEW_POINTS];
};

/* Where the time of a process's calling threads went. Parts sum to ns. */
struct view_time {
	uint32_t process;
	uint64_t threads, ns;
	uint64_t in_calls[PART_COUNT], outside[PART_COUNT]; /* in_calls: inner calls folded */
};

struct view_rate {
	uint8_t source;
	const struct series *series; /* events by their end */
};

/* How long an operation took, by when it ended, in equal spans. */
#define VIEW_COURSE 64
struct view_course_point {
	uint64_t n, p50_ns, p99_ns, max_ns; /* quantiles within 3 % */
};
struct view_course {
	const struct op_def *op;
	int64_t from_ns, span_ns;
	unsigned n;
	struct view_course_point v[VIEW_COURSE];
};
/* In which states the threads were that make calls, since the first of each, all together. */
struct view_states {
	int64_t from_ns, span_ns;
	unsigned n;
	uint64_t part_ns[VIEW_COURSE][PART_COUNT];
};

struct view {
	unsigned sections;		 /* asked for, of VIEW_BIT */
	VEC(struct view_metric) metrics; /* by scope, subject, metric */
	VEC(struct view_gpu) gpus;
	VEC(struct view_xid) xids;
	VEC(struct view_disk) disks;
	VEC(struct view_file) files;	 /* most waited for first */
	VEC(struct view_socket) sockets; /* the same */
	VEC(struct view_detail) details; /* by op, most time first */
	VEC(struct view_graph) graphs;
	VEC(struct view_comm) comms;
	VEC(struct view_memory) memory;
	VEC(struct view_time) times;
	VEC(struct view_rate) rates;
	VEC(struct view_course) courses; /* of section latency */
	struct view_states states;	 /* of section time */
	/* With times: what the host took from threads, when, in nanoseconds; NULL: none. */
	const struct series *lost[PART_COUNT];
	bool off_cpu; /* it was asked to record where threads wait */
};

/* Whether the name is of a section. */
bool view_section_find(const char *name, enum view_section *out);
const char *view_section_name(enum view_section s);

/* What a bit of NVML's clocks event reasons says; NULL: there is none. And whether it holds the GPU
 * down (rather than that it is idle, or that somebody asked for it). */
const char *view_limit_text(unsigned bit);
bool view_limit_bad(unsigned bit);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sections of a recording are made of (sections.c): each adds up what it needs as events
 * come, and fills its rows of the view in the end.
 */
#ifndef INGERO_QUERY_SECTIONS_INTERNAL_H
#define INGERO_QUERY_SECTIONS_INTERNAL_H

#include <stdbool.h>

#include "lib/attrib/culprit.h"
#include "lib/attrib/line.h"
#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/event/syscall.h"
#include "lib/gpustate/allocations.h"
#include "lib/gpustate/graphs.h"
#include "lib/stat/sketch.h"
#include "lib/world/late_names.h"

/*
 * NCCL communicators: who is which rank of how many, and what went through each. A communicator is
 * known by its handle in its process. Bytes are those of the calls' own arguments. Memory is
 * bounded by COMMS_MAX of them; what is beyond is not reported.
 */

/* Zero-initialised is empty. */
struct query_comms {
	VEC(struct view_comm) v;
	struct map by; /* hash of process and handle -> index */
};

/* An event of NCCL; others are ignored. False: out of memory. */
bool query_comms_event(struct query_comms *c, const struct event *ev, const struct op_def *op,
		       uint32_t process);
/* comms of the view, emptied before. False: out of memory. */
bool query_comms_rows(const struct query_comms *c, struct view *v);
void query_comms_free(struct query_comms *c);

/*
 * What was sampled of nodes, GPUs and block devices: figures and their course over time, for how
 * long a GPU was held down and why, and the errors it had. Samples of a process, a cgroup or one
 * CPU are passed over. Memory is bounded by SAMPLES_MAX metrics of subjects and XIDS_MAX errors;
 * what is beyond is not reported.
 */

struct query_samples;

struct query_samples *query_samples_new(void); /* NULL: out of memory */
void query_samples_free(struct query_samples *s);

/* A SAMPLE record. False: out of memory. */
bool query_samples_record(struct query_samples *s, const struct record *rec);

/* metrics, gpus and xids of the view, emptied before; borrowed series. False: out of memory. */
bool query_samples_rows(const struct query_samples *s, struct view *v);

/*
 * Requests to block devices, in the queue and at the device, and which files calls waited for.
 * Memory is bounded by DISKS_MAX kinds of requests and DISK_FILES_MAX files; what is beyond is not
 * reported.
 */

struct query_disk {
	struct view_disk row;
	struct sketch durations;
};
struct query_disk_file {
	uint64_t id, count, ns, max_ns;
};

/* Zero-initialised is empty. */
struct query_disks {
	VEC(struct query_disk) disks;
	VEC(struct query_disk_file) files;
	struct map file_by; /* id -> index */
};

/* Looks at block requests and waits for files. False: out of memory. */
bool query_disks_event(struct query_disks *d, const struct world *w, const struct event *ev,
		       const struct op_def *op);
/* disks and files of the view, emptied before. False: out of memory. */
bool query_disks_rows(const struct query_disks *d, const struct world *w,
		      const struct late_names *late_names, struct view *v);
void query_disks_free(struct query_disks *d);

/*
 * What the operations of the host were about: who had the CPU or held the lock while a thread
 * waited, in which system call it slept, which file, device or socket it was. Every off-CPU
 * interval is split among those who took of it and the call it slept in, so that the times sum up
 * to the operation's total. Memory is bounded by DETAILS_MAX of them; what is beyond is not
 * reported.
 */

struct query_detail {
	struct view_detail row;
	uint64_t id, more; /* as about says */
	uint32_t thread;   /* of a task: the first one met */
};

/* Zero-initialised is empty. */
struct query_details {
	VEC(struct query_detail) v;
	struct map by;
	enum syscall_arch arch;
};

/* An event of the host; of off-CPU intervals only those that line/ did not take, as too late.
 * False, as all here: out of memory. */
bool query_details_event(struct query_details *d, const struct world *w, const struct event *ev,
			 const struct op_def *op);
/* An off-CPU interval and its parts. */
bool query_details_offcpu(struct query_details *d, const struct line_piece *p);
void query_details_record(struct query_details *d, const struct record *rec);

/* details of the view, emptied before. culprits: of the analysis that made the spans. */
bool query_details_rows(const struct query_details *d, struct world *w,
			const struct late_names *late_names, const struct culprits *culprits,
			struct view *v);
void query_details_free(struct query_details *d);

/*
 * GPU memory by the call sites that allocated it, and executable graphs by those that created them.
 * The accounting is done by gpustate/allocations.h and gpustate/graphs.h, which bound the memory.
 */

/* Zero-initialised is empty. */
struct query_gpu_objects {
	struct live *live;
	struct graphs *graphs;
};

/* memory, graphs: what is wanted. False, as all here: out of memory. */
bool query_gpu_objects_start(struct query_gpu_objects *l, const struct world *w, bool memory,
			     bool graphs);
bool query_gpu_objects_event(struct query_gpu_objects *l, const struct event *ev,
			     const struct op_def *op);
/* Everything that ended before this is accounted for; INT64_MAX: everything. */
bool query_gpu_objects_advance(struct query_gpu_objects *l, int64_t before_ns);
/* memory and graphs of the view, emptied before: those of processes that `wanted` says yes to. */
bool query_gpu_objects_rows(const struct query_gpu_objects *l, struct world *w,
			    bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
			    struct view *v);
void query_gpu_objects_free(struct query_gpu_objects *l);

/*
 * When the host took time from threads: the off-CPU intervals and stolen stretches of line/, by
 * state, spread over the time they lasted. Sums are those of the pieces to the nanosecond. Memory
 * is that of one series a state.
 */

/* Zero-initialised is empty. */
struct query_loss_series {
	struct series *lost[PART_COUNT]; /* NULL: none of it */
};

/* False: out of memory. */
bool query_loss_series_piece(struct query_loss_series *c, const struct line_piece *p);
void query_loss_series_rows(const struct query_loss_series *c,
			    struct view *v); /* borrowed from c */
void query_loss_series_free(struct query_loss_series *c);

/*
 * Calls that waited for sockets, and TCP segments that had to be sent again, by where a socket
 * leads: sockets to the same remote end (without one, from the same local end) are one row. Memory
 * is bounded by SOCKETS_MAX sockets; what is beyond is counted together, as a socket of which
 * nothing is known.
 */

struct query_socket {
	uint64_t id;
	struct view_socket row;
};

/* Zero-initialised is empty. */
struct query_sockets {
	VEC(struct query_socket) v;
	struct map by; /* id -> index */
};

/* Looks at waits for sockets and at retransmits. False: out of memory. */
bool query_sockets_event(struct query_sockets *s, const struct event *ev, const struct op_def *op);
/* sockets of the view, emptied before. False: out of memory. */
bool query_sockets_rows(const struct query_sockets *s, const struct late_names *late_names,
			struct view *v);
void query_sockets_free(struct query_sockets *s);

/*
 * Where the time of threads went that make calls: in calls, those inside others folded, and outside
 * them, by state (event/part.h). Told of the outermost pieces of line/, which tile a thread's time.
 * Memory is bounded by threads.
 */

struct query_thread_time_entry {
	uint32_t process;
	bool calls;
	uint64_t in_calls[PART_COUNT], outside[PART_COUNT];
};

/* Zero-initialised is empty. */
struct query_thread_time {
	VEC(struct query_thread_time_entry *)
	by_thread; /* by world id; NULL: nothing is known of it */
};

/* A call at depth 0, or time outside calls. False: out of memory. */
bool query_thread_time_piece(struct query_thread_time *s, const struct line_piece *p, bool call);
/* Whether this thread has made a call by now. */
bool query_thread_time_makes_calls(const struct query_thread_time *s, uint32_t thread);
/* times of the view, emptied before, most time first. False: out of memory. */
bool query_thread_time_rows(const struct query_thread_time *s, struct view *v);
void query_thread_time_free(struct query_thread_time *s);

/*
 * How it went over time: how long each op took, and in which states the threads were that make
 * calls, in equal spans which double when there are too many. Memory is bounded by TIME_BUCKETS_OPS
 * ops, met first, of VIEW_COURSE spans each.
 */

#define TIME_BUCKETS_OPS 96

struct query_time_buckets;

struct query_time_buckets *query_time_buckets_new(void); /* NULL: out of memory */
void query_time_buckets_free(struct query_time_buckets *c);

/* All false when out of memory. An event with a duration counts where it ended. */
bool query_time_buckets_event(struct query_time_buckets *c, const struct event *ev,
			      const struct op_def *op);
/* A stretch that tiles its thread's time, spread over the spans it lies in. */
bool query_time_buckets_piece(struct query_time_buckets *c, const struct line_piece *p);

/* courses and states of the view, emptied before. */
bool query_time_buckets_rows(const struct query_time_buckets *c, struct view *v);

#endif

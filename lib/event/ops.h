/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to "how often, how long?": what ask/ finds out and emit/ writes down. Plain values;
 * the code that fills in the arrays owns them. Ids are those of the world the events came with.
 */
#ifndef INGERO_EVENT_OPS_H
#define INGERO_EVENT_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/op.h"
#include "lib/event/paused.h"
#include "lib/event/uncovered.h"

/* Calls of an operation on one GPU, or without one. */
struct ops_device {
	uint32_t gpu; /* world id, 0: not known */
	uint64_t count, errors, total_ns;
};

struct sketch;

#define OPS_POWERS  65
#define OPS_DEVICES 17 /* sixteen GPUs, and all else: on none, not known, on further ones */

struct ops_row {
	const struct op_def *op;
	uint64_t count, errors;
	uint64_t p50_ns, p95_ns, p99_ns;   /* nearest rank, within 0.4 % or (exact) to the ns */
	uint64_t min_ns, max_ns, total_ns; /* exact */
	uint64_t self_ns;		   /* total less the calls inside */
	uint64_t lost_ns; /* taken by the host: preempted, waiting for a CPU, throttled, disk, lock
			     … */
	struct estimate all; /* with the calls that were made while no probes were attached */
	bool exact;
	uint64_t powers[OPS_POWERS]; /* durations: of 0, 1, 2 to 3, 4 to 7, ... ns, of those that
					have one */
	struct ops_device devices[OPS_DEVICES]; /* first met first */
	unsigned ndevices;
	const struct sketch *durations; /* borrowed, until asked again */
};

/* What is out of the ordinary about the calls of a row, a mask. */
enum ops_flag {
	OPS_FLAG_TAIL = 1 << 0, /* p99 over 10 times p50, and 1 ms above it */
	OPS_FLAG_ERRORS = 1 << 1,
};

static inline unsigned ops_row_flags(const struct ops_row *r)
{
	unsigned flags = r->errors ? OPS_FLAG_ERRORS : 0;

	if (r->op->flags & OP_CALL && r->p99_ns > 10 * r->p50_ns &&
	    r->p99_ns - r->p50_ns >= 1000000)
		flags |= OPS_FLAG_TAIL;
	return flags;
}

struct ops_error {
	const struct op_def *op;
	int32_t ret;
	uint64_t count;
};

/* How many of the calls of one error were made on one machine. */
struct ops_error_node {
	uint32_t error; /* its place in errors */
	uint32_t node;	/* world id */
	uint64_t count;
};

struct ops_process {
	uint32_t process; /* world id */
	uint32_t image;	  /* the newest one met, 0 none; names it (world_process_name) */
	uint64_t events, calls, errors, threads;
	uint64_t outer_calls; /* of calls, those in no other traced call */
	uint64_t in_calls_ns; /* of all its threads together, calls inside calls folded */
	struct estimate all;  /* of calls, and of in_calls_ns as total_ns */
	uint64_t lost_ns;     /* inside and outside calls */
};

/* Attachment of one library; the newest statement about it. Texts are world strings. */
struct ops_layer {
	uint32_t process, node, layer, path, reason, link; /* node: 0 the recording's own */
	uint32_t requested, attached, failed;
	uint64_t gap_ns; /* calls before that are not in the recording */
	uint64_t delivered, bytes, build_ns,
		searched; /* of unwind tables, as formats/records.def has it */
};

/* A function of the GPU, as launched by one op. */
struct ops_kernel {
	const struct op_def *op;
	uint32_t name;	  /* string; 0: not known, and handle and process say which */
	uint32_t process; /* world id; 0: several */
	uint64_t func;	  /* handle; 0: several */
	uint64_t count, errors;
	uint64_t p50_ns, p99_ns, max_ns,
		total_ns; /* of the launching calls, not of what they start */
	struct estimate all;
};
struct ops_kernels {
	struct ops_kernel *v;
	size_t n, cap;
};

/* What was sampled of one machine. */
struct ops_metric {
	uint16_t metric; /* enum metric_id */
	uint32_t node;	 /* world id, 0: the only one */
	uint64_t n;	 /* samples */
	double first, last, sum, max;
	double grew; /* a counter: where it did; nothing from a sample to a lower one, between which
			it began anew */
};

struct stack_ends_sum;
struct by_table;
struct view;

/* A cause that the stream says was found. */
struct ops_finding {
	char id[20];
	uint32_t severity, revision; /* enum chain_severity */
	uint64_t lost_ns;
	char *summary;
};

/* How well what is summed up could be read. */
struct ops_input {
	bool damaged, truncated, unterminated, growing;
	uint64_t damaged_blocks, skipped_bytes;
};

/* What a machine has; 0 unknown. */
struct ops_machine {
	uint32_t node; /* world id; 0: of the only one */
	uint32_t cpus;
	uint64_t memory_bytes;
};

/* Driver calls of an op that runtime calls made to do what they are for: they have no event of
 * their own. */
struct ops_folded {
	const struct op_def *op;
	uint64_t calls;
};

/* A tier of calls that was not recorded all of the time, on one machine. */
struct ops_paused {
	uint32_t node; /* world id; 0: the only one */
	uint32_t tier;
	uint64_t ns;	/* of the time looked at */
	double covered; /* share of it in which they were recorded */
	bool least;	/* none of it since the first pause */
	const char *reason;
};

#define OPS_LOSS_REASONS 16

struct ops_summary {
	VEC(struct ops_row) rows; /* by layer, then by total, most first */
	VEC(struct ops_error) errors;
	VEC(struct ops_error_node)
	error_nodes; /* first met first; none where events are not looked at */
	VEC(struct ops_process) processes; /* most time in calls first */
	VEC(struct ops_layer) layers;
	struct uncovered uncovered;
	VEC(struct ops_paused) paused;
	VEC(struct ops_folded) folded;
	VEC(struct ops_finding) findings;	   /* most severe first */
	struct ops_kernels kernels;		   /* by op, then by total, most first */
	uint64_t events;			   /* in the recording */
	uint64_t selected;			   /* asked for */
	uint64_t lost;				   /* known to be missing */
	uint64_t loss_by_reason[OPS_LOSS_REASONS]; /* enum loss_reason */
	uint32_t cpu_hz; /* CPU samples in a second of each CPU; 0: none, or not the same everywhere
			  */
	bool cpu_hz_differs;
	/* Calls counted and not recorded: one of N was asked for; a budget; waits as well, a
	 * recorder that keeps a part. */
	uint64_t sampled_out, given_up, not_kept;
	uint64_t cost_ns, cost_over_ns; /* what probes took from calls, estimated, and in how much
					   wall time; 0 unknown */
	uint64_t stops,
		stopped_ns; /* of programs, by the recorder, to attach; 0 none, or not known */
	uint64_t late;	    /* came too late to be placed; counted */
	uint64_t open;	    /* calls that had not returned at the end */
	bool brief;    /* counted without events: own and lost time, processes, open calls are not
			  known */
	bool exact;    /* all quantiles are */
	bool complete; /* the recording ended cleanly */
	bool has_real; /* real_minus_mono_ns holds */
	int64_t start_ns, end_ns; /* of the time looked at, on the recording's clock; equal when
				     nothing is in it */
	int64_t real_minus_mono_ns;
	const struct by_table *by;	     /* event/groups.h; NULL: not asked for */
	const struct view *view;	     /* event/section_rows.h; NULL: not asked for */
	const struct stack_ends_sum *stacks; /* world/stack_ends.h; NULL: not counted */
	VEC(struct ops_metric) metrics;	     /* of machines as a whole; by metric, then by node */
	uint32_t hostname, kernel;	     /* strings, 0 unknown */
	uint32_t nodes;
	VEC(struct ops_machine) machines; /* one for each of them that said so */
};

/* What the machine has that samples are of (world id; 0: they do not say, as those of one machine);
 * zeros where that is not known. */
static inline struct ops_machine ops_machine_of(const struct ops_summary *s, uint32_t node)
{
	for (size_t i = 0; i < s->machines.n; i++) {
		const struct ops_machine *m = &s->machines.v[i];

		if (m->node == node || (s->machines.n == 1 && (!m->node || !node)))
			return *m;
	}
	return (struct ops_machine){ .node = node };
}

#endif

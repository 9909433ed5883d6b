/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the text report, and the sections of a recording, as text and as members of
 * ingero-stat's JSON value.
 */
#ifndef INGERO_REPORT_REPORT_INTERNAL_H
#define INGERO_REPORT_REPORT_INTERNAL_H

#include "lib/base/buf.h"
#include "lib/base/fmt.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/event/part.h"
#include "lib/event/section_rows.h"
#include "lib/model/paths.h"
#include "lib/report/report.h"
#include "lib/report/view_lines.h"
#include "lib/world/world.h"

/*
 * The part of the report about memory of devices: how much each process held at most and at the
 * end, and which call sites held it. The data is the "memory" member of the analysis record.
 */

/* Nothing when no process allocated any. */
void report_memory_text(struct buf *out, const struct report *r, bool color);

/*
 * The intervals that show a chain best, one a line: when, in which layer, what.
 */

/* Nothing where the chain has none. */
void report_moments(struct buf *out, const struct report *r, const struct finding *c, bool color);

/*
 * What the report of each process says of the functions it called, and which processes share a GPU
 * (event/op_totals.h).
 */

/* The table of one process of the analysis; nothing if it made no calls or they were not
 * counted. */
void report_operations(struct buf *out, const struct report *r, struct json process, bool color);
/* A line for each GPU that several processes made calls on. */
void report_shared_gpus(struct buf *out, const struct report *r);
/* All rows; JSON_NONE: they were not counted. */
struct json report_operations_json(const struct report *r);

/*
 * The table of steps in the text report: where the time of a step goes, by line of the loop.
 */

/* The lines of each program's step, and its start and end. */
void report_path_text(struct buf *out, const struct report *r, bool color);

/*
 * The report seen step by step: for every thread that runs a loop what a step is made of, what it
 * takes on average, and the slow ones with what made them slow. The data is the "steps" member of
 * the analysis record.
 */

void report_view_steps(struct buf *out, const struct report *r, bool color);

/*
 * The first line about a program that waits without an end.
 */

/* "python3 (pid 7) made no step in the last 7.74 s: it waits to the end ..." if the track's wait at
 * the end is a hang, with who else waits since then; without a full stop. differs: it is a rank
 * that waits for ranks which entered other collectives than it, whatever its wait looks like.
 * False: it is none, and nothing was written. */
bool report_stuck_put(struct buf *out, const struct paths *all, const struct paths_track *track,
		      bool differs);

/*
 * The report seen in other ways: its chains as a table, a line each; and process by process.
 */

/* A row per chain that is selected: severity, kind, lost, share, id, who. */
void report_view_chains(struct buf *out, const struct report *r, bool color);

/* Every process selected: its chains, then what became of its time; last what concerns the machine.
 */
void report_view_processes(struct buf *out, const struct report *r, bool color);

/*
 * What a recording says of its unwind tables: how many files have one, what they took, how often a
 * rule had to be searched for, and which files have none. Layers "unwind" of formats/records.def,
 * those of all nodes together.
 */

bool unwind_coverage_is(const struct world *w, const struct ops_layer *l);

/* A line; nothing where no tables were made. */
void unwind_coverage_text(struct buf *out, const struct world *w, const struct ops_summary *s);

/* A value: an object, null where no tables were made. */
void unwind_coverage_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

/*
 * The section of GPUs, from the metrics of their driver: use, memory, clocks and what limited them,
 * power, temperature, link, errors; and the share of each process.
 */

/* False: nothing was sampled, and nothing is said. */
bool view_gpu_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st);

/*
 * The sections of what threads wait for outside the CPU: block devices with the files, and sockets.
 * All return false where nothing was recorded, and say nothing then.
 */

bool view_io_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		  const struct report_text_style *st);
bool view_net_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st);

/*
 * The sections of what lives between calls: memory of devices by the lines that hold it, executable
 * graphs, NCCL communicators. All return false where nothing was recorded, and say nothing then.
 */

bool view_memory_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st);
/* Below the table of the calls: heading false. */
bool view_graphs_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st, bool heading);
bool view_comms_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		     const struct report_text_style *st, bool heading);

/*
 * The section of time: where that of the threads went that make calls; and the plots of rates and
 * latencies.
 */

/* All false where there is nothing, and nothing is said then. */
bool view_time_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		    const struct report_text_style *st);
bool view_rates_text(struct buf *out, const struct ops_summary *s,
		     const struct report_text_style *st);
bool view_latency_text(struct buf *out, const struct ops_summary *s,
		       const struct report_text_style *st);

/* The colour of a state of time: what the host takes, own code, the device, what a thread waits for
 * by itself. */
enum fmt_style view_part_style(enum part part);

/*
 * The sections of a recording as members of ingero-stat's JSON value: those that were asked for,
 * whole.
 */

/* Members of the value's object. */
void view_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

/*
 * Sections of ingero-stat's JSON value that are about time: where it went, how many events when,
 * how long calls took when.
 */

void view_json_times(struct jsonw *j, const struct world *w, const struct view *v);
void view_json_states(struct jsonw *j, const struct ops_summary *s);
void view_json_rates(struct jsonw *j, const struct ops_summary *s);
void view_json_courses(struct jsonw *j, const struct ops_summary *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of an analysis, for the rooms account and detect: the ledger of lost time, the classes
 * of calls, and what is known of processes, files and devices.
 */
#ifndef INGERO_ACCOUNT_ANALYSIS_STATE_H
#define INGERO_ACCOUNT_ANALYSIS_STATE_H

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/account/ongoing_waits.h"
#include "lib/account/analysis_options.h"
#include "lib/attrib/cgroups.h"
#include "lib/account/class.h"
#include "lib/attrib/disk_others.h"
#include "lib/attrib/disk_usage.h"
#include "lib/account/ended.h"
#include "lib/attrib/files.h"
#include "lib/account/gains.h"
#include "lib/account/gpu_memory.h"
#include "lib/account/killed.h"
#include "lib/account/lost_time.h"
#include "lib/account/nodes.h"
#include "lib/attrib/peers.h"
#include "lib/attrib/priorities.h"
#include "lib/account/thread_ledger.h"
#include "lib/account/detector.h"
#include "lib/account/where.h"
#include "lib/tracks/track.h"
#include "lib/event/open_call.h"
#include "lib/event/paused.h"
#include "lib/event/uncovered.h"
#include "lib/gpustate/clocks.h"

struct cause {
	struct line_sink line_sink;
	struct world *w; /* names of threads are added to it */
	struct cause_options opt;
	struct cause_sink *sink;
	struct line *line;
	struct classes classes;
	struct class_of of;	  /* the site of the outermost call being dispatched */
	struct class_ahead ahead; /* site hint of the event being analyzed */
	struct launched_names kernels;
	struct tally tally;
	struct lost_time lost_time;
	struct gains gains;
	struct cause_disks disks;
	struct disk_others disk_others;
	struct cause_files files;
	struct cause_peers peers;
	struct priorities priorities;
	struct cause_cgroups cgroups;
	struct where standing; /* lib/account/standing.h */
	struct detectors detectors;
	struct live *live;
	struct graphs *graphs;
	struct path_tracks *tracks;
	/* As collective-straggler learns them, which all calls of NCCL come to. */
	struct collectives collectives;
	struct clocks clocks;	/* of nodes */
	struct open_calls open; /* when the recording ended */
	struct uncovered uncovered;
	struct paused paused;
	/* Taken by probes, as COST records say: in calls, and at kernel events. */
	uint64_t traps_ns, host_programs_ns;
	bool traps_known;
	struct cause_asleep asleep;
	struct cause_leaving leaving;
	struct cause_nodes nodes;
	struct gpu_memory gpu_memory;
	struct cause_killed killed;
	bool has_start, has_session, has_pane, off_cpu;
	bool sampled;	     /* a session took CPU samples */
	bool steal;	     /* a wait said what a hypervisor took of it */
	int64_t start_ns;    /* of the recording */
	int64_t session_ns;  /* the earliest that was said to begin */
	int64_t earliest_ns; /* nothing began before; valid when has_session */
	int64_t end_ns;	     /* latest event or clock reading */
	int64_t settled_ns;  /* reports cover the time up to here */
	bool ended;	     /* the whole stream was seen */
	int64_t pane;	     /* the one being filled */
	int64_t pane_end_ns; /* the first that does not belong to it; valid when has_pane */
	int64_t previous_end_ns;
	/* Both blocks (where) and records (why) state the same lost events: counted by each of
	 * them, and passed on so far. */
	uint64_t lost_by_block, lost_by_record, lost_told;
	uint64_t calls, left_out; /* calls at any depth; those not recorded on purpose */
	uint32_t chains;
	struct map told_ids; /* hash of a fact's identity -> number of facts with that identity */
	bool nomem;
};

/* Examines all losses at the end of `pane`; pane INT64_MAX: over the whole recording. Reports what
 * is new. */
int cause_settle(struct cause *c, int64_t pane, struct err *e);

/* Reports the lost time of this process once more. */
int cause_settle_last(struct cause *c, uint32_t process, struct err *e);

/* Severity follows effect: 3 from a tenth of wall time, or of the time of steps, 2 from a fiftieth.
 */
static inline uint32_t cause_severity(double share)
{
	return share >= 0.10 ? 3 : share >= 0.02 ? 2 : 1;
}

/* Whether something happened often enough to be no accident or, if it did not, took so much that it
 * does not matter whether it was one: a tenth of wall time, and once alone only where it was a
 * second. */
static inline bool cause_often(const struct cause *c, uint64_t count, uint64_t lost_ns,
			       uint64_t wall_ns)
{
	return count >= c->opt.min_count ||
	       ((double)lost_ns >= 0.10 * (double)wall_ns && (count > 1 || lost_ns >= 1000000000));
}

/* Not a single off-CPU interval is in a recording: what threads did outside of calls, or lost in
 * them, is not known, and cannot be called their own code. */
static inline bool cause_blind(const struct cause *c)
{
	return c->has_session && !c->off_cpu;
}

/* Share of the library calls made that was recorded, as far as the recording says. */
static inline double cause_recorded(const struct cause *c)
{
	return c->left_out ? (double)c->calls / (double)(c->calls + c->left_out) : 1;
}

/* 0: not known. */
static inline uint32_t cause_process_of(const struct cause *c, uint32_t thread)
{
	return world_thread_process_id(c->w, thread);
}

/* Whether it is the first thread of its process. */
static inline bool cause_is_main(const struct cause *c, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;

	return p && t->tid == p->tgid;
}

/* When the recording of that machine ends: with several machines, one recording may end long before
 * the others. */
static inline int64_t cause_node_end(const struct cause *c, uint32_t node)
{
	int64_t ns = cause_nodes_end(&c->nodes, node);

	return ns && ns < c->end_ns ? ns : c->end_ns;
}

static inline int64_t cause_process_end(const struct cause *c, uint32_t process)
{
	return cause_node_end(c, world_process_node(c->w, process));
}

/* Whether probes of any of these tiers (1 << enum op_tier, or-ed) were detached in that time on the
 * process's node. */
static inline bool cause_paused(const struct cause *c, uint32_t process, unsigned tiers,
				int64_t from_ns, int64_t to_ns)
{
	const struct world_process *p = c->paused.lists.n ? world_get_process(c->w, process) : NULL;

	return p && paused_tiers(&c->paused, p->node, from_ns, to_ns) & tiers;
}

/* Whether calls of the process in these tiers may be missing in that time: then nothing follows
 * from that none is there. */
static inline bool cause_uncovered(const struct cause *c, uint32_t process, unsigned tiers,
				   int64_t from_ns, int64_t to_ns)
{
	return uncovered_within(&c->uncovered, process, from_ns, to_ns) ||
	       cause_paused(c, process, tiers, from_ns, to_ns);
}

/* Whether collectives of the process were not counted at some time before: its numbers are then
 * behind the other ranks'. */
static inline bool cause_uncounted(const struct cause *c, uint32_t process, int64_t ns)
{
	return cause_paused(c, process, 1u << TIER_WAITS, INT64_MIN, ns);
}

/* That it made no call for so long until the end is known of it: time in which probes were detached
 * says nothing. */
static inline bool cause_silent(const struct cause *c, uint32_t process, int64_t since_ns,
				int64_t ns)
{
	int64_t end_ns = cause_process_end(c, process), paused = 0;

	if (end_ns <= since_ns)
		return false;
	if (c->paused.lists.n)
		paused = (int64_t)paused_any_ns(&c->paused, world_process_node(c->w, process),
						TIERS_ALL, since_ns, end_ns);
	return end_ns - since_ns - paused > ns && !cause_uncovered(c, process, 0, since_ns, end_ns);
}

/* It made no call for so long after that, or ended: it stopped. Known in the end. */
static inline bool cause_stopped(const struct cause *c, uint32_t process, int64_t at_ns, bool ended,
				 int64_t ns)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);
	int64_t last = p && p->calls ? p->last_ns : at_ns;

	return c->ended && last - at_ns <= ns && (ended || cause_silent(c, process, last, ns));
}

/* Wall time covered by reports. Until the end it counts events alone: records may lie a little
 * before or after them. */
static inline uint64_t cause_wall_ns(const struct cause *c)
{
	return c->has_start && c->settled_ns > c->start_ns ? (uint64_t)(c->settled_ns - c->start_ns)
							   : 0;
}

/* Share of the wall time; 0 while there is none. */
static inline double cause_share(const struct cause *c, uint64_t ns)
{
	uint64_t wall = cause_wall_ns(c);

	return wall ? (double)ns / (double)wall : 0;
}

/* The analysis record's body. */
void cause_analysis_body(struct cause *c, struct buf *out);

#endif

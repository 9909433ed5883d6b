/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding: one diagnosed problem, with everything that is known of it. The analysis makes one
 * (lib/detect), a CHAIN record carries it as JSON (lib/model/finding_json.h is the only place that
 * knows its form), and every report reads its fields.
 *
 * All texts and lists are in the finding's own memory, or live as long as it (lib/event/chain.h). A
 * text that is not there has p NULL. Durations are nanoseconds.
 */
#ifndef INGERO_MODEL_FINDING_H
#define INGERO_MODEL_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/base/jsonmap.h"
#include "lib/base/list.h"

enum finding_severity { FINDING_LOW = 1, FINDING_MEDIUM = 2, FINDING_HIGH = 3 };

/* The process that lost the time. */
struct finding_victim {
	bool known;   /* its number is: 0 is the machine */
	uint32_t pid; /* 0: no process, it is about the machine */
	struct bytes comm, command;
	uint64_t calls; /* outermost traced calls so far */
};

/* Who took it. */
struct finding_culprit {
	struct bytes kind; /* "process", "own", "thread", "device", "cgroup", "several", "code",
			      "gpu", "peer", "none" */
	struct bytes text; /* as the summary names it */
	uint32_t pid;	   /* its first process; 0: none */
	struct bytes comm;
	uint32_t processes; /* folded into it */
	struct jsonmap_numbers pids,
		tids;	 /* the first of them; not there where it is about the others */
	uint32_t parent; /* pid of its parent; 0: unknown, or several */
	struct bytes cgroup, device;
	struct jsonmap_texts via; /* lock holders through which it was reached */
};

/* A class of calls that lost time to it. */
struct finding_symptom {
	struct bytes op, source;
	uint64_t lost_ns, affected;
	bool timed; /* the following are known: not of time between calls */
	uint64_t n, p50_ns, p99_ns, max_ns, expected_ns;
	bool expected_borrowed; /* fewer than 30 calls: the median is that of all calls of the op */
	uint64_t p99_without_ns; /* had the host taken nothing */
	bool first_use;
	struct bytes kernel;
	uint64_t bytes_below; /* size class; 0: no class */
};

/* A call site that lost time to it. */
struct finding_site {
	struct bytes op, source;
	struct bytes text; /* the calling frame */
	struct bytes symbol, module, file;
	uint64_t line; /* 0: unknown */
	uint64_t lost_ns, affected;
	bool timed; /* the following are known: not of time between calls */
	uint64_t calls, avg_ns, max_ns;
	uint64_t bytes;		    /* moved or held from there; 0: it is not about bytes */
	struct jsonmap_texts stack; /* innermost frame first */
};

/* The event that shows a moment: its key in the recording. */
struct finding_event {
	uint32_t tid;
	bool has_end;
	int64_t end_ns; /* on the recording's clock */
	struct bytes op;
};

/* An interval or call that shows it well. */
struct finding_moment {
	struct bytes layer; /* "SYSTEM", "HOST", "CUDA", … */
	int64_t start_ns;   /* since the recording began */
	uint64_t dur_ns, lost_ns;
	struct bytes text;
	bool has_event;
	struct finding_event event;
};

/* What to do about it. */
struct finding_fix {
	struct bytes action;
	struct bytes kind; /* "shell", "code": lines for the program itself */
	struct bytes command;
	uint64_t gain_low_ns, gain_high_ns;
	struct bytes basis; /* what the gain rests on */
};

/* What would have been without it, between low and high. */
struct finding_without {
	struct bytes what; /* "wall", "step", "p99" */
	struct bytes op;   /* of "p99" */
	bool replayed;	   /* by a replay, too; else by subtraction alone */
	uint64_t from_ns, low_ns, high_ns;
};

/* A number, or a text, that proves it. */
struct finding_evidence {
	struct bytes what;
	bool is_number;
	double value;
	struct bytes unit; /* "ns", "B", "B/s", "%", "/s", … */
	struct bytes text; /* instead of the number */
};

/* What the recording lacks. */
struct finding_coverage {
	uint64_t lost_events, late_events;
	bool lower_bound; /* events were lost: shares are at least this */
	bool upper_bound; /* the lost time is at most this */
};

struct finding {
	/* What the record's own columns say. Times are on the recording's clock. */
	struct bytes id, match, kind, summary;
	uint32_t revision, severity; /* enum finding_severity */
	int64_t time_ns, first_ns, last_ns;
	uint64_t count, lost_ns; /* for all of the time, where it is an estimate */

	/* What its evidence says: its JSON was read, or it was made here. */
	bool known;
	struct bytes node; /* the machine */
	struct finding_victim victim;
	struct bytes op;		       /* the traced call that lost most */
	int64_t first_after_ns, last_after_ns; /* since the recording began */
	double share,
		worst_share; /* of wall time, worst-hit thread: of all of it, of the worst window */
	double lost_ms_per_s;
	bool estimate; /* found in a part of the time, for which the following holds */
	double covered;
	uint64_t measured_lost_ns, measured_count;
	bool at_least; /* lost time and count are lower bounds: too little was covered */
	double explained,
		unexplained; /* shares of the symptom's lost time; below 0: not a notion here */
	struct jsonmap_names parts; /* lost time by state */
	struct finding_culprit culprit;
	LIST(struct finding_symptom) symptoms; /* most lost first, as sites */
	LIST(struct finding_site) sites;
	LIST(struct finding_moment) moments; /* by start */
	LIST(struct finding_fix) fixes;
	LIST(struct finding_without) without; /* v NULL: an older version made it */
	struct finding_coverage coverage;
	struct bytes counted; /* what count counts: "waits", "calls", "gaps" */
	LIST(struct finding_evidence) evidence;

	bool hidden;	   /* whoever asked did not ask for it */
	struct bytes json; /* what it was read from; p NULL: made here, or not to be read */
	struct arena memory;
	bool failed; /* memory was exhausted: it is not whole */
};

/* For who makes one, zero-initialised first: a copy in its memory; p NULL stays that. */
struct bytes finding_copy(struct finding *f, struct bytes text);

/* One more element of a list of it, zeroed; NULL: out of memory, which f->failed says from then on.
 */
#define finding_add(f, list) \
	((__typeof__((f)->list.v))finding_added_((f), list_add(&(f)->list, &(f)->memory)))
void *finding_added_(struct finding *f, void *element);

/* Puts the moments in order of their starts; those that begin together stay as they are. */
void finding_sort_moments(struct finding *f);

void finding_free(struct finding *f);

/* "LOW", "MEDIUM", "HIGH" */
const char *finding_severity_name(uint32_t severity);

/* Whether its kind names who took time from the steps. The others name work of them that is slow.
 */
bool finding_is_loss(const struct finding *f);

/* What count counts, "waits" where it does not say. */
struct bytes finding_counted(const struct finding *f);

/* Whether a fix is lines for the program itself, and not a command. */
bool finding_fix_is_code(const struct finding_fix *fix);

#endif

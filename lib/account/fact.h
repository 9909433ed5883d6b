/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding of a detector that keeps its own numbers (account/detector.h), as a chain: the same
 * record and the same JSON (formats/chain.schema.json) as a finding from the ledger of lost time.
 * The detector fills in a fact from its numbers for every report; what stays between reports is
 * whom it is about and whether it was reported (struct fact_told, one for each possible finding).
 */
#ifndef INGERO_ACCOUNT_FACT_H
#define INGERO_ACCOUNT_FACT_H

#include "lib/base/buf.h"
#include "lib/account/found.h"
#include "lib/account/analysis_state.h"
#include "lib/account/where.h"
#include "lib/model/finding.h"

/* Memory of the detector, zero-initialised: never reported. */
struct fact_told {
	uint32_t revision, severity;
	/* More of what its id is made of, valid once reported: it stays the same chain if it turns
	 * out to be of another kind. */
	const char *kind; /* of its first report */
	uint32_t nth;	  /* of the facts that are called the same */
	uint64_t lost_ns, count;
	double worst_share; /* largest share of wall it ever took in a window */
};

/* A moment that shows it. text NULL: the op, and how long it took. */
struct fact_moment {
	int64_t end_ns;
	uint64_t dur_ns, lost_ns;
	/* The event that shows it: its op and thread; op 0: there is none. */
	uint32_t thread; /* world id; 0: of the node */
	uint16_t op;
	int64_t event_ns; /* when that ended, where the moment ends at another time; 0: then */
	bool unended;	  /* it has not, as far as is known: it cannot be pointed at */
	const char *text;
};

#define FACT_SITES   5
#define FACT_MOMENTS 8

/* Zero-initialise; telling it frees it. Texts that are const stay the detector's until fact_tell
 * returned, or are the fact's own (details_print, details_text). */
struct fact {
	const char *kind; /* static */
	uint32_t process; /* world id of the process that lost; 0: the node */
	uint32_t node;	  /* world id; 0: the process's */
	/* What tells it apart from others of its kind about the same process: part of its id and,
	 * so that runs can be compared, without pids, addresses or times. NULL: nothing does. */
	const char *identity;
	struct {
		/* "code": the process's own, at a line; "process", "own", "thread", "device",
		 * "cgroup" as in findings of lost time; "gpu", "peer" (another machine or rank),
		 * "none" */
		const char *kind;
		const char *text;		    /* as the summary names it */
		uint32_t pid;			    /* 0: none */
		const char *comm, *cgroup, *device; /* NULL: none */
	} culprit;
	int64_t first_ns, last_ns;
	uint64_t lost_ns, count;
	uint64_t one_ns; /* of lost_ns, the worst-hit thread's: threads lose side by side; 0: it is
			    of one alone */
	const char *counted; /* what count counts: "gaps", "calls", "steps" */
	bool upper_bound;    /* lost_ns is at most this */
	/* By how much wall time would have been shorter without it (lib/account/without.h). */
	enum {
		FACT_GAIN_SOME, /* something between nothing and lost_ns: the device may have worked
				 */
		FACT_GAIN_ALL,
		FACT_GAIN_NOTHING /* there is no such thing */
	} gain;
	double share; /* of wall time; of steps where of_steps */
	bool of_steps;
	struct cause_estimate estimate; /* what lost_ns and count stand for; zero: for themselves */
	uint32_t severity;		/* 0: by the largest share (causal model, §5) */
	uint16_t op;			/* the traced call it is about; 0: between calls */
	struct where_place sites[FACT_SITES];
	unsigned nsites;
	struct fact_moment moments[FACT_MOMENTS]; /* in order of time */
	unsigned nmoments;
	struct buf summary;   /* one sentence without a full stop: who, how many ms, which line */
	struct finding found; /* by fact_evidence, fact_fix, fact_fix_code; the rest by fact_tell */
};

/* One number that proves it: "launches per synchronization", 3.2, "". Units: "ns", "B", "B/s", "%",
 * "/s", "" */
void fact_evidence(struct fact *f, const char *what, double value, const char *unit);
/* The same for what is no number. */
void fact_evidence_text(struct fact *f, const char *what, const char *text);

/* What to do, the command to do it with, and what it gains of lost_ns: from low to high, and what
 * that rests on. Where several threads lost, as much less of it as one of them lost. */
void fact_fix(struct fact *f, const char *action, const char *command, uint64_t gain_low_ns,
	      uint64_t gain_high_ns, const char *basis);
/* The same with lines for the program itself, which no shell takes. */
void fact_fix_code(struct fact *f, const char *action, const char *code, uint64_t gain_low_ns,
		   uint64_t gain_high_ns, const char *basis);

/* The fact's process as name_victim has it, appended. */
void fact_victim(const struct fact *f, const struct cause *c, struct buf *out);

/* "1.51 s (14.8% of wall time, 312 gaps)"; "of its steps" */
void fact_amount(const struct fact *f, struct buf *out);

/* Appends to the summary: the victim, what it did, and the amount. */
void fact_lost(struct fact *f, const struct cause *c, const char *what);

/* "~208,800": so many of what was counted, for all of the time. */
void fact_number(const struct fact *f, uint64_t n, struct buf *out);

/* "in cudaMemcpy called from load (data.py:41)", or "" where the place has neither. */
void fact_place(const struct cause *c, const struct where_place *p, struct buf *out);

/* The culprit is the process's own code at the fact's first site: "cudaMemcpy called from load
 * (data.py:41)", otherwise where that has no name. */
void fact_blame_site(const struct cause *c, struct fact *f, const char *otherwise);

/* The same as a place: "in cudaMemcpy called from load (data.py:41)". It is returned, too. */
const char *fact_blame_place(const struct cause *c, struct fact *f);

/* The culprit is that GPU, on whose node it is found; what tells it apart from other findings about
 * the GPU. */
void fact_blame_gpu(const struct cause *c, struct fact *f, uint32_t gpu, const char *what);

/* The culprit is that process, as name_victim has it. */
void fact_blame_process(const struct cause *c, struct fact *f, uint32_t process);

/* Whether a detector must report now: for the first time, after the loss doubled or grew more
 * severe, or at the end. A reported fact is reported again at the end, with shares of the whole. */
bool fact_due(const struct cause *c, const struct fact_told *told, uint64_t lost_ns, double share);

/* The same for facts that lose no time: for the first time, twice as often, or at the end. */
bool fact_due_count(const struct cause *c, const struct fact_told *told, uint64_t count);

/* Whether it is significant by min_share of wall time, min_lost_ns and min_count of the options.
 * wall_ns: of the window (TALLY_PANES seconds) or of the recording (cause_wall_ns). */
bool fact_material(const struct cause *c, uint64_t lost_ns, uint64_t count, uint64_t wall_ns);

/* Reports the fact, and frees it. */
int fact_tell(struct cause *c, struct fact *f, struct fact_told *told, struct err *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder: everything between "these targets, these outputs" and a finished recording. It says
 *nothing itself: what a person should hear is kept as notices, in order.
 *
 *	recorder_open, then recorder_step until it returns 0, then recorder_finish, _free.
 */
#ifndef INGERO_RECORD_RECORDER_H
#define INGERO_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/attach/library_instances.h"
#include "lib/record/recording_files.h"
#include "lib/attach/session.h"
#include "lib/attach/targets.h"
#include "lib/decode/wire_known.h"
#include "lib/filter/trigger.h"

struct recorder;

/* What nobody notices, and the older documents' own promise. */
#define RECORD_BUDGET_DEFAULT 0.02

struct recorder_options {
	struct probe_options probe; /* specs are filled in */
	struct probe_targets_options targets;
	struct record_output *outputs[2];
	unsigned noutputs;
	const char *node_name;		     /* NULL: the host's */
	const char *tool, *command, *target; /* texts of the SESSION record */
	uint64_t duration_ns;		     /* 0: until told */
	uint64_t hung_ns;		     /* a call open that long is named */
	uint64_t flush_ns;		     /* blocks are written at least this often */
	bool chosen;	       /* somebody said which ops: none is left out for its cost */
	uint32_t sample;       /* one of so many calls of each op is recorded; 0, 1: each */
	double budget;	       /* share of the programs' time that recording may cost; 0: any */
	const char *mark;      /* path of a FIFO for marks, NULL none */
	bool no_gpu;	       /* no GPU health */
	bool no_probes;	       /* samples alone: needs no rights */
	bool thin;	       /* samples are thinned, see lib/record/deadband_filter.h */
	double deadband;       /* % */
	uint64_t heartbeat_ns; /* 0: none */
	/* Outputs that rotate go on in another file after so much or so long; 0: never for that. */
	uint64_t rotate_bytes, rotate_ns;
	/* Nothing goes to the outputs: the last flight_ns are kept in memory, flight_bytes at most,
	 * and written to the files of flight_files when something triggers; 0: no flight recorder.
	 * Borrowed. */
	uint64_t flight_ns, flight_bytes;
	struct record_rotation *flight_files;
	struct record_owner flight_owner;     /* of FIFOs, too */
	const struct filter_trigger *trigger; /* NULL: only calls that hang, and on demand */
	bool until_targets_end;		      /* stop by itself when no target is left */
};

/* Everything attached that is there already. Nothing is written before record_output_begin. */
int recorder_open(struct recorder **out, const struct recorder_options *opt, struct err *e);

/* One turn: wait up to 10 ms, or 50 when no thread or library came or went of late, drain, write.
 * 1: go on; 0: the recording is over (time is up, targets are gone); < 0: it cannot go on
 * (ERR_CLOSED: nobody reads it any more). */
int recorder_step(struct recorder *r, struct err *e);

/* Somebody wants what the flight recorder remembers: written at the next turn. */
void recorder_dump(struct recorder *r);

/* Whether a process of the recording was killed and has not ended yet: how it ended is part of the
 * recording. Looks at all of them. */
bool recorder_awaits_end(const struct recorder *r);

/* Last drain, last statements, LAST block. The outputs stay the caller's to close. */
int recorder_finish(struct recorder *r, struct err *e);
/* What a flight recorder remembers, of a recording that is finished: written. */
int recorder_land(struct recorder *r, struct err *e);
void recorder_free(struct recorder *r);

/* The rights that going on takes (lib/host/rights.h), of one that is open. */
uint64_t recorder_rights(const struct recorder *r);

/* A descriptor, yours, of the file with that build-id that stacks went through; negative: none is
 * open. Its place in the file is not yours to rely on. path: as in the recording. */
int recorder_file(const struct recorder *r, const char *path, const char *build_id);

/* The next notice not yet given out, NULL for none; borrowed until the next call. */
enum record_notice {
	RECORD_NOTE, /* to be indented: part of the banner */
	RECORD_WARNING,
	RECORD_DETAIL,
	RECORD_LINE, /* stands by itself */
};
const char *recorder_notice(struct recorder *r, enum record_notice *kind);

struct recorder_totals {
	uint64_t events, calls; /* handed to the file; of these, library calls */
	uint64_t lost;
	uint64_t lost_ring;		    /* of these, because the kernel ring was full */
	uint64_t stacks_lost, kernels_lost; /* names of kernels */
	uint64_t texts_lost;		    /* names of ranges and marks */
	uint64_t kernels_late, texts_late;  /* read by us, for a probe could not */
	uint64_t open, hung;		    /* calls */
	struct decode_shares shares;
	int64_t start_ns, end_ns;
	size_t with_cuda;
	const char *link;   /* "session" */
	const char *walker; /* "loop", "helper", "none" */
};
void recorder_totals(const struct recorder *r, struct recorder_totals *t);
/* What the recording has become, and the next command to type, as notices. where: the recording as
 * a shell takes it, "" when it went to a pipe only; bytes: written; removed: older files taken
 * away. */
void recorder_closing(struct recorder *r, const char *where, uint64_t bytes, uint64_t removed);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that a program starts anew each time that its steps pause, as a data loader does whose
 * workers end with the epoch: the first batch waits for their imports, and for what they open.
 * Where an epoch is what repeats, they begin in the steps.
 */
#ifndef INGERO_TRACKS_NEW_PROCESSES_H
#define INGERO_TRACKS_NEW_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/tracks/step_runs.h"
#include "lib/tracks/track_names.h"
#include "lib/tracks/track_part.h"
#include "lib/event/event.h"

#define NEW_PROCESSES_MAX   65536 /* of all programs; later ones are passed over */
#define NEW_PROCESSES_GAPS  0.5	  /* of the gaps between steps: else it is no habit */
#define NEW_PROCESSES_STEPS 0.25  /* the same of the steps, whose number may be an estimate */
/* In however few steps they began, they are worth a word if new ones did so often, the first time
 * included, each time after one of those before had ended, and if the path waited so long for them.
 * A pool that begins once is kept. */
#define NEW_PROCESSES_TIMES 3
#define NEW_PROCESSES_SHARE 0.05

struct new_process {
	uint32_t parent, process;  /* world process ids */
	int64_t time_ns, ended_ns; /* INT64_MAX: not seen to end */
};

/* Zero-initialised but for w is empty. */
struct new_processes {
	const struct world *w;
	VEC(struct new_process) v; /* in order of time */
	struct map at;		   /* world process id -> position */
};

/* An event of the stream. False: out of memory. */
bool new_processes_event(struct new_processes *p, const struct event *ev);
void new_processes_free(struct new_processes *p);

/* Those that a process started between its steps, or in them. */
struct new_between {
	bool within; /* in the steps: these are what gaps counts */
	/* n: with those that these started. gaps: between steps, and those in which some began */
	uint32_t n, gaps, gaps_with;
	uint32_t times;	 /* how often some began: again when one of those before had ended */
	uint64_t all_ns; /* of the steps, or of what is between them */
	uint64_t ns;	 /* so long its path waited there for them, and for what they started */
	uint32_t thread; /* world thread id: of the one that it waited for longest; 0 none */
	bool loader;	 /* they are workers of torch's DataLoader */
};

/* parts: of what lies between the steps, or within them. False: out of memory. */
bool new_processes_between(const struct new_processes *p, uint32_t process,
			   const struct step_runs *runs, bool within,
			   const struct track_parts *parts, struct new_between *out);

/* Torch's DataLoader names its workers so; what they start has that name until it executes
 * something else. */
bool new_processes_is_loader(const struct world *w, uint32_t thread);

/* How often a process started others, each time after one of those before had ended. */
uint32_t new_processes_times(const struct new_processes *p, uint32_t process);

/* Whether they are worth a word. */
bool new_between_is_told(const struct new_between *b);

/* "7 new processes (loader (pid 8) and others like it) began in 7 of the 7 gaps between steps …" */
void new_between_print(struct buf *out, const struct track_names *names,
		       const struct new_between *b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of the steps of a loop besides their sums: how long they take over time, and the
 * slowest ones with what they consist of. Steps are added in order of time; then follow the pieces
 * of a path, which belong to steps added before. A step is counted when its pieces have come.
 */
#ifndef INGERO_TRACKS_STEP_STATS_H
#define INGERO_TRACKS_STEP_STATS_H

#include "lib/tracks/track_sums.h"
#include "lib/loops/loops.h"

#define STEP_CELLS     512
#define STEP_CELL_NS   250000000
#define STEPS_SLOW     16
#define STEPS_OPEN_MAX 65536 /* of a loop: of more, those that began first are not counted */

/* Steps by when they ended: cells of equal length, which doubles when there are too many. */
struct step_series {
	int64_t first_ns, cell_ns;
	unsigned n;
	struct step_cell {
		uint64_t count;
		uint64_t own_ns;    /* without what was lost in them */
		uint64_t device_ns; /* of which waiting for the device */
	} v[STEP_CELLS];
};

/* A part of a step, by the number of its sum in the track. */
struct step_sum {
	uint32_t number;
	struct track_total total;
};

struct slow_step {
	uint64_t number; /* in the loop, from 1 */
	int64_t begin_ns, end_ns;
	VEC(struct step_sum) sums;
};

/* Its pieces may still come. */
struct open_step {
	int64_t begin_ns, end_ns;
	uint64_t number;
	uint64_t lost_ns, device_ns;
};

/* Zero-initialised is empty. */
struct step_stats {
	uint32_t anchor;	    /* world thread id: whose pieces are in it; 0: none came yet */
	struct step_series *series; /* NULL: no step was counted */
	VEC(struct slow_step) slow; /* the slowest, at most STEPS_SLOW, in no order */
	VEC(struct open_step) open;
	size_t at; /* of open: the first that ends after the newest piece's begin */
};

enum step_piece_kind { STEP_PIECE_OWN, STEP_PIECE_DEVICE, STEP_PIECE_LOST };

/* The next step. Those that are not certain are left out: one may be several. False: out of memory.
 */
bool step_stats_add(struct step_stats *s, const struct loop_step *step);
/* Pieces come from the first open step on again, in order of their begin. */
void step_stats_rewind(struct step_stats *s);
/* False: out of memory. */
bool step_stats_add_piece(struct step_stats *s, uint32_t number, const struct track_add *add,
			  enum step_piece_kind kind);
/* Counts steps that ended by then. False: out of memory. */
bool step_stats_count(struct step_stats *s, int64_t until_ns);
/* Frees what it holds; it is empty then. */
void step_stats_reset(struct step_stats *s);

#endif

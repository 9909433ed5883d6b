/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in several files, each a recording of its own: their names, and which of them have to
 * go so that their number and size stay within limits. Knows names and sizes only; who writes them
 * is output.c and flight.c.
 */
#ifndef INGERO_RECORD_ROTATION_H
#define INGERO_RECORD_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct record_rotation;

struct record_rotation_limits {
	uint64_t bytes; /* of all files that are whole, together; 0: no limit */
	uint64_t files; /* 0: no limit */
	bool folder;	/* the limit of bytes is for every recording in that folder, of earlier runs
			   too */
};

/* path: "run.ige" gives run-000001.ige, run-000002.ige … beside it. */
int record_rotation_new(struct record_rotation **out, const char *path,
			const struct record_rotation_limits *limits, struct err *e);
void record_rotation_free(struct record_rotation *r);

/* The name of the next file, which nobody has yet; borrowed until the next call. */
const char *record_rotation_next(struct record_rotation *r);

/* The file of that name could not be made: the one before is the current one still. */
void record_rotation_unmade(struct record_rotation *r);

/* How large the current file has become. */
void record_rotation_grown(struct record_rotation *r, uint64_t bytes);

/* Removes the oldest files beyond the limits, never the current one, nor one that another recorder
 * still writes. How many were removed so far. */
uint64_t record_rotation_prune(struct record_rotation *r);

#endif

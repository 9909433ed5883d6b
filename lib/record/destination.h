/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a recording goes, from what was asked for: one file, a row of files, a pipe, the ring of
 * files that is the default recording, or the files of a flight recorder.
 */
#ifndef INGERO_RECORD_DESTINATION_H
#define INGERO_RECORD_DESTINATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/record/recording_files.h"
#include "lib/record/rotation.h"

/* The default recording is a ring of files of this size together, unless told otherwise. */
#define RECORD_RING_BYTES (10ull << 30)

struct record_destination {
	/* What was asked for; texts are borrowed. */
	/* Of -o, at most two, files, folders as that of the default recording, or "-"; none: the
	 * default recording. */
	const char *const *names;
	size_t nnames;
	const char *folder; /* of the default recording, or a file's name ending in .ige */
	struct record_owner owner;
	uint64_t rotate_bytes, rotate_ns; /* a new file after so much or so long; 0: not for that */
	uint64_t keep;			  /* so many files at most; 0: no limit */
	uint64_t max_bytes;		  /* of all files together */
	bool max_given;			  /* max_bytes was asked for; 0 is then no limit */
	bool flight;			  /* outputs stay empty, files says where dumps go */

	/* What came of it. */
	struct record_output *outputs[2]; /* the caller's to close */
	unsigned noutputs;
	struct record_rotation *files; /* of a flight recorder; the caller's to free */
	char *path; /* the first file, or what a row of files looks like; NULL: a pipe only. Freed
		       by the caller */
	bool row;   /* path is a pattern */
};

/* ERR_USAGE for what makes no sense together. What was opened before a failure is in outputs all
 * the same. */
int record_destination_open(struct record_destination *d, struct err *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a recording goes: a file, a pipe, or both. Between the drain loop and a slow destination
 * stands a bounded queue with a thread of its own: when it is full, blocks of events are dropped
 * and counted, definitions and records never are. The traced programs never wait for a disk.
 */
#ifndef INGERO_RECORD_RECORDING_FILES_H
#define INGERO_RECORD_RECORDING_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/ige/writer.h"
#include "lib/record/rotation.h"

struct record_output;

/* Who the recording belongs to: the user behind sudo. uid 0: nobody special. */
struct record_owner {
	uid_t uid;
	gid_t gid;
};

/* path: a file (made with mode 0600, locked until closed), or "-" for standard output, which must
 * not be a terminal. Nothing is written, and a file that was there stays as it was, until
 * record_output_begin. */
int record_output_open(struct record_output **out, const char *path,
		       const struct record_owner *owner, struct err *e);

/* From here on the recording is a row of files, of which the one that was opened is the first.
 * Takes r over. Before record_output_begin only. */
void record_output_rotate(struct record_output *o, struct record_rotation *r);
/* What is put from now on goes to the next file: the writer was cut. Does nothing for an output
 * that does not rotate. */
int record_output_next(struct record_output *o, struct err *e);

/* A file like those of an output, for a caller who writes it at one go: made as the owner, mode
 * 0600. -1 and *e. */
int record_output_create(const char *path, const struct record_owner *owner, struct err *e);

/* There is a recording: from here on it takes the place of what was there, beginning with what is
 * queued. */
int record_output_begin(struct record_output *o, struct err *e);

/* Makes the directory (0700) if need be, as the owner. for_owner: where the owner may not, root
 * makes it for the owner: nobody else has named it. */
int record_output_directory(const char *path, const struct record_owner *owner, bool for_owner,
			    struct err *e);

/* The writer's sink: every block to every output. Fails with ERR_CLOSED when no output is left. */
struct record_tee {
	struct ige_sink sink;
	struct record_output *outputs[2];
	unsigned n;
};
void record_tee_init(struct record_tee *tee, struct record_output *const *outputs, unsigned n);

struct record_output_state {
	uint64_t bytes;		 /* written, to all files */
	uint64_t file_bytes;	 /* put into the file that will be the last, written or not */
	uint64_t files, removed; /* begun; taken away again to stay within limits */
	uint64_t dropped_queue;	 /* events that did not fit the queue */
	uint64_t dropped_disk;	 /* events for which there was no room */
	bool gone; /* the reader of a pipe went away, or a disk failed: nothing more is written */
	struct err error; /* the first failure to write, code 0 when none */
};
void record_output_state(struct record_output *o, struct record_output_state *state);
/* The same, for the last word on what is lost: from here on nothing is given up any more. What has
 * no room in the queue is queued all the same, and what never has any on the disk is where the file
 * ends. */
void record_output_last(struct record_output *o, struct record_output_state *state);
const char *record_output_path(const struct record_output *o);
bool record_output_is_file(const struct record_output *o);

/* Writes what is queued, then closes; of a recording that never began nothing is left. The error,
 * if any, was never repaired: something is missing at the end. */
int record_output_close(struct record_output *o, struct record_output_state *last, struct err *e);

#endif

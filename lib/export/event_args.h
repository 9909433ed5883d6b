/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a timeline says of an event when it is asked: its values under the names of their columns,
 * with the names of kernels, files, peers, marks, threads and errors for what the event only
 * numbers. Handles that nothing names are left out, and durations of nothing.
 */
#ifndef INGERO_EXPORT_EVENT_ARGS_H
#define INGERO_EXPORT_EVENT_ARGS_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/event/event.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

enum event_arg_kind {
	NOTE_NUMBER,
	NOTE_REAL,
	NOTE_STRING, /* number is a world string */
	NOTE_TEXT,   /* event_arg_text writes it; the same for the same id and number */
};

/* Ids of notes that are no column; below the numbers of columns (formats/ops.def). */
enum event_arg_id { NOTE_ERROR = 1, NOTE_RETURN = 2, NOTE_GPU = 3, NOTE_KERNEL = 4 };

#define EVENT_ARGS_MAX	  (OP_COLUMNS_MAX + 4)
#define EVENT_ARGS_ID_MAX 256 /* columns of higher numbers are not told */

struct event_arg {
	uint16_t id;
	uint8_t kind;	 /* enum event_arg_kind */
	const char *key; /* as in formats/ops.def */
	uint64_t number;
	double real;
};

/* How many were put into notes[0..EVENT_ARGS_MAX). process: the world process it is of. */
unsigned event_args_of(struct event_arg *notes, const struct world *w,
		       const struct late_names *told, const struct event *ev,
		       const struct op_def *op, uint32_t process);

/* Text of a NOTE_STRING or NOTE_TEXT. */
void event_arg_text(struct buf *out, const struct world *w, const struct event_arg *note);

/* Whatever names what an event had to do with: a kernel, a file, a socket, a mark; a world string,
 * 0: nothing does. */
uint32_t event_args_detail(const struct late_names *told, const struct event *ev,
			   const struct op_def *op, uint32_t process);

/* Text from outside as UTF-8: what is none becomes U+FFFD; cut to EVENT_ARGS_TEXT_MAX. */
#define EVENT_ARGS_TEXT_MAX 2048
void event_args_clean(struct buf *out, struct bytes text);

#endif

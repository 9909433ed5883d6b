/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources and ops as the Go agent numbers and names them. Ops that it never had keep our numbers
 * where those are free in its numbering, so that every op has exactly one pair of numbers in an
 * archive, and a pair exactly one op.
 */
#ifndef INGERO_ARCHIVE_CODES_H
#define INGERO_ARCHIVE_CODES_H

#include <stdint.h>

#include "lib/event/event.h"

/* Numbers from here on are those of ops that a recording brought with it. */
#define ARCHIVE_FOREIGN_OP 256

struct archive_code {
	int32_t source, op;
};

struct archive_code archive_code_of(const struct event *ev, const struct op_def *def);

/* Our op of the pair; 0: it has none here. */
uint16_t archive_op_of(int64_t source, int64_t op);

/* arg0 and arg1 of an event as the Go agent has them. What is a thread here is none there: child of
 * a fork as its tid. */
struct archive_args {
	uint64_t v[2];
};
struct archive_args archive_args_of(const struct event *ev, const struct op_def *def,
				    uint32_t child_tid);

/* Whether arg0 is a size that adds up (event_aggregates.sum_arg0). */
bool archive_arg0_adds(const struct op_def *def);

/* Names for the tables sources and ops. The i-th op; false past the last. */
struct archive_code_name {
	struct archive_code code;
	const char *name;	  /* as of the Go agent, where it had the op */
	const struct op_def *def; /* NULL: an op that only it has */
};
bool archive_code_name(unsigned i, struct archive_code_name *out);

struct archive_source_name {
	int32_t id;
	const char *name, *text;
};
extern const struct archive_source_name archive_sources[]; /* ends with a row without a name */

#endif

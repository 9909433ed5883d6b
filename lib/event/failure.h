/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that returned an error: what ask/ finds out and emit/ writes down. Plain values; the texts
 * live as long as the question that was asked.
 */
#ifndef INGERO_EVENT_FAILURE_H
#define INGERO_EVENT_FAILURE_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/event/op.h"

#define FAILURE_SITES 8

struct failure_site {
	uint32_t stack; /* world id, 0: none was taken */
	uint64_t count;
	struct bytes text; /* "load (train.py:41)" */
};

/* One op, one code, one process. */
struct failure {
	const struct op_def *op;
	int32_t ret;
	uint32_t process; /* world id, 0 unknown */
	uint32_t pid;
	struct bytes comm, node;   /* node: its machine's name, empty unknown */
	uint64_t count, inside;	   /* inside: of count, those made by another traced call */
	uint64_t passed_on;	   /* of inside, those that made that call return an error, too: one
				      failure, not two */
	uint64_t dur_ns;	   /* of all of them */
	int64_t first_ns, last_ns; /* their ends, on the recording's clock */
	struct failure_site sites[FAILURE_SITES]; /* most first */
	uint32_t nsites;
	uint64_t elsewhere; /* of count, at further sites */
};

struct failures {
	VEC(struct failure) v; /* most first */
	uint64_t untold; /* failed calls that are not in v: there were too many different ones */
};

#endif

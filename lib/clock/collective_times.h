/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the ranks of communicators called their collectives, and by when each had seen them done, as
 * one recording tells. Known of communicators that were made while it ran: of others sequence
 * numbers do not agree.
 */
#ifndef INGERO_CLOCK_COLLECTIVE_TIMES_H
#define INGERO_CLOCK_COLLECTIVE_TIMES_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"

#define COLLECTIVE_TIMES_MADE \
	UINT64_MAX /* sequence of the making of a communicator, which all ranks wait for */

/* One collective on one rank. */
struct collective_time {
	uint64_t comm; /* first bytes of its ncclUniqueId: the same on all ranks */
	uint64_t sequence;
	uint32_t machine;
	uint32_t rank; /* of what is made */
	uint16_t op;
	int64_t called_ns, done_ns; /* done: seen to be by then; INT64_MAX: not seen */
};

/* Zero-initialised is empty. */
struct collective_time_list {
	VEC(struct collective_time) all;
};

/* Adds those of the recording in fd, which is read with pread and stays where it stands. shift_ns
 * is added to its times. Nothing, when it cannot be sought. */
int collective_times_read(struct collective_time_list *m, int fd, const char *name,
			  uint32_t machine, int64_t shift_ns, struct err *e);

#endif

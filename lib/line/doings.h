/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread did outside its calls since some moment: by state and place, at most DOINGS of them, the largest. Time
 * that the host took is a sum of its own.
 */
#ifndef INGERO_LINE_DOINGS_H
#define INGERO_LINE_DOINGS_H

#include "lib/line/line.h"

#define DOINGS 8

struct doing {
	enum part part;
	uint32_t stack; /* where it went off its CPU, or was found on it most often; 0 not known */
	uint32_t waker; /* thread that ended the wait; 0 none, or not one */
	uint32_t syscall; /* of a wait for a pipe, a file or a socket: number + 1 of where it waits; 0 not known */
	bool timed_out; /* nobody did: its time ran out */
	uint64_t ns;
	struct behind behind; /* what that one did meanwhile */
};

/* Zero-initialised is empty. */
struct doings {
	struct doing v[DOINGS];
	unsigned n;
	uint64_t ns, host_ns;	/* all; of which the host took */
	uint32_t sample, votes; /* the stack that most samples have, if one has half of them */
};

/* The part of a stretch outside calls that lies behind from_ns. */
void doings_add(struct doings *d, const struct line_piece *p, int64_t from_ns);
/* It was found on its CPU. */
void doings_sample(struct doings *d, uint32_t stack);
/* The largest; NULL: nothing. */
const struct doing *doings_most(const struct doings *d);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device had nothing to do for its user (a thread that submits work itself, else all of its
 * process), as its calls show: it has work from the return of a call that submits some to the
 * return of one that waits for it. How much of that time the work itself took is estimated by the
 * usual length of spans with as many calls: where a thread was held up for longer than that, the
 * device was done before.
 */
#ifndef INGERO_TRACKS_DEVICE_USE_H
#define INGERO_TRACKS_DEVICE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* Changes kept of one subject, 1 MiB: of older times it is not known that it had nothing. */
#define DEVICE_CHANGES_MAX 65536
#define DEVICE_CLASSES	   65 /* stretches of 0, 1, … and of 64 calls or more */
/* Of their lengths: 16 in each power of two, from 1 us to 18 minutes. */
#define DEVICE_OCTAVES 30
#define DEVICE_CELLS   (DEVICE_OCTAVES * 16)

struct device_change {
	int64_t ns;
	uint32_t calls;	    /* of the subject, so far, modulo 2^32 */
	uint32_t beyond_us; /* of the stretch before, in which it had work: what was said to be
			       longer than usual */
};

struct device_lengths {
	uint64_t n;
	uint32_t cells[DEVICE_CELLS];
};

struct device_subject {
	VEC(struct device_change) v; /* in order; from one with an even number on it has work */
	bool cut;		     /* older ones are gone */
};

/* Of the stretches of all subjects of one owner. NULL: there are none. */
struct device_usual {
	struct device_lengths *of[DEVICE_CLASSES];
};

/* Zero-initialised is empty. */
struct device_use {
	VEC(struct device_subject *) v;	  /* by its number; NULL: it has submitted nothing */
	VEC(struct device_usual *) usual; /* by owner */
};

/* From then on it has work for the subject, or none, which has made so many calls; a time before
 * the newest is passed over. Subjects of one owner usually take as long as each other. False: out
 * of memory. */
bool device_use_change(struct device_use *u, uint32_t subject, uint32_t owner, int64_t ns,
		       bool busy, uint64_t calls);

/* Whether the subject has submitted anything. */
static inline bool device_use_known(const struct device_use *u, uint32_t subject)
{
	return subject < u->v.n && u->v.v[subject];
}

/* How much of [from_ns, to_ns), in which a thread of it was held up, the device surely had nothing
 * to do. To be asked once of each time: what of a stretch is longer than usual is said of the first
 * that ask. */
uint64_t device_use_idle_ns(struct device_use *u, uint32_t subject, uint32_t owner, int64_t from_ns,
			    int64_t to_ns);

/* The subject is no more, or the owner of some. */
void device_use_forget(struct device_use *u, uint32_t subject);
void device_use_forget_owner(struct device_use *u, uint32_t owner);

void device_use_free(struct device_use *u);

#endif

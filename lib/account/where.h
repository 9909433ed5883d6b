/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where something happened: amounts by process, op and stack. Bounded by WHERE_MAX places; what
 * does not fit goes to a place of its process and op without a stack, of which there are as many
 * again. Of equal places the first one wins.
 */
#ifndef INGERO_ACCOUNT_WHERE_H
#define INGERO_ACCOUNT_WHERE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

#define WHERE_MAX 16384

struct where_place {
	bool used;
	uint32_t subject; /* what else separates the amounts: a world process, a finding's number */
	uint32_t stack;	  /* world id, 0 none */
	uint16_t op;	  /* 0: outside calls */
	uint64_t lost_ns;
	uint64_t affected; /* of count, those that lost something */
	uint64_t count;
	uint64_t sum_ns, max_ns; /* of all of them */
	union {
		uint64_t bytes;	     /* 0: no such thing */
		uint64_t sampled_ns; /* of parts of tracks: the part of lost_ns that CPU samples
					found */
	};
};

/* Zero-initialised is empty. */
struct where {
	struct map by;
	VEC(struct where_place) v;
	VEC(uint32_t) unused;	   /* positions */
	struct where_place beyond; /* what fits nowhere: nobody's */
};

/* The place of this subject, op and stack, made when it is new. NULL: out of memory. */
struct where_place *where_at(struct where *w, uint32_t subject, uint16_t op, uint32_t stack);

/* A call, or stretch, of dur_ns there that lost lost_ns. False: out of memory. */
bool where_add(struct where *w, uint32_t subject, uint16_t op, uint32_t stack, uint64_t lost_ns,
	       uint64_t dur_ns);

/* All places of from are into's, too. False: out of memory. */
bool where_merge(struct where *into, const struct where *from);

/* The subject's places by lost time (then count), most first; at most n. Returns how many. */
unsigned where_top(const struct where *w, uint32_t subject, struct where_place *v, unsigned n);

/* Let go of the subject's places. False: out of memory. */
bool where_forget(struct where *w, uint32_t subject);

void where_free(struct where *w);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is missing from a recording beside events: COVERAGE records of the whole recording whose
 * layer begins with "lost ", such as stacks and names that did not fit the kernel's ring. The
 * newest record of a node says how many in all.
 */
#ifndef INGERO_EVENT_MISSING_H
#define INGERO_EVENT_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

struct missing_row {
	char what[24];	  /* "stacks" */
	char reason[104]; /* empty: it was not said */
	char on[72];	  /* the machine's name; empty: it is not known */
	uint32_t node;	  /* world id; 0: the recording's own */
	uint32_t lost, of;
};
struct missing {
	VEC(struct missing_row) v; /* in the order in which they were first told */
};

/* What a layer says is lost: "stacks"; empty for all other layers. Borrows from it. */
struct bytes missing_what(struct bytes layer);

/* The same of a layer of names that were read late: "kernel names". */
struct bytes missing_late(struct bytes layer);

/* Takes every record; on: what the machine that it names is called. False: out of memory. */
bool missing_record(struct missing *m, const struct record *r, struct bytes on);
void missing_free(struct missing *m);

/* "3 of 40 kernel names lost on gpu-07: ring full"; what and reason are those of the record, where
 * is " on gpu-07" or empty. */
void missing_text(struct buf *out, uint32_t lost, uint32_t of, struct bytes what,
		  struct bytes where, struct bytes reason);

#endif

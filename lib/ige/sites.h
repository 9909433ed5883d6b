/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call sites of a segment being written: what many events of a thread share, each found again
 * by its content. A thread mostly goes the way it went before, so a site knows which one came after
 * it last time: who guesses by that compares one site, and only a wrong guess costs a lookup.
 */
#ifndef INGERO_IGE_SITES_H
#define INGERO_IGE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define IGE_SITE_COLUMNS 4 /* of an op's columns, so many can stand in its sites */

/* Compared byte by byte: unused parts are zero. */
struct ige_site {
	uint16_t op;
	uint16_t args; /* bit i: the op's column i stands here, for every event of this site */
	int32_t ret;
	uint32_t stack;		      /* world id */
	uint32_t present;	      /* of those columns: it has a value */
	uint64_t x[IGE_SITE_COLUMNS]; /* of the columns in args, in their order; 0 where absent */
};

struct ige_sites_entry_ {
	struct ige_site site;
	uint32_t next; /* index + 1 of the one that came after it, 0 none yet */
};

/* Zero-initialised is empty. */
struct ige_sites {
	VEC(struct ige_sites_entry_) list;
	struct ige_sites_slot_ {
		uint32_t tag, at; /* at: index in list + 1, 0 free */
	} * slots;
	uint32_t cap; /* a power of two, or 0 */
};

/* Index of the site in list; UINT32_MAX: not there, or (add) out of memory. */
uint32_t ige_sites_find(struct ige_sites *s, const struct ige_site *site, bool add);

/* The guess was looked at when its event was still to come. */
static inline void ige_sites_fetch(const struct ige_sites *s, uint32_t at)
{
	const char *entry = (const char *)&s->list.v[at];

	__builtin_prefetch(entry);
	__builtin_prefetch(entry + sizeof(s->list.v[0]) - 1);
}
void ige_sites_clear(struct ige_sites *s); /* empty, memory kept */
void ige_sites_free(struct ige_sites *s);

#endif

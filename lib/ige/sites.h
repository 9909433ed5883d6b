/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call sites of a segment being written: what many events of a thread share, each found again
 * by its content. Looked up once per event, so a slot is eight bytes and a site one cache line.
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

/* Zero-initialised is empty. */
struct ige_sites {
	VEC(struct ige_site) list;
	struct ige_sites_slot_ {
		uint32_t tag, at; /* at: index in list + 1, 0 free */
	} * slots;
	uint32_t cap; /* a power of two, or 0 */
};

uint64_t ige_sites_hash(const struct ige_site *site);
/* Index of the site in list; *added: it is new. UINT32_MAX: out of memory. */
uint32_t ige_sites_find(struct ige_sites *s, const struct ige_site *site, uint64_t hash,
			bool *added);

/* What a lookup to come will touch is fetched: first the slot, then, a little later, the site it names. */
static inline void ige_sites_fetch_slot(const struct ige_sites *s, uint64_t hash)
{
	if (s->cap)
		__builtin_prefetch(&s->slots[(uint32_t)hash & (s->cap - 1)]);
}

static inline void ige_sites_fetch_site(const struct ige_sites *s, uint64_t hash)
{
	uint32_t at = s->cap ? s->slots[(uint32_t)hash & (s->cap - 1)].at : 0;

	if (at)
		__builtin_prefetch(&s->list.v[at - 1]);
}
void ige_sites_clear(struct ige_sites *s); /* empty, memory kept */
void ige_sites_free(struct ige_sites *s);

#endif

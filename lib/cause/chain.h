/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding as a CHAIN record: stable id, one sentence, and the evidence as JSON
 * (formats/chain.schema.json). Data first, prose last.
 */
#ifndef INGERO_CAUSE_CHAIN_H
#define INGERO_CAUSE_CHAIN_H

#include "lib/cause/detect/detect.h"
#include "lib/cause/inside.h"

/* Tell the sink about this group as it stands. */
int chain_tell(struct cause *c, const struct tally_group *g, const struct detector *d,
	       int64_t time_ns, struct err *e);

/* The record's body. */
void chain_body(const struct finding *f, const struct detector *d, struct jsonw *j);

/* Shares of what the host took (and of unknown time) from the victim that this group explains, and that nothing explains. */
void chain_shares(const struct cause *c, const struct tally_group *g, double *explained,
		  double *unexplained);

/* The traced call that lost most; 0 when only time outside calls was lost. */
uint16_t chain_op(const struct cause *c, const struct tally_group *g);

/* The group's call sites, or classes, by lost time, most first; at most n. Returns how many. */
struct chain_site {
	uint32_t id;
	uint64_t lost_ns, count;
};
unsigned chain_sites(const struct cause *c, const struct tally_group *g, struct chain_site *v,
		     unsigned n);
unsigned chain_classes(const struct cause *c, const struct tally_group *g, struct chain_site *v,
		       unsigned n);

#endif

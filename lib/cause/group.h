/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the books say about one group: where its time went, by call site and by class, and how much of
 * what the victim lost it explains.
 */
#ifndef INGERO_CAUSE_GROUP_H
#define INGERO_CAUSE_GROUP_H

#include "lib/cause/inside.h"

/* Shares of what the host took (and of unknown time) from the victim that this group explains, and that nothing explains. */
void group_shares(const struct cause *c, const struct tally_group *g, double *explained,
		  double *unexplained);

/* The traced call that lost most; 0 when only time outside calls was lost. */
uint16_t group_op(const struct cause *c, const struct tally_group *g);

/* The group's call sites, or classes, by lost time, most first; at most n. Returns how many. */
struct group_site {
	uint32_t id;
	uint64_t lost_ns, count;
	/* Of a site: its calls, of all stacks with the same call and line. */
	uint64_t calls, sum_ns, max_ns;
};
unsigned group_sites(const struct cause *c, const struct tally_group *g, struct group_site *v,
		     unsigned n);
unsigned group_classes(const struct cause *c, const struct tally_group *g, struct group_site *v,
		       unsigned n);

#endif

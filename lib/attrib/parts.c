/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding up the parts of a stretch of time. The list of takers is small and exact for the
 * largest few: one that is pushed out stays in its category's sum, so nothing is ever lost
 * from the total.
 */
#include "lib/attrib/parts.h"

static void culprit_add(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	unsigned least = 0;

	for (unsigned i = 0; i < p->nculprits; i++) {
		if (p->c[i].culprit == culprit && p->c[i].part == (uint32_t)part) {
			p->c[i].ns += ns;
			return;
		}
		if (p->c[i].ns < p->c[least].ns)
			least = i;
	}
	if (p->nculprits < PARTS_CULPRITS)
		least = p->nculprits++;
	else if (p->c[least].ns >= ns)
		return;
	p->c[least] = (struct part_culprit){ culprit, (uint32_t)part, ns };
}

void parts_blame(struct parts *p, enum part part, uint32_t culprit, uint64_t ns)
{
	if (culprit && ns)
		culprit_add(p, part, culprit, ns);
}

void parts_merge_culprits(struct parts *into, const struct parts *from)
{
	for (unsigned i = 0; i < from->nculprits; i++)
		culprit_add(into, from->c[i].part, from->c[i].culprit, from->c[i].ns);
}

void parts_to_device(struct parts *p)
{
	uint64_t ns = parts_sum(p, PARTS_DEVICE_LIKE);

	if (ns == 0)
		return;
	p->mask &= ~PARTS_DEVICE_LIKE;
	parts_add(p, PART_DEVICE, 0, ns);
}

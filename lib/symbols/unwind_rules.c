/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionary of unwind rules: an open hash table of numbers beside the array of rules, both at
 * their full size from the beginning (768 KB), because the array is also what the walk reads.
 */
#include "lib/symbols/unwind_rules.h"

#include <stdlib.h>

#define SLOTS (2 * UNWIND_RULES_MAX)

struct unwind_rules {
	unsigned n;
	uint64_t rule[UNWIND_RULES_MAX];
	uint16_t slot[SLOTS]; /* 0: free; the rule of that number is never looked for there */
};

struct unwind_rules *unwind_rules_new(void)
{
	struct unwind_rules *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->rule[UNWIND_RULE_NONE] = unwind_rule(UNWIND_NONE, UNWIND_FP_SAME, 0, 0);
	r->n = 1;
	unwind_rules_number(r, unwind_rule(UNWIND_BAD, UNWIND_FP_SAME, 0, 0));
	return r;
}

void unwind_rules_free(struct unwind_rules *r)
{
	free(r);
}

uint16_t unwind_rules_number(struct unwind_rules *r, uint64_t rule)
{
	uint32_t at = (uint32_t)(rule * 0x9e3779b97f4a7c15ull >> 47);

	if (rule == r->rule[UNWIND_RULE_NONE])
		return UNWIND_RULE_NONE;
	for (; r->slot[at]; at = (at + 1) % SLOTS)
		if (r->rule[r->slot[at]] == rule)
			return r->slot[at];
	if (r->n == UNWIND_RULES_MAX)
		return UNWIND_RULE_BAD;
	r->rule[r->n] = rule;
	r->slot[at] = (uint16_t)r->n;
	return (uint16_t)r->n++;
}

const uint64_t *unwind_rules_all(const struct unwind_rules *r, unsigned *n)
{
	*n = r->n;
	return r->rule;
}

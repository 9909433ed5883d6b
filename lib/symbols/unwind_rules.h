/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionary of unwind rules, one for all files: a row of a table holds the 16-bit number of its
 * rule. 52 libraries have 1,363 different ones. Numbers stay what they are; when all are given, a
 * new rule has the number of UNWIND_BAD.
 */
#ifndef INGERO_SYMBOLS_UNWIND_RULES_H
#define INGERO_SYMBOLS_UNWIND_RULES_H

#include <stdint.h>

#include "bpf/unwind_rule.h"

#define UNWIND_RULES_MAX 65536u

/* Numbers of the rules that every dictionary begins with. */
#define UNWIND_RULE_NONE 0
#define UNWIND_RULE_BAD	 1

struct unwind_rules;

/* NULL: no memory. */
struct unwind_rules *unwind_rules_new(void);
void unwind_rules_free(struct unwind_rules *r);

uint16_t unwind_rules_number(struct unwind_rules *r, uint64_t rule);

/* All rules by number; borrowed, at one place for as long as r lives. */
const uint64_t *unwind_rules_all(const struct unwind_rules *r, unsigned *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One chain of the text report: when, how much, who, where, and what to do.
 */
#ifndef INGERO_REPORT_REPORT_CHAIN_H
#define INGERO_REPORT_REPORT_CHAIN_H

#include "lib/report/report.h"

/* One chain in full; at: its number in the report, from 1; summary: its sentence was not printed
 * yet. */
void report_chain(struct buf *out, const struct report *r, const struct finding *c, unsigned at,
		  bool summary, bool color);

/* The same without its first line. */
void report_chain_facts(struct buf *out, const struct report *r, const struct finding *c,
			bool color);

#endif

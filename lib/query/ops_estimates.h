/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there was of calls that were recorded for a part of the time, in an answer about ops.
 */
#ifndef INGERO_QUERY_OPS_ESTIMATES_H
#define INGERO_QUERY_OPS_ESTIMATES_H

#include "lib/query/coverage.h"
#include "lib/query/ops_process.h"
#include "lib/event/ops.h"

/* brief: counted without processes (query/brief.h). */
struct estimate ops_estimate_row(const struct coverage *c, const struct world *w,
				 const struct ops_row *row, const struct coverage_row *covered,
				 bool brief);
/* Of the process at this place. */
struct estimate ops_estimate_process(const struct coverage *c, const struct world *w,
				     const struct ops_processes *processes, size_t at);
/* Lists which tiers were paused in the time that is looked at, and for how much of it. False: out
 * of memory. */
bool ops_estimates_add_paused(struct ops_summary *a, const struct coverage *c);

#endif

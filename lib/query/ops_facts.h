/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What records say about the recording, kept in the answer about its ops: host, clock, what was
 * attached, the node's samples. The newest statement holds.
 */
#ifndef INGERO_QUERY_OPS_FACTS_H
#define INGERO_QUERY_OPS_FACTS_H

#include <stdbool.h>

#include "lib/base/map.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

/* Texts become strings of w. metrics: where in the answer's each is, by metric << 32 | node, and
 * where each library is in theirs. False: out of memory. */
bool ops_facts_add_record(struct ops_summary *a, struct map *metrics, struct world *w,
			  const struct record *rec);

/* Before it is looked at: its metrics by number and node, and metrics says where they are now.
 * False: out of memory. */
bool ops_facts_sort(struct ops_summary *a, struct map *metrics);

#endif

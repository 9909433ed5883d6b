/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers of ops, from the flags in formats/ops.def and, for questions and graph launches, by number.
 */
#include "lib/event/tier.h"

#include <stddef.h>

#include "lib/event/op.h"

enum op_tier op_tier(uint16_t op)
{
	const struct op_def *def = op_builtin(op);

	if (!def || !(def->flags & OP_CALL))
		return TIER_KEPT;
	switch (op) {
	case OP_CUDA_STREAM_QUERY:
	case OP_CUDA_EVENT_QUERY:
	case OP_CUDA_EVENT_ELAPSED_TIME:
	case OP_CU_STREAM_QUERY:
	case OP_CU_EVENT_QUERY:
	case OP_CU_EVENT_ELAPSED_TIME:
		return TIER_QUERIES;
	case OP_CUDA_GRAPH_LAUNCH:
	case OP_CU_GRAPH_LAUNCH:
		return TIER_WAITS;
	}
	if (def->source == SOURCE_NCCL && !(def->flags & (OP_ALLOC | OP_FREE | OP_SYNC)))
		return def->flags & OP_SUBMIT ? TIER_WAITS : TIER_KEPT;
	if (def->flags & OP_LAUNCH)
		return TIER_LAUNCHES;
	if (def->flags & OP_SYNC)
		return def->source == SOURCE_NCCL ? TIER_KEPT : TIER_WAITS;
	if (def->flags & OP_SUBMIT)
		return TIER_SUBMITS;
	if (def->flags & (OP_ALLOC | OP_FREE))
		return TIER_ALLOCATIONS;
	return TIER_KEPT;
}

const char *op_tier_name(unsigned tier)
{
	static const char *const names[TIERS] = { "kept",    "launches",    "queries",
						  "submits", "allocations", "waits" };

	return tier < TIERS ? names[tier] : "?";
}

const char *op_tier_text(unsigned tier)
{
	static const char *const texts[TIERS] = { "calls",
						  "kernel launches",
						  "event and stream queries",
						  "submissions other than launches",
						  "memory calls",
						  "waits" };

	return tier < TIERS ? texts[tier] : "?";
}

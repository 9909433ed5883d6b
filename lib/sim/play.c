/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of plays: scripted workloads that plant a known cause.
 */
#include "lib/sim/plays/plays.h"

#include <string.h>

#include "lib/sim/plays/plays.h"

static const struct sim_play *const plays[] = {
	/* clang-format off */
	&play_copy_overlap,
	&play_alloc_churn,
	&play_gpu_oom,
	&play_fragmentation,
	&play_gpu_leak,
	&play_memory_warm_up,
	&play_memory_sawtooth,
	&play_kv_pressure,
	&play_managed_thrash,
	&play_model_load,
	&play_illegal_access,
	&play_old_driver,
	&play_polling,
	&play_graph_serving,
	&play_graph_recapture,
	&play_graph_pool,
	&play_graph_capture_failed,
	&play_graph_launch_late,
	&play_straggler,
	&play_ranks_ahead,
	&play_rank_hang,
	&play_rank_dies,
	&play_call_hang,
	&play_long_steps,
	&play_clock_skew,
	&play_two_nodes,
	&play_ranks_apart,
	&play_starved,
	&play_tool_call,
	&play_paced,
	&play_worker,
	&play_sync_storm,
	&play_launch_bound,
	&play_slow_down,
	NULL, /* ends the table */
	/* clang-format on */
};

const struct sim_play *const *sim_plays(void)
{
	return plays;
}

const struct sim_play *sim_play_named(const char *name)
{
	for (unsigned i = 0; plays[i]; i++) {
		if (strcmp(plays[i]->name, name) == 0)
			return plays[i];
	}
	return NULL;
}

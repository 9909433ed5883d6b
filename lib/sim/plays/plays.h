/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every play there is; the table is in sim/play.c.
 */
#ifndef INGERO_SIM_PLAYS_PLAYS_H
#define INGERO_SIM_PLAYS_PLAYS_H

#include "lib/sim/play.h"

extern const struct sim_play play_copy_overlap, play_alloc_churn, play_gpu_oom, play_fragmentation,
	play_gpu_leak, play_memory_warm_up, play_memory_sawtooth;
extern const struct sim_play play_straggler, play_ranks_ahead, play_rank_hang, play_rank_dies,
	play_call_hang, play_long_steps, play_clock_skew, play_two_nodes, play_ranks_apart;
extern const struct sim_play play_starved, play_tool_call, play_paced, play_worker, play_sync_storm,
	play_launch_bound, play_slow_down;

extern const struct sim_play play_illegal_access, play_old_driver, play_polling;

extern const struct sim_play play_graph_serving, play_graph_recapture, play_graph_pool,
	play_graph_capture_failed, play_graph_launch_late;

extern const struct sim_play play_kv_pressure, play_managed_thrash, play_model_load;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every detector there is, called in the order of the table in detect/subscriptions.c.
 */
#ifndef INGERO_DETECT_WATCHES_H
#define INGERO_DETECT_WATCHES_H

#include "lib/account/analysis_state.h"

extern const struct watch_def watch_copy_bound, watch_collective_straggler, watch_call_hung,
	watch_hang, watch_clock_skew;
extern const struct watch_def watch_oom_kill, watch_throttle, watch_device_fault, watch_net_loss;
/* memory of a device */
extern const struct watch_def watch_alloc_churn, watch_gpu_oom, watch_gpu_leak;
/* what a device is given */
extern const struct watch_def watch_gpu_work;
/* calls slow in themselves */
extern const struct watch_def watch_periodic_spike, watch_cold_start;
/* of steps */
extern const struct watch_def watch_throughput_drop;

extern const struct watch_def watch_kv_pressure, watch_managed_thrash, watch_model_load;
extern const struct watch_def watch_errors;
extern const struct watch_def watch_graph_recapture, watch_graph_capture_failed,
	watch_graph_launch_late;

#endif

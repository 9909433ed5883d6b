/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of detectors, and what else the files of this room share.
 */
#ifndef INGERO_DETECT_DETECT_INTERNAL_H
#define INGERO_DETECT_DETECT_INTERNAL_H

#include "lib/account/analysis_state.h"
#include "lib/account/loss_detector.h"

/* clang-format off */
/* Detectors that keep numbers of their own, in the order in which they are called. */
#define DETECTORS(X) \
	X(copy_bound) X(alloc_churn) X(gpu_oom) X(gpu_leak) X(kv_pressure) X(managed_thrash) \
	X(model_load) X(errors) X(graph_recapture) X(graph_capture_failed) X(graph_launch_late) \
	X(collective_mismatch) X(collective_straggler) \
	X(clock_skew) /* after straggler, which it learns from */ \
	X(call_hung) X(hang) /* after those that know the call it hangs in */ \
	X(oom_kill) X(throttle) X(device_fault) X(net_loss) X(gpu_work) X(periodic_spike) \
	X(cold_start) X(throughput_drop)

/* Kinds of lost time: a loss is of the first one of its family that it is. */
#define LOSS_DETECTORS(X) \
	X(cpu_oversubscribed) X(noisy_neighbour) X(cpu_contended) X(cpu_preempted) \
	X(cpu_throttled) X(lock_wait) X(disk_stall) X(stopped) X(memory_pressure) X(file_pages) \
	X(step_stall) X(gpu_idle)
/* clang-format on */

#define DETECTOR(name) extern const struct detector detector_##name;
DETECTORS(DETECTOR)
#undef DETECTOR
#define DETECTOR(name) extern const struct loss_detector detect_##name;
LOSS_DETECTORS(DETECTOR)
#undef DETECTOR

/* Programs whose steps stopped: marks the processes that are stuck. After the last event, before
 * anything else is reported, so that what such a wait cost the device is reported with it. */
int hangs_find(struct cause *c, struct err *e);

/* Connects the analysis's line_sink: from now on spans are dispatched. */
void analysis_listener_init(struct cause *c);

/* Out of memory: disconnects all listeners, because the ledger may be inconsistent. The item that
 * is being read fails at its end. */
void cause_gives_up(struct cause *c);

#endif

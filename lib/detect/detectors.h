/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of detectors, in the order in which they are called.
 */
#ifndef INGERO_DETECT_DETECTORS_H
#define INGERO_DETECT_DETECTORS_H

#include "lib/account/analysis_state.h"

/* clang-format off */
#define DETECTORS(X) \
	X(copy_bound) X(alloc_churn) X(gpu_oom) X(gpu_leak) X(kv_pressure) X(managed_thrash) \
	X(model_load) X(errors) X(graph_recapture) X(graph_capture_failed) X(graph_launch_late) \
	X(collective_straggler) X(clock_skew) /* after straggler, which it learns from */ \
	X(call_hung) X(hang) /* after those that know the call it hangs in */ \
	X(oom_kill) X(throttle) X(device_fault) X(net_loss) X(gpu_work) X(periodic_spike) \
	X(cold_start) X(throughput_drop)
/* clang-format on */

#define DETECTOR(name) extern const struct detector detector_##name;
DETECTORS(DETECTOR)
#undef DETECTOR

#endif

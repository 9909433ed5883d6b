/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All kinds of findings, and which one a cause is.
 */
#ifndef INGERO_DETECT_KINDS_H
#define INGERO_DETECT_KINDS_H

#include "lib/account/loss_detector.h"

extern const struct loss_detector detect_cpu_oversubscribed, detect_cpu_preempted,
	detect_cpu_contended, detect_cpu_throttled, detect_lock_wait, detect_disk_stall,
	detect_noisy_neighbour, detect_stopped, detect_memory_pressure, detect_file_pages,
	detect_step_stall, detect_gpu_idle;

/* NULL: none */
const struct loss_detector *detect_for(const struct cause *c, const struct loss *x);
const struct loss_detector *detect_named(const char *kind, enum loss_family family);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds: a new one is a file beside this and a row here.
 */
#include "lib/detect/kinds.h"

#include <string.h>

static const struct loss_detector *const detectors[] = {
	&detect_cpu_oversubscribed, &detect_noisy_neighbour, &detect_cpu_contended,
	&detect_cpu_preempted,	    &detect_cpu_throttled,   &detect_lock_wait,
	&detect_disk_stall,	    &detect_stopped,	     &detect_memory_pressure,
	&detect_file_pages,	    &detect_step_stall,	     &detect_gpu_idle,
};
#define NDETECTORS (sizeof(detectors) / sizeof(detectors[0]))

const struct loss_detector *detect_for(const struct cause *c, const struct loss *x)
{
	for (unsigned i = 0; i < NDETECTORS; i++) {
		if (detectors[i]->family == x->family &&
		    (!detectors[i]->is || detectors[i]->is(c, x)))
			return detectors[i];
	}
	return NULL;
}

const struct loss_detector *detect_named(const char *kind, enum loss_family family)
{
	for (unsigned i = 0; i < NDETECTORS; i++) {
		if (detectors[i]->family == family && strcmp(detectors[i]->kind, kind) == 0)
			return detectors[i];
	}
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somewhere to put a probe: to see whether a kernel takes it, and what it costs.
 */
#ifndef INGERO_PROBE_TRIAL_H
#define INGERO_PROBE_TRIAL_H

#include <stdint.h>

/* Where the function is in the file of our own executable; < 0: not found. */
int probe_trial_offset(uint64_t *offset);
/* Calls it. */
void probe_trial_call(void);

#endif

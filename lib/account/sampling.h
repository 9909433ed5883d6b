/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that show which lines a process computes in. Recordings have CPU samples unless their
 * recorder was started without: the command uses the recording's own samples if it has any.
 */
#ifndef INGERO_ACCOUNT_SAMPLING_H
#define INGERO_ACCOUNT_SAMPLING_H

#include "lib/account/analysis_state.h"
#include "lib/model/finding.h"

/* For a process of the recording. */
const char *sampling_command(const struct cause *c, uint32_t pid, struct finding *to);
/* For one whose calls nobody recorded. */
const char *sampling_command_elsewhere(const struct cause *c, uint32_t pid, struct finding *to);

/* For one on the victim's machine (world process id): of the recording or not. */
const char *sampling_command_peer(const struct cause *c, uint32_t victim, uint32_t pid,
				  struct finding *to);

#endif

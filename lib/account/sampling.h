/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that show which lines a process computes in. Recordings have CPU samples unless their recorder was told otherwise:
 * where they do, their own samples are asked first.
 */
#ifndef INGERO_ACCOUNT_SAMPLING_H
#define INGERO_ACCOUNT_SAMPLING_H

#include "lib/base/buf.h"
#include "lib/account/analysis_state.h"

/* For a process of the recording. */
void sampling_command(const struct cause *c, uint32_t pid, struct buf *out);
/* For one whose calls nobody recorded. */
void sampling_command_elsewhere(const struct cause *c, uint32_t pid, struct buf *out);

#endif

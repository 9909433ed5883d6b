/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream for several readers: a process of its own copies it, and ends with the stream or with
 * the last reader.
 */
#ifndef INGERO_CLI_TEE_H
#define INGERO_CLI_TEE_H

#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"

#define CLI_TEE_MAX 4u /* readers */

/* Copies what comes from in to each of outs[0..n), n <= CLI_TEE_MAX; all of them stay the caller's.
 * A reader that has ended is left out, a slow one is waited for. Returns the process, to be waited
 * for; negative: said in e. */
pid_t cli_tee_start(int in, const int *outs, size_t n, struct err *e);

#endif

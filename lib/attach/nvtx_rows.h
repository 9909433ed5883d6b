/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of NVTX that say something, as libnvToolsExt exports them: which are probed, and
 * what a probe is to know of each. Version 3 of NVTX is a header without a library: there is
 * nothing of it to probe.
 */
#ifndef INGERO_ATTACH_NVTX_ROWS_H
#define INGERO_ATTACH_NVTX_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* By its file name; false, too, when neither ranges nor marks are wanted.
 * "libnvToolsExt-24de1d56.so.1". */
bool probe_nvtx_library(const char *path);

/* The low half of a probe's cookie on the function of that name; false: nothing of NVTX, or not
 * wanted. */
bool probe_nvtx_row(const char *name, uint64_t *cookie);
/* Whether what the function returns is asked for, too. */
bool probe_nvtx_returns(uint64_t cookie);

/* Of this op nothing is to be recorded: before the first file is planned. */
void probe_nvtx_leave_out(uint16_t op);

#endif

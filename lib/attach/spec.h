/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of traced entry points of formats/ops.def, as the kernel side and the attach plan use
 * it: the exported names of each library, their ops, and the sources of the ops' columns.
 */
#ifndef INGERO_ATTACH_SPEC_H
#define INGERO_ATTACH_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/spec.h"

/* PROBE_NVTX: libnvToolsExt, whose functions are no calls but say something; see nvtx_rows.h. */
enum probe_library { PROBE_CUDART, PROBE_LIBCUDA, PROBE_NCCL, PROBE_NVTX, PROBE_LIBRARIES };

enum probe_variant { VARIANT_V = 1, VARIANT_PTSZ = 2, VARIANT_PTDS = 4 };

struct probe_spec {
	const char *name; /* "cudaMemcpyAsync" */
	enum probe_library library;
	unsigned variants;
	bool left_out; /* by probe_spec_leave_out */
	struct op_spec op;
};

/* All of them; the index is the probe's cookie. */
const struct probe_spec *probe_specs(size_t *n);

/* Calls of this op are not to be traced: before the first file is planned. */
void probe_spec_leave_out(uint16_t op);
/* Launches of the driver inside those of the runtime are events of their own, too: before a session
 * is opened. */
void probe_spec_fold_nothing(void);

/* Is name the entry point or one of its variants ("cuMemcpyHtoD_v2_ptds")? */
bool probe_spec_matches(const struct probe_spec *spec, const char *name);

/* Which CUDA library a file of this name is; PROBE_LIBRARIES: none. "libcudart.so.13",
 * "libcudart-d0da41ae.so.11.0". */
enum probe_library probe_library_of(const char *path);

const char *probe_layer(enum probe_library library); /* "runtime" */
uint8_t probe_source(enum probe_library library);    /* enum event_source */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of a GPU in findings: its place in the world, its name.
 */
#ifndef INGERO_ACCOUNT_GPU_NAMES_H
#define INGERO_ACCOUNT_GPU_NAMES_H

#include "lib/base/buf.h"
#include "lib/world/world.h"

/* "GPU NVIDIA H200 (GPU-5f0c…)"; "a GPU" when it is not known. */
void gpu_text(const struct world *w, uint32_t gpu, struct buf *out);
/* Its UUID, or "". */
struct bytes gpu_uuid(const struct world *w, uint32_t gpu);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays about memory and copies.
 */
#include "lib/sim/plays/plays.h"

#define MIB (1u << 20)

enum { COPY_IN, KERNEL, COPY_OUT, WAIT };

/* ---- copies from pinned memory, while kernels run: as many bytes as where copies are the trouble ---- */

static const struct sim_site_def overlap_sites[] = {
	[COPY_IN] = { "prefetch_batch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 38 },
	[KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[COPY_OUT] = { "read_loss", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 79 },
	[WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void overlap_step(struct sim_actor *a)
{
	sim_work(a, 600000);
	act_copy(a, COPY_IN, true, 64 * MIB, 100000);
	for (unsigned i = 0; i < 12; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 350000);
	act_copy(a, COPY_OUT, false, 4, 2000);
	act_synchronize(a, WAIT);
}

const struct sim_play play_copy_overlap = { .name = "copy-overlap",
					    .summary = "many bytes are copied, while kernels run",
					    .sites = overlap_sites,
					    .step = overlap_step };

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

/* ---- the same workspace, allocated and freed in every step ---- */

enum { CHURN_ALLOC, CHURN_FREE, CHURN_KERNEL, CHURN_WAIT };

static const struct sim_site_def churn_sites[] = {
	[CHURN_ALLOC] = { "attention_workspace", "cudaMalloc", "cuMemAlloc_v2", 61 },
	[CHURN_FREE] = { "attention_workspace", "cudaFree", "cuMemFree_v2", 74 },
	[CHURN_KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[CHURN_WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void work_and_wait(struct sim_actor *a, unsigned kernel, unsigned wait)
{
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, kernel, 0x401000 + i * 0x40, 60000);
	sim_work(a, 400000);
	act_synchronize(a, wait);
}

static void churn_step(struct sim_actor *a)
{
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns);

	for (unsigned half = 0; half < 2 && owed > 4000; half++) {
		act_allocate(a, half ? CHURN_FREE : CHURN_ALLOC, !half, 0x7f5000000000, 48 * MIB, 0,
			     owed / 2);
		a->play_ns += a->out.v[a->out.n - 1].dur_ns;
		a->run->truth[PLANT_PLAY].lost_ns += a->out.v[a->out.n - 1].dur_ns;
		a->run->truth[PLANT_PLAY].count += half;
		sim_work(a, 20000);
	}
	work_and_wait(a, CHURN_KERNEL, CHURN_WAIT);
}

const struct sim_play play_alloc_churn = {
	.name = "alloc-churn",
	.summary = "a workspace is allocated and freed in every step",
	.kind = "alloc-churn",
	.culprit = "cudaMalloc",
	.percent = 15,
	.sites = churn_sites,
	.step = churn_step
};

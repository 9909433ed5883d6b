/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays about device memory and copies: failed allocations, slow and redundant copies.
 */
#include "lib/sim/plays/plays.h"

#define MIB (1u << 20)

enum { COPY_IN, KERNEL, COPY_OUT, WAIT };

/* ---- copies from pinned memory, while kernels run: as many bytes as where copies are the trouble
 * ---- */

static const struct sim_site_def overlap_sites[] = {
	[COPY_IN] = { "prefetch_batch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 38 },
	[KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[COPY_OUT] = { "read_loss", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 79 },
	[WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void overlap_step(struct sim_actor *a)
{
	act_copy(a, COPY_IN, true, 64 * MIB, 100000);
	for (unsigned i = 0; i < 12; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 350000);
	sim_work(a, 600000); /* the next batch, while they run */
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

/* ---- the device's memory does not suffice ---- */

enum { OOM_WEIGHTS, OOM_BATCH, OOM_KERNEL, OOM_WAIT };

#define OOM_WEIGHTS_BLOCKS 20
#define OOM_AFTER_PERCENT  70 /* of the recording */

static const struct sim_site_def oom_sites[] = {
	[OOM_WEIGHTS] = { "load_weights", "cudaMalloc", "cuMemAlloc_v2", 22 },
	[OOM_BATCH] = { "grow_batch", "cudaMalloc", "cuMemAlloc_v2", 66 },
	[OOM_KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[OOM_WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void oom_step(struct sim_actor *a)
{
	const struct sim_run *r = a->run;
	int64_t when = r->begin_ns + (r->end_ns - r->begin_ns) / 100 * OOM_AFTER_PERCENT;

	for (unsigned i = 0; a->steps == 0 && i < OOM_WEIGHTS_BLOCKS; i++)
		act_allocate(a, OOM_WEIGHTS, true, 0x7f6000000000 + i * 0x40000000ull, 1024 * MIB,
			     0, 90000);
	if (a->now_ns >= when) {
		act_allocate(a, OOM_BATCH, true, 0, 4096ull * MIB, 2, 60000);
		sim_planted(a, PLANT_PLAY, 0);
		sim_work(a, 30 * SIM_MS); /* it says so */
		sim_actor_event(a, OP_PROC_EXIT, a->now_ns, 0);
		a->now_ns = r->end_ns;
		return;
	}
	work_and_wait(a, OOM_KERNEL, OOM_WAIT);
}

const struct sim_play play_gpu_oom = { .name = "gpu-oom",
				       .summary =
					       "an allocation does not fit, and the process ends",
				       .kind = "gpu-oom",
				       .culprit = "cudaMalloc",
				       .sites = oom_sites,
				       .step = oom_step };

/* ---- room enough, but in pieces ---- */

enum { PIECES_BLOCK, PIECES_LARGE, PIECES_FREE, PIECES_KERNEL, PIECES_WAIT };

#define PIECES	     12
#define PIECES_EVERY 3000 /* steps */

static const struct sim_site_def pieces_sites[] = {
	[PIECES_BLOCK] = { "cache_block", "cudaMalloc", "cuMemAlloc_v2", 33 },
	[PIECES_LARGE] = { "concat_batch", "cudaMalloc", "cuMemAlloc_v2", 71 },
	[PIECES_FREE] = { "empty_cache", "cudaFree", "cuMemFree_v2", 48 },
	[PIECES_KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[PIECES_WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void pieces_step(struct sim_actor *a)
{
	const uint64_t block = 0x7f7000000000, large = 0x7f7800000000;
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns);

	if (a->run->o.play_percent && a->steps % PIECES_EVERY == PIECES_EVERY - 1) {
		int64_t from = a->now_ns;

		act_allocate(a, PIECES_LARGE, true, 0, 512 * MIB, 2, 200000);
		for (unsigned i = 0; i < PIECES; i++)
			act_allocate(a, PIECES_FREE, false, block + i * 0x10000000ull, 0, 0,
				     owed / (PIECES + 1));
		act_allocate(a, PIECES_LARGE, true, large, 512 * MIB, 0, 200000);
		a->play_ns += (uint64_t)(a->now_ns - from);
		sim_planted(a, PLANT_PLAY, (uint64_t)(a->now_ns - from));
		sim_work(a, 300000);
		act_allocate(a, PIECES_FREE, false, large, 0, 0, 40000);
	}
	if (a->steps % PIECES_EVERY < PIECES)
		act_allocate(a, PIECES_BLOCK, true, block + a->steps % PIECES_EVERY * 0x10000000ull,
			     64 * MIB, 0, 40000);
	work_and_wait(a, PIECES_KERNEL, PIECES_WAIT);
}

const struct sim_play play_fragmentation = {
	.name = "fragmentation",
	.summary = "an allocator holds room enough, but in pieces",
	.kind = "fragmentation",
	.culprit = "cudaMalloc",
	.percent = 4,
	.sites = pieces_sites,
	.step = pieces_step,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays in which a process's memory grows: without end, to a plateau, or until it frees it.
 */
#include "lib/sim/plays/plays.h"

#define MIB (1u << 20)

enum { KEEP, CACHE, RELEASE, KERNEL, WAIT };

static const struct sim_site_def sites[] = {
	[KEEP] = { "keep_history", "cudaMalloc", "cuMemAlloc_v2", 87 },
	[CACHE] = { "cache_block", "cudaMalloc", "cuMemAlloc_v2", 33 },
	[RELEASE] = { "drop_cache", "cudaFree", "cuMemFree_v2", 45 },
	[KERNEL] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void work_and_wait(struct sim_actor *a)
{
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 60000);
	sim_work(a, 400000);
	act_synchronize(a, WAIT);
}

/* Of what it needs (blocks of 64 MiB), more and more rarely something new. */
static void warm_up(struct sim_actor *a, unsigned blocks)
{
	if (a->play[0] < blocks && a->steps >= a->play[0] * a->play[0]) {
		act_allocate(a, CACHE, true, 0x7f8000000000 + a->play[0] * 0x10000000, 64 * MIB, 0,
			     60000);
		a->play[0]++;
	}
}

static void leak_step(struct sim_actor *a)
{
	warm_up(a, 40);
	if (a->steps % 50 == 49) {
		act_allocate(a, KEEP, true, 0x7f9000000000 + a->steps * 0x1000000, 4 * MIB, 0,
			     60000);
		sim_planted(a, PLANT_PLAY, 0);
	}
	work_and_wait(a);
}

const struct sim_play play_gpu_leak = { .name = "gpu-leak",
					.summary = "device memory is allocated and never freed",
					.kind = "gpu-leak",
					.culprit = "keep_history",
					.sites = sites,
					.step = leak_step };

static void warm_up_step(struct sim_actor *a)
{
	warm_up(a, 160);
	work_and_wait(a);
}

const struct sim_play play_memory_warm_up = {
	.name = "memory-warm-up",
	.summary = "a cache of device memory fills more and more slowly",
	.sites = sites,
	.step = warm_up_step,
};

#define SAW_BLOCKS 24
#define SAW_STEPS  150 /* between two of them */

static void sawtooth_step(struct sim_actor *a)
{
	uint64_t at = a->steps % (SAW_BLOCKS * SAW_STEPS), block = at / SAW_STEPS;

	if (at == 0 && a->steps) {
		for (uint64_t i = 0; i < SAW_BLOCKS; i++)
			act_allocate(a, RELEASE, false, 0x7f8000000000 + i * 0x10000000, 0, 0,
				     40000);
	}
	if (at % SAW_STEPS == 0)
		act_allocate(a, CACHE, true, 0x7f8000000000 + block * 0x10000000, 64 * MIB, 0,
			     60000);
	work_and_wait(a);
}

const struct sim_play play_memory_sawtooth = {
	.name = "memory-sawtooth",
	.summary = "device memory is filled and let go of, again and again",
	.sites = sites,
	.step = sawtooth_step,
};

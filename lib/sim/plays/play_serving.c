/* SPDX-License-Identifier: Apache-2.0 */
/* Plays in which memory is moved or freed while requests are served. */
#include "lib/sim/plays/plays.h"

#define MIB (1u << 20)

enum { WEIGHTS, CACHE, EVICT, MANAGED, PREFETCH, KERNEL, WAIT };

static const struct sim_site_def sites[] = {
	[WEIGHTS] = { "load_weights", "cudaMalloc", "cuMemAlloc_v2", 22 },
	[CACHE] = { "append_block", "cudaMalloc", "cuMemAlloc_v2", 212 },
	[EVICT] = { "preempt_sequences", "cudaFree", "cuMemFree_v2", 231 },
	[MANAGED] = { "allocate_table", "cudaMallocManaged", "cuMemAllocManaged", 30 },
	[PREFETCH] = { "swap_table", "cudaMemPrefetchAsync", "cuMemPrefetchAsync", 88 },
	[KERNEL] = { "decode", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[WAIT] = { "next_token", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void decode_token(struct sim_actor *a)
{
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 100000);
	sim_work(a, 250000);
	act_synchronize(a, WAIT);
}

/* ---- blocks are cached until nothing is free, then half of them are dropped */

#define BLOCKS	   48
#define BLOCK(i)   (0x7fa000000000 + (i)*0x8000000ull)
#define EACH_STEPS 40 /* a block */

static void counted_last(struct sim_actor *a, bool burst)
{
	uint64_t ns = a->out.v[a->out.n - 1].dur_ns;

	a->play_ns += ns;
	a->run->truth[PLANT_PLAY].lost_ns += ns;
	a->run->truth[PLANT_PLAY].count += burst;
}

static void kv_step(struct sim_actor *a)
{
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns);

	if (a->steps == 0)
		act_allocate(a, WEIGHTS, true, 0x7fb000000000, 512 * MIB, 0, 90000);
	if (a->run->o.play_percent && a->steps % EACH_STEPS == 0) {
		if (a->play[0] == BLOCKS) {
			/* The cost of what follows is what is owed since the last time. */
			for (unsigned i = BLOCKS / 2; i < BLOCKS; i++) {
				act_allocate(a, EVICT, false, BLOCK(i), 0, 0,
					     owed / (BLOCKS / 2 + 1));
				counted_last(a, i == BLOCKS / 2);
			}
			a->play[0] = BLOCKS / 2;
			a->play[1] = 1;
		}
		act_allocate(a, CACHE, true, BLOCK(a->play[0]), 64 * MIB, 0, 40000);
		a->play[0]++;
		if (a->play[1])
			counted_last(a, false);
	}
	decode_token(a);
}

const struct sim_play play_kv_pressure = {
	.name = "kv-pressure",
	.summary = "cached blocks are dropped whenever memory is full",
	.kind = "kv-pressure",
	.culprit = "preempt_sequences",
	.percent = 8,
	.sites = sites,
	.step = kv_step
};

/* ---- managed memory is prefetched to where it was before */

static void prefetch_table(struct sim_actor *a, uint64_t at, uint64_t ns)
{
	struct sim_call c;

	sim_call_begin(a, &c, PREFETCH, 700);
	sim_actor_work(a, ns);
	for (unsigned layer = 0; layer < 2; layer++) {
		struct event *ev = layer ? sim_call_runtime(a, &c, OP_CUDA_MEM_PREFETCH_ASYNC, 300)
					 : sim_call_driver(a, &c, OP_CU_MEM_PREFETCH_ASYNC);

		sim_set(ev, COL_PTR, 0x7fc000000000 + at * 0x40000000);
		sim_set(ev, COL_BYTES, 512 * MIB);
	}
}

#define TABLES 4

static void managed_step(struct sim_actor *a)
{
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns);
	struct sim_call c;

	for (uint64_t i = 0; a->steps == 0 && i < TABLES; i++) {
		sim_call_begin(a, &c, MANAGED, 900);
		sim_work(a, 70000);
		for (unsigned layer = 0; layer < 2; layer++) {
			struct event *ev =
				layer ? sim_call_runtime(a, &c, OP_CUDA_MALLOC_MANAGED, 300)
				      : sim_call_driver(a, &c, OP_CU_MEM_ALLOC_MANAGED);

			sim_set(ev, COL_PTR, 0x7fc000000000 + i * 0x40000000);
			sim_set(ev, COL_BYTES, 1024 * MIB);
		}
		prefetch_table(a, i, 60000);
	}
	if (owed > SIM_MS) {
		prefetch_table(a, a->play[0]++ % TABLES, owed);
		counted_last(a, true);
	}
	decode_token(a);
}

const struct sim_play play_managed_thrash = { .name = "managed-thrash",
					      .summary = "managed memory is moved back and forth",
					      .kind = "managed-thrash",
					      .culprit = "swap_table",
					      .percent = 12,
					      .sites = sites,
					      .step = managed_step };

/* ---- a model is converted by the program, and copied to the device */

enum { LOAD_ROOM, LOAD_COPY, LOAD_KERNEL, LOAD_WAIT };

#define TENSORS 24

static const struct sim_site_def load_sites[] = {
	[LOAD_ROOM] = { "to_device", "cudaMalloc", "cuMemAlloc_v2", 27 },
	[LOAD_COPY] = { "to_device", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 29 },
	[LOAD_KERNEL] = { "decode", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[LOAD_WAIT] = { "next_token", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

static void load_step(struct sim_actor *a)
{
	const struct sim_run *r = a->run;
	/* 13 % of the recording */
	uint64_t each_ns = r->o.duration_ns / 1000 / TENSORS;

	for (uint64_t i = 0; a->steps == 0 && i < TENSORS; i++) {
		sim_actor_work(a, 130 * each_ns);
		act_allocate(a, LOAD_ROOM, true, 0x7fd000000000 + i * 0x10000000, 96 * MIB, 0,
			     60000);
	}
	if (a->steps == 0) {
		for (uint64_t i = 0; i < TENSORS; i++)
			act_copy(a, LOAD_COPY, true, 96 * MIB, 4500000);
		act_synchronize(a, LOAD_WAIT);
		sim_planted(a, PLANT_PLAY, (uint64_t)(a->now_ns - r->begin_ns));
	}
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, LOAD_KERNEL, 0x401000 + i * 0x40, 100000);
	sim_work(a, 250000);
	act_synchronize(a, LOAD_WAIT);
}

const struct sim_play play_model_load = { .name = "model-load",
					  .summary = "a model is converted while it is loaded",
					  .kind = "model-load",
					  .culprit = "to_device",
					  .sites = load_sites,
					  .step = load_step };

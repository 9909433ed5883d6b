/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays in which the device is idle now and then, each for another reason, and plays that use it
 * badly: by waiting after every launch, or by launching more slowly than it works. Apart from what
 * is planted, all of them are the healthy training loop, whose next batch is prepared while the
 * device works.
 */
#include "lib/sim/plays/plays.h"

enum { SYS_READ = 0 }; /* x86-64 */

enum gpu_site {
	AT_COPY_IN,
	AT_FORWARD,
	AT_BACKWARD,
	AT_COPY_OUT,
	AT_SYNC,
	AT_PLANT,
	AT_SMALL,
	AT_CHECK
};

#define KERNELS	     8
#define KERNEL_NS    180000
#define PREPARE_NS   900000
#define PLANT_MIN_NS (3 * SIM_MS)
#define PLANT_MAX_NS (12 * SIM_MS)

#define LOOP_SITES                                                              \
	{ "copy_batch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 42 },        \
		{ "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },   \
		{ "backward_pass", "cudaLaunchKernel", "cuLaunchKernel", 68 },  \
		{ "read_loss", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 79 }, \
	{                                                                       \
		"read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 \
	}

static void step_of(struct sim_actor *a, uint64_t kernel_ns)
{
	act_copy(a, AT_COPY_IN, true, 256 << 10, 15000);
	for (unsigned i = 0; i < KERNELS; i++)
		act_launch(a, i < KERNELS / 2 ? AT_FORWARD : AT_BACKWARD, 0x401000 + i * 0x40,
			   kernel_ns);
	sim_work(a, PREPARE_NS);
	act_copy(a, AT_COPY_OUT, false, 4, 2000);
	act_synchronize(a, AT_SYNC);
}

static void train_step(struct sim_actor *a)
{
	step_of(a, KERNEL_NS);
}

/* Plants the time that is due, ns; 0 when it is still too little for one wait. */
static uint64_t plant_due_ns(struct sim_actor *a)
{
	uint64_t ns = sim_owed(a, a->run->o.play_percent, a->play_ns);

	if (ns < PLANT_MIN_NS)
		return 0;
	ns = ns > PLANT_MAX_NS ? PLANT_MAX_NS : ns;
	a->play_ns += ns;
	sim_planted(a, PLANT_PLAY, ns);
	return ns;
}

/* ---- gpu-idle ---- */

static void starved_step(struct sim_actor *a)
{
	uint64_t ns = plant_due_ns(a);

	if (ns)
		sim_actor_work(a, ns);
	train_step(a);
}

static void tool_step(struct sim_actor *a)
{
	uint64_t ns = plant_due_ns(a);

	if (ns)
		act_socket_wait(a, AT_PLANT, ns);
	train_step(a);
}

static void paced_step(struct sim_actor *a)
{
	uint64_t ns = plant_due_ns(a);

	if (ns)
		act_sleep_for(a, AT_PLANT, ns);
	train_step(a);
}

static void worker_step(struct sim_actor *a)
{
	uint64_t ns = plant_due_ns(a);
	struct sim_sleep why = { .object_kind = OBJECT_FD,
				 .object = 9,
				 .syscall = SYS_READ,
				 .waker_kind = WAKER_TASK,
				 .waker = a->run->cast.holder_thread,
				 .stack = a->run->cast.wait_stack[AT_PLANT] };

	if (ns)
		sim_actor_sleep(a, &why, a->now_ns + (int64_t)ns);
	train_step(a);
}

static const struct sim_site_def starved_sites[] = { LOOP_SITES, { 0 } };
static const struct sim_site_def tool_sites[] = { LOOP_SITES,
						  { "call_tool", "recv", NULL, 31 },
						  { 0 } };
static const struct sim_site_def paced_sites[] = { LOOP_SITES,
						   { "wait_ready", "nanosleep", NULL, 33 },
						   { 0 } };
static const struct sim_site_def worker_sites[] = { LOOP_SITES,
						    { "next_batch", "read", NULL, 35 },
						    { 0 } };

const struct sim_play play_starved = {
	.name = "starved",
	.summary = "batches are prepared while the device has nothing to do",
	.kind = "gpu-idle",
	.culprit = "copy_batch",
	.percent = 20,
	.sites = starved_sites,
	.step = starved_step
};
const struct sim_play play_tool_call = { .name = "tool-call",
					 .summary = "the loop waits for a service on the network",
					 .kind = "gpu-idle",
					 .culprit = "call_tool",
					 .percent = 20,
					 .sites = tool_sites,
					 .step = tool_step };
const struct sim_play play_paced = { .name = "paced",
				     .summary = "the loop sleeps until something is ready",
				     .kind = "gpu-idle",
				     .culprit = "wait_ready",
				     .percent = 20,
				     .sites = paced_sites,
				     .step = paced_step };
const struct sim_play play_worker = { .name = "worker-starved",
				      .summary = "the loop waits for a loader to hand over batches",
				      .kind = "gpu-idle",
				      .culprit = "loader",
				      .percent = 20,
				      .sites = worker_sites,
				      .step = worker_step };

/* ---- sync-storm ---- */

#define STORM_CALLS	256 /* between two steps, at most */
#define STORM_KERNEL_NS 30000
#define STORM_HOST_NS	40000

/* When the newest event of this op ended; now if there is none. */
static int64_t last_end_ns(const struct sim_actor *a, uint16_t op)
{
	for (size_t i = a->out.n; i > 0; i--) {
		if (a->out.v[i - 1].op == op)
			return a->out.v[i - 1].end_ns;
	}
	return a->now_ns;
}

/* Counts the time that the device is idle after one of these waits as planted: from when it is
 * done, play[0], until the next call of op has returned. */
static void plant_idle_time(struct sim_actor *a, uint16_t op)
{
	uint64_t ns = a->play[0] ? (uint64_t)last_end_ns(a, op) - a->play[0] : 0;

	a->play[0] = 0;
	a->play_ns += ns;
	if (ns)
		sim_planted(a, PLANT_PLAY, ns);
}

static void storm_step(struct sim_actor *a)
{
	for (unsigned i = 0; i < STORM_CALLS; i++) {
		if (sim_owed(a, a->run->o.play_percent, a->play_ns) == 0)
			break;
		act_launch(a, AT_SMALL, 0x403000, STORM_KERNEL_NS);
		plant_idle_time(a, OP_CUDA_LAUNCH);
		act_synchronize(a, AT_CHECK);
		a->play[0] = (uint64_t)a->device_ns;
		sim_work(a, STORM_HOST_NS);
	}
	act_copy(a, AT_COPY_IN, true, 256 << 10, 15000);
	plant_idle_time(a, OP_CUDA_MEMCPY_ASYNC);
	train_step(a);
}

static const struct sim_site_def storm_sites[] = {
	LOOP_SITES,
	{ "unused", "cudaLaunchKernel", "cuLaunchKernel", 1 },
	{ "beam_search", "cudaLaunchKernel", "cuLaunchKernel", 95 },
	{ "check_done", "cudaStreamSynchronize", "cuStreamSynchronize", 97 },
	{ 0 }
};

const struct sim_play play_sync_storm = {
	.name = "sync-storm",
	.summary = "the loop waits for the device after every launch",
	.kind = "sync-storm",
	.culprit = "check_done",
	.percent = 20,
	.sites = storm_sites,
	.step = storm_step
};

/* ---- launch-bound ---- */

#define SMALL_KERNELS	64
#define SMALL_KERNEL_NS 2000

static void small_step(struct sim_actor *a)
{
	while (sim_owed(a, a->run->o.play_percent, a->play_ns) > SIM_MS / 2) {
		int64_t from = a->now_ns;
		uint64_t ns;

		for (unsigned i = 0; i < SMALL_KERNELS; i++)
			act_launch(a, AT_SMALL, 0x404000 + i % 16 * 0x40, SMALL_KERNEL_NS);
		ns = (uint64_t)(a->now_ns - from);
		act_synchronize(a, AT_CHECK);
		a->play_ns += ns;
		sim_planted(a, PLANT_PLAY, ns);
	}
	train_step(a);
}

static const struct sim_site_def small_sites[] = {
	LOOP_SITES,
	{ "unused", "cudaLaunchKernel", "cuLaunchKernel", 1 },
	{ "update_parameters", "cudaLaunchKernel", "cuLaunchKernel", 91 },
	{ "update_parameters", "cudaStreamSynchronize", "cuStreamSynchronize", 93 },
	{ 0 }
};

const struct sim_play play_launch_bound = {
	.name = "launch-bound",
	.summary = "kernels are shorter than it takes to launch them",
	.kind = "launch-bound",
	.culprit = "update_parameters",
	.percent = 20,
	.sites = small_sites,
	.step = small_step
};

/* ---- throughput-drop ---- */

/* From some point on every kernel takes longer, so that this share of the time is lost until the
 * end. The larger it is the earlier it begins. play[0], play[1]: steps before that and their time,
 * which tell what a step took. */
static void slowing_step(struct sim_actor *a)
{
	uint64_t percent = a->run->o.play_percent, whole = a->run->o.duration_ns / 100;
	uint64_t from = percent < 50 ? 75 - percent : 25;
	uint64_t slow = percent < 100 - from ? percent : 100 - from - 1; /* of what is left */
	int64_t start = a->now_ns;

	if (percent == 0 || (uint64_t)(start - a->run->begin_ns) < whole * from) {
		train_step(a);
		a->play[0]++;
		a->play[1] += (uint64_t)(a->now_ns - start);
		return;
	}
	step_of(a, KERNEL_NS * (100 - from) / (100 - from - slow));
	if ((uint64_t)(a->now_ns - start) > a->play[1] / a->play[0])
		sim_planted(a, PLANT_PLAY, (uint64_t)(a->now_ns - start) - a->play[1] / a->play[0]);
}

const struct sim_play play_slow_down = { .name = "slow-down",
					 .summary = "kernels take longer from some point on",
					 .kind = "throughput-drop",
					 .culprit = "the GPU",
					 .percent = 20,
					 .sites = starved_sites,
					 .step = slowing_step };

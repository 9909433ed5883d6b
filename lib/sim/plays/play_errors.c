/* SPDX-License-Identifier: Apache-2.0 */
/* Plays in which calls return errors or other codes than success. */
#include "lib/sim/plays/plays.h"

enum { LOAD, COPY_IN, KERNEL, POLL, WAIT };

#define ILLEGAL_ADDRESS	    700
#define INSUFFICIENT_DRIVER 35
#define NOT_READY	    600
#define FAILS_AT_PERCENT    60 /* of the recording */

static const struct sim_site_def sites[] = {
	[LOAD] = { "load_weights", "cudaMalloc", "cuMemAlloc_v2", 22 },
	[COPY_IN] = { "copy_batch", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", 42 },
	[KERNEL] = { "embedding_lookup", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[POLL] = { "poll_stream", "cudaStreamQuery", "cuStreamQuery", 64 },
	[WAIT] = { "read_loss", "cudaStreamSynchronize", "cuStreamSynchronize", 80 },
	{ 0 },
};

/* The call that was made last, in both its layers, returned that. */
static void last_returned(struct sim_actor *a, int32_t ret)
{
	unsigned layers = 2;

	for (size_t i = a->out.n; i > 0 && layers; i--) {
		struct event *ev = &a->out.v[i - 1];

		if (op_builtin(ev->op)->flags & OP_CALL) {
			ev->ret = ret;
			layers--;
		}
	}
}

static void run_batch(struct sim_actor *a)
{
	act_copy(a, COPY_IN, true, 256 << 10, 15000);
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 60000);
	sim_work(a, 400000);
}

static void exit_process(struct sim_actor *a)
{
	sim_work(a, 20 * SIM_MS);
	sim_set(sim_actor_event(a, OP_PROC_EXIT, a->now_ns, 0), COL_STATUS, 1 << 8);
	a->now_ns = a->run->end_ns;
}

static void illegal_step(struct sim_actor *a)
{
	const struct sim_run *r = a->run;

	run_batch(a);
	act_synchronize(a, WAIT);
	if (a->now_ns < r->begin_ns + (r->end_ns - r->begin_ns) / 100 * FAILS_AT_PERCENT)
		return;
	last_returned(a, ILLEGAL_ADDRESS);
	sim_planted(a, PLANT_PLAY, 0);
	act_copy(a, COPY_IN, true, 256 << 10, 0);
	last_returned(a, ILLEGAL_ADDRESS);
	sim_planted(a, PLANT_PLAY, 0);
	exit_process(a);
}

const struct sim_play play_illegal_access = {
	.name = "illegal-access",
	.summary = "a kernel reads where it may not, and the process ends",
	.kind = "errors",
	.culprit = "read_loss",
	.sites = sites,
	.step = illegal_step,
};

static void driver_step(struct sim_actor *a)
{
	sim_work(a, 300 * SIM_MS); /* imports */
	for (unsigned i = 0; i < 2; i++) {
		act_allocate(a, LOAD, true, 0, 64 << 20, INSUFFICIENT_DRIVER, 40000);
		sim_planted(a, PLANT_PLAY, 0);
		sim_work(a, 5 * SIM_MS);
	}
	exit_process(a);
}

const struct sim_play play_old_driver = { .name = "old-driver",
					  .summary = "the driver is older than the runtime needs",
					  .kind = "library-mismatch",
					  .culprit = "load_weights",
					  .sites = sites,
					  .step = driver_step };

/* Asks whether the device is done instead of waiting for it. */
static void polling_step(struct sim_actor *a)
{
	struct sim_call c;

	run_batch(a);
	for (bool ready = false; !ready;) {
		sim_call_begin(a, &c, POLL, 300);
		sim_work(a, 700);
		ready = a->device_ns <= a->now_ns;
		for (unsigned layer = 0; layer < 2; layer++) {
			struct event *ev =
				layer ? sim_call_runtime(a, &c, OP_CUDA_STREAM_QUERY, 200)
				      : sim_call_driver(a, &c, OP_CU_STREAM_QUERY);

			ev->ret = ready ? 0 : NOT_READY;
			sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
		}
		sim_work(a, 12000);
	}
	act_synchronize(a, WAIT);
}

const struct sim_play play_polling = {
	.name = "polling",
	.summary = "the device is asked again and again whether it is done",
	.sites = sites,
	.step = polling_step
};

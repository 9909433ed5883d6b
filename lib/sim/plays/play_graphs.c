/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays of CUDA graphs: captured once and replayed, captured repeatedly, kept, broken, launched
 * late.
 */
#include "lib/sim/plays/plays.h"

enum { BEGIN, KERNEL, END, INSTANTIATE, LAUNCH, DESTROY, DESTROY_EXEC, BREAK, COPY, WAIT };

static const struct sim_site_def sites[] = {
	[BEGIN] = { "capture_decoder", "cudaStreamBeginCapture", "cuStreamBeginCapture_v2", 120 },
	[KERNEL] = { "decoder_layer", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[END] = { "capture_decoder", "cudaStreamEndCapture", "cuStreamEndCapture", 124 },
	[INSTANTIATE] = { "capture_decoder", "cudaGraphInstantiate", "cuGraphInstantiateWithFlags",
			  126 },
	[LAUNCH] = { "decode_step", "cudaGraphLaunch", "cuGraphLaunch", 141 },
	[DESTROY] = { "capture_decoder", "cudaGraphDestroy", "cuGraphDestroy", 129 },
	[DESTROY_EXEC] = { "drop_graph", "cudaGraphExecDestroy", "cuGraphExecDestroy", 133 },
	[BREAK] = { "log_norm", "cudaStreamSynchronize", "cuStreamSynchronize", 61 },
	[COPY] = { "read_token", "cudaMemcpyAsync", "cuMemcpyDtoHAsync_v2", 150 },
	[WAIT] = { "read_token", "cudaStreamSynchronize", "cuStreamSynchronize", 151 },
	{ 0 },
};

#define GRAPH	    0x5582a0000000
#define EXEC	    0x5583b0000000
#define KERNELS	    24
#define INVALIDATED 901
#define UNSUPPORTED 900
#define DEVICE_NS   350000 /* of a launch */

static void call_graph_api(struct sim_actor *a, unsigned site, uint16_t driver, uint16_t runtime,
			   uint64_t ns, uint64_t handle, int32_t ret)
{
	struct sim_call c;

	sim_call_begin(a, &c, site, 600);
	sim_work(a, ns);
	for (unsigned layer = 0; layer < 2; layer++) {
		struct event *ev = layer ? sim_call_runtime(a, &c, runtime, 300)
					 : sim_call_driver(a, &c, driver);

		ev->ret = ret;
		sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
		if (ret == 0) {
			sim_set(ev, COL_GRAPH, GRAPH + handle * 0x40);
			sim_set(ev, COL_EXEC, EXEC + handle * 0x80);
		}
	}
	sim_work(a, 500);
}

/* Captures and, unless it breaks, instantiates a graph. Returns when the capture began. */
static int64_t capture_graph(struct sim_actor *a, uint64_t handle, uint64_t instantiate_ns,
			     bool breaks)
{
	int64_t start = a->now_ns;

	call_graph_api(a, BEGIN, OP_CU_STREAM_BEGIN_CAPTURE, OP_CUDA_STREAM_BEGIN_CAPTURE, 2000, 0,
		       0);
	for (unsigned i = 0; i < KERNELS; i++) {
		act_launch(a, KERNEL, 0x401000 + i * 0x40, 0);
		sim_work(a, 15000); /* the layer's own code */
	}
	if (breaks)
		call_graph_api(a, BREAK, OP_CU_STREAM_SYNC, OP_CUDA_STREAM_SYNC, 900, 0,
			       UNSUPPORTED);
	call_graph_api(a, END, OP_CU_STREAM_END_CAPTURE, OP_CUDA_STREAM_END_CAPTURE, 9000, handle,
		       breaks ? INVALIDATED : 0);
	if (breaks)
		return start;
	call_graph_api(a, INSTANTIATE, OP_CU_GRAPH_INSTANTIATE_WITH_FLAGS,
		       OP_CUDA_GRAPH_INSTANTIATE, instantiate_ns, handle, 0);
	return start;
}

static void launch_graph(struct sim_actor *a, uint64_t handle, uint64_t late_ns)
{
	sim_work(a, 30000);
	sim_submit(a, DEVICE_NS);
	call_graph_api(a, LAUNCH, OP_CU_GRAPH_LAUNCH, OP_CUDA_GRAPH_LAUNCH, 7000 + late_ns, handle,
		       0);
}

static void copy_token(struct sim_actor *a)
{
	act_copy(a, COPY, false, 4, 2000);
	act_synchronize(a, WAIT);
}

/* ---- one graph for each of 40 sizes, made before the first request; then they are launched */

#define SIZES 40

static void serve_step(struct sim_actor *a)
{
	for (unsigned i = 0; a->steps == 0 && i < SIZES; i++) {
		capture_graph(a, i, 2500000, false);
		call_graph_api(a, DESTROY, OP_CU_GRAPH_DESTROY, OP_CUDA_GRAPH_DESTROY, 900, i, 0);
	}
	launch_graph(a, sim_below(&a->random, SIZES), 0);
	copy_token(a);
}

const struct sim_play play_graph_serving = {
	.name = "graph-serving",
	.summary = "graphs are made for many sizes at the start, and launched",
	.sites = sites,
	.step = serve_step,
};

/* ---- a graph for each length, that is then forgotten, or kept */

static void remake_graph(struct sim_actor *a, bool keep)
{
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns), handle = a->play[0];

	if (a->steps == 0 || owed > 4 * SIM_MS) {
		int64_t from;

		if (a->steps && !keep)
			call_graph_api(a, DESTROY_EXEC, OP_CU_GRAPH_EXEC_DESTROY,
				       OP_CUDA_GRAPH_EXEC_DESTROY, 4000, handle, 0);
		handle = a->play[0] += a->steps > 0;
		from = capture_graph(a, handle, 2500000, false);
		if (a->steps) {
			/* up to where the call that instantiated it returned */
			uint64_t ns = (uint64_t)(a->out.v[a->out.n - 1].end_ns - from);

			a->play_ns += ns;
			sim_planted(a, PLANT_PLAY, ns);
		}
		call_graph_api(a, DESTROY, OP_CU_GRAPH_DESTROY, OP_CUDA_GRAPH_DESTROY, 900, handle,
			       0);
	}
	launch_graph(a, handle, 0);
	copy_token(a);
}

static void recapture_step(struct sim_actor *a)
{
	remake_graph(a, false);
}

const struct sim_play play_graph_recapture = {
	.name = "graph-recapture",
	.summary = "a graph is captured anew for every length",
	.kind = "graph-recapture",
	.culprit = "capture_decoder",
	.percent = 25,
	.sites = sites,
	.step = recapture_step,
};

static void pool_step(struct sim_actor *a)
{
	remake_graph(a, true);
}

const struct sim_play play_graph_pool = { .name = "graph-pool",
					  .summary = "a graph is made for every length, and kept",
					  .kind = "graph-pool",
					  .culprit = "capture_decoder",
					  .percent = 25,
					  .sites = sites,
					  .step = pool_step };

/* ---- something in the capture waits for the device */

static void broken_step(struct sim_actor *a)
{
	if (a->steps % 4000 == 100) {
		capture_graph(a, 0, 0, true);
		sim_planted(a, PLANT_PLAY, 0);
	}
	for (unsigned i = 0; i < KERNELS; i++)
		act_launch(a, KERNEL, 0x401000 + i * 0x40, DEVICE_NS / KERNELS);
	copy_token(a);
}

const struct sim_play play_graph_capture_failed = {
	.name = "graph-capture-failed",
	.summary = "a capture is broken by a call that waits for the device",
	.kind = "graph-capture-failed",
	.culprit = "log_norm",
	.sites = sites,
	.step = broken_step,
};

/* ---- now and then a launch takes long */

static void late_step(struct sim_actor *a)
{
	uint64_t owed = sim_owed(a, a->run->o.play_percent, a->play_ns), late = 0;

	if (a->steps == 0)
		capture_graph(a, 0, 2500000, false);
	if (a->steps > 100 && a->steps % 8 == 0)
		late = owed;
	launch_graph(a, 0, 0);
	if (late > SIM_MS) {
		struct sim_call c;
		int64_t from;

		sim_work(a, 30000);
		sim_submit(a, DEVICE_NS);
		from = a->now_ns;
		sim_call_begin(a, &c, LAUNCH, 600);
		sim_actor_work(a, late);
		for (unsigned layer = 0; layer < 2; layer++) {
			struct event *ev =
				layer ? sim_call_runtime(a, &c, OP_CUDA_GRAPH_LAUNCH, 300)
				      : sim_call_driver(a, &c, OP_CU_GRAPH_LAUNCH);

			sim_set(ev, COL_EXEC, EXEC);
			sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
		}
		a->play_ns += (uint64_t)(a->now_ns - from);
		sim_planted(a, PLANT_PLAY, late);
	}
	copy_token(a);
}

const struct sim_play play_graph_launch_late = {
	.name = "graph-launch-late",
	.summary = "a graph is launched again while it runs, and the call waits",
	.kind = "graph-launch-late",
	.culprit = "decode_step",
	.percent = 15,
	.sites = sites,
	.step = late_step,
};

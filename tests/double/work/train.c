/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train: a training-like loop. A step copies a batch to the device, launches forward and backward
 * kernels, prepares the next batch (CPU time of this thread), copies the loss back and waits for
 * the stream. The truth says how long the kernel kept this thread from running meanwhile
 * (run_delay_ns) and what every step took.
 */
#include <stdlib.h>

#include "tests/double/work/work.h"

static struct work_cuda cuda;
static uint64_t steps, seconds, step_us = 1000, device_us = 500, call_us, launches = 8,
				batch_kb = 256;
static const char *sync_mode;

/* What one training process holds on the device. */
struct model {
	void *weights, *batch, *loss, *stream, *pinned;
	float host_loss;
};

#define STAGE __attribute__((noinline)) static

STAGE void prepare_batch(void)
{
	work_burn(step_us * 1000);
}

STAGE int copy_batch(struct model *m)
{
	return cuda.cudaMemcpyAsync(m->batch, m->pinned, batch_kb << 10, 1, m->stream);
}

STAGE int launch(struct model *m, const void *kernel)
{
	struct dim3 grid = { 128, 1, 1 }, block = { 256, 1, 1 };
	void *args[] = { &m->weights, &m->batch };

	return cuda.cudaLaunchKernel(kernel, grid, block, args, 0, m->stream);
}

STAGE int forward_pass(struct model *m)
{
	int rc = 0;

	for (uint64_t i = 0; i < launches / 2; i++)
		rc |= launch(m, "forward_kernel");
	return rc;
}

STAGE int backward_pass(struct model *m)
{
	int rc = 0;

	for (uint64_t i = launches / 2; i < launches; i++)
		rc |= launch(m, "backward_kernel");
	return rc;
}

STAGE int read_loss(struct model *m)
{
	int rc = cuda.cudaMemcpyAsync(&m->host_loss, m->loss, sizeof m->host_loss, 2, m->stream);

	return rc | cuda.cudaStreamSynchronize(m->stream);
}

STAGE int train_step(struct model *m)
{
	int rc = copy_batch(m) | forward_pass(m) | backward_pass(m);

	prepare_batch(); /* the next one, while the device works */
	return rc | read_loss(m);
}

/* The double reads its settings when it is loaded. */
static void set(const char *name, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	setenv(name, text, 0);
}

int main(int argc, char **argv)
{
	struct model m = { 0 };
	struct work_sched before, after;
	uint64_t now, last, longest = 0, shortest = UINT64_MAX, done = 0, errors = 0;
	const struct work_option options[] = {
		{ "steps", WORK_U64, &steps, "steps to make [200 when there is no --seconds]" },
		{ "seconds", WORK_U64, &seconds, "stop after that long" },
		{ "step-us", WORK_U64, &step_us,
		  "CPU time of the host's work in a step, us [1000]" },
		{ "device-us", WORK_U64, &device_us, "device time of a step's kernels, us [500]" },
		{ "call-us", WORK_U64, &call_us, "CPU time of every driver call, us [0]" },
		{ "launches", WORK_U64, &launches, "kernel launches in a step [8]" },
		{ "batch-kb", WORK_U64, &batch_kb,
		  "bytes copied to the device in a step, KiB [256]" },
		{ "sync", WORK_TEXT, &sync_mode,
		  "how waits wait: block, spin, yield, sleep, thread [block]" },
		{ 0 },
	};
	FILE *f;

	work_options(argc, argv, "A training-like loop that knows what it did and what it lost.",
		     options);
	if (!steps)
		steps = seconds ? UINT64_MAX : 200;
	if (launches && device_us)
		set("DOUBLE_LAUNCH_NS", device_us * 1000 / launches);
	if (call_us)
		set("DOUBLE_CALL_NS", call_us * 1000);
	if (sync_mode)
		setenv("DOUBLE_SYNC", sync_mode, 1);
	work_cuda_open(&cuda, NULL);
	work_sched_read(&before);
	last = before.at_ns;
	if (cuda.cudaMalloc(&m.weights, 64 << 20) || cuda.cudaMalloc(&m.batch, batch_kb << 10) ||
	    cuda.cudaMalloc(&m.loss, 256) || cuda.cudaMallocHost(&m.pinned, batch_kb << 10) ||
	    cuda.cudaStreamCreate(&m.stream))
		errors++;
	while (done < steps && (!seconds || last - before.at_ns < seconds * 1000000000u)) {
		uint64_t took;

		errors += train_step(&m) != 0;
		done++;
		now = work_now();
		took = now - last;
		last = now;
		longest = took > longest ? took : longest;
		shortest = took < shortest ? took : shortest;
	}
	cuda.cudaFree(m.loss);
	cuda.cudaFree(m.batch);
	cuda.cudaFree(m.weights);
	cuda.cudaFreeHost(m.pinned);
	work_sched_read(&after);
	f = work_truth_open("train");
	fprintf(f,
		",\"steps\":%llu,\"errors\":%llu,\"start_ns\":%llu,\"wall_ns\":%llu,\"thread_cpu_"
		"ns\":%llu",
		(unsigned long long)done, (unsigned long long)errors,
		(unsigned long long)before.at_ns, (unsigned long long)(after.at_ns - before.at_ns),
		(unsigned long long)(after.cpu_ns - before.cpu_ns));
	fprintf(f, ",\"step_min_ns\":%llu,\"step_max_ns\":%llu", (unsigned long long)shortest,
		(unsigned long long)longest);
	fprintf(f,
		",\"ops\":{\"cudaMalloc\":3,\"cudaMallocHost\":1,\"cudaMemcpyAsync\":%llu,"
		"\"cudaLaunchKernel\":%llu,"
		"\"cudaStreamSynchronize\":%llu,\"cudaFree\":3,\"cudaFreeHost\":1}",
		(unsigned long long)(2 * done), (unsigned long long)(launches * done),
		(unsigned long long)done);
	work_truth_sched(f, &before, &after);
	work_truth_close(f);
	return errors != 0;
}

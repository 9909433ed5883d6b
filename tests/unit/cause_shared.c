/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that two processes share, one of which waits for it in many threads at once: what each of
 * them loses is a share of the time, however many they are. And one that three share: who is told
 * is who had work on it while the victim lost.
 */
#include "tests/unit/kinds.h"

#define LENGTH	(5000 * MS)
#define HALF	(500 * MS)
#define THREADS 8

static struct stage s;

static struct actor on_gpu(uint32_t tgid, uint32_t tid, const char *comm)
{
	struct world_gpu gpu = { .node = s.node, .uuid = world_string(s.w, bytes_of("GPU-1")) };
	struct actor a = stage_actor(&s, tgid, tid, 1, comm);
	struct world_ctx c = *world_get_ctx(s.w, a.ctx);

	c.gpu = world_gpu(s.w, &gpu);
	a.ctx = world_ctx(s.w, &c);
	return a;
}

static void step(struct actor a, int64_t t, int64_t until, uint64_t stream)
{
	stage_set(stage_call(&s, a, OP_CUDA_LAUNCH, 0, t, t + 5 * US), COL_STREAM, stream);
	stage_set(stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, t + 10 * US, until), COL_STREAM,
		  stream);
}

static void steps(struct actor a, int64_t from, int64_t until, int64_t each)
{
	for (int64_t t = from; t + each <= until; t += each)
		step(a, t, t + each - 20 * US, 7);
}

/* The victim loses beside a heavy one, in every other half of a second; a light one had the GPU for
 * long before, works now and then beside both, and is there alone in the end. */
static void three(void)
{
	struct actor victim = on_gpu(100, 100, "train"), heavy = on_gpu(300, 300, "serve"),
		     light = on_gpu(400, 400, "monitor");
	int64_t begin = 4000 * MS, end = begin + LENGTH;

	steps(light, 0, begin - 10 * MS, 4 * MS);
	for (int64_t from = begin; from < end; from += HALF) {
		bool shared = from / HALF % 2;

		steps(victim, from, from + HALF, shared ? 8 * MS : 5 * MS);
		if (!shared)
			continue;
		steps(heavy, from + 100 * US, from + HALF, 4 * MS);
		for (int64_t t = from + MS; t < from + HALF; t += 40 * MS)
			step(light, t, t + MS, 7);
	}
	steps(victim, end, end + HALF, 5 * MS);
	steps(light, end + 100 * US, end + HALF, 4 * MS);
	/* 62 steps in each of five halves of a second; beside the light one nothing takes longer. */
	told_among(&s, "gpu-shared", "serve (pid 300) shares the GPU with train (pid 100)",
		   5 * 62 * 3 * MS);
}

int main(void)
{
	struct actor a[THREADS], peer;

	s = stage_new();
	for (unsigned i = 0; i < THREADS; i++)
		a[i] = on_gpu(100, 100 + i, "train");
	peer = on_gpu(300, 300, "serve");
	/* In every other half of a second the peer works beside; a step then takes 8 ms instead
	 * of 5. */
	for (int64_t from = 0; from < LENGTH; from += HALF) {
		bool shared = from / HALF % 2;
		int64_t each = shared ? 8 * MS : 5 * MS;

		for (int64_t t = from; t + each <= from + HALF; t += each) {
			for (unsigned i = 0; i < THREADS; i++)
				step(a[i], t, t + each, 10 + i);
		}
		for (int64_t t = from; shared && t + 4 * MS < from + HALF; t += 4 * MS)
			step(peer, t + 100 * US, t + 4 * MS, 7);
	}
	tells_of_eight(&s, "gpu-shared", LENGTH);
	three();
	stage_free(&s);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that drives two GPUs in turn: they have nothing to do where neither has.
 */
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define STEP   (10 * MS)

static struct stage s;

/* The thread as it is while this GPU is current. */
static struct actor on_gpu(struct actor a, const char *uuid, uint32_t index)
{
	struct world_gpu gpu = { .node = s.node,
				 .uuid = world_string(s.w, bytes_of(uuid)),
				 .index = index };
	struct world_ctx c = *world_get_ctx(s.w, a.ctx);

	c.gpu = world_gpu(s.w, &gpu);
	a.ctx = world_ctx(s.w, &c);
	return a;
}

static void launch(struct actor a, int64_t t)
{
	stage_set(stage_call(&s, a, OP_CUDA_LAUNCH, 0, t, t + 5 * US), COL_STREAM, 7);
}

static void wait_for(struct actor a, int64_t t, int64_t until)
{
	stage_set(stage_call(&s, a, OP_CUDA_STREAM_SYNC, 0, t, until), COL_STREAM, 7);
}

static void sleeps(struct actor a, int64_t t, int64_t ns)
{
	stage_set(stage_offcpu(&s, a, 0, t, t + ns, 0, 0), COL_OBJECT_KIND, OBJECT_TIMER);
}

/* Chains of gpu-idle with this text, and their time. */
static void idle(const char *text, unsigned n, uint64_t lost_ns, const char *name)
{
	struct kinds_run p;
	unsigned found = 0;
	uint64_t sum = 0;

	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *c = &p.list.v.v[i];

		if (!bytes_equal(c->kind, bytes_of("gpu-idle")) || !strstr(c->summary.p, text))
			continue;
		found++;
		sum += c->lost_ns;
		like(c->summary.p, "left its GPUs without work", "%s: of both", name);
	}
	is_u64(found, n, "%s: chains", name);
	is_u64(sum, lost_ns, "%s: their time", name);
	chain_list_free(&p.list);
}

/* It gives both work and waits for both; in every other half of a second a peer works on the first.
 */
static void shared(struct actor a, struct actor b, struct actor peer)
{
	for (int64_t from = 0; from < LENGTH; from += 500 * MS) {
		bool beside = from / (500 * MS) % 2;
		int64_t each = beside ? 8 * MS : 5 * MS;

		for (int64_t t = from; t + each <= from + 500 * MS; t += each) {
			launch(a, t);
			launch(b, t + 10 * US);
			wait_for(b, t + 20 * US, t + MS);
			wait_for(a, t + MS + 5 * US, t + each - 5 * US);
		}
		for (int64_t t = from; beside && t + 4 * MS < from + 500 * MS; t += 4 * MS) {
			launch(peer, t + 100 * US);
			wait_for(peer, t + 110 * US, t + 4 * MS);
		}
	}
	told_among(&s, "gpu-shared", "serve (pid 300) shares the GPU with train (pid 100)",
		   5 * 62 * 3 * MS);
}

int main(void)
{
	struct actor a, b;

	s = stage_new();
	a = on_gpu(stage_actor(&s, 100, 100, 1, "train"), "GPU-1", 0);
	b = on_gpu(a, "GPU-2", 1);
	for (int64_t t = 0; t < LENGTH; t += STEP) {
		launch(a, t);
		wait_for(a, t + 10 * US, t + 4 * MS);
		launch(b, t + 4 * MS + 5 * US);
		wait_for(b, t + 4 * MS + 20 * US, t + 8 * MS);
		sleeps(b, t + 8 * MS + 10 * US, 1900 * US);
	}
	/* Told once, of the time in which neither has work. */
	idle("a sleep", 1, (LENGTH / STEP - 1) * 1900 * US, "a sleep in each step");
	/* It sleeps between the two, while one of them works. */
	for (int64_t t = 0; t < LENGTH; t += STEP) {
		launch(a, t);
		wait_for(a, t + 10 * US, t + 4 * MS);
		launch(b, t + 4 * MS + 5 * US);
		sleeps(b, t + 4 * MS + 20 * US, 1900 * US);
		launch(a, t + 6 * MS);
		wait_for(b, t + 6 * MS + 10 * US, t + 8 * MS);
		wait_for(a, t + 8 * MS + 5 * US, t + 9990 * US);
	}
	idle("a sleep", 0, 0, "a sleep in which the other GPU works");
	shared(a, b, on_gpu(stage_actor(&s, 300, 300, 1, "serve"), "GPU-1", 0));
	stage_free(&s);
	return tap_done();
}

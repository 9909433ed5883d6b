/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that return errors, and returns that are none.
 */
#include "tests/unit/kinds.h"

#define STEPS 300
#define EVERY (10 * MS)

static struct stage s;
static struct actor v;

static void returns(uint16_t op, uint16_t inner, int64_t t, int32_t ret, int32_t inner_ret)
{
	if (inner)
		stage_call(&s, v, inner, 1, t + US, t + 4 * US)->ret = inner_ret;
	stage_call(&s, v, op, 0, t, t + 5 * US)->ret = ret;
}

static void loop(unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		returns(OP_CUDA_LAUNCH, OP_CU_LAUNCH, i * EVERY, 0, 0);
		returns(OP_CUDA_MEMCPY_ASYNC, 0, i * EVERY + MS, 0, 0);
		/* the device always has something to do, on a stream that nobody waits for */
		stage_set(&s.ev.v[s.ev.n - 1], COL_STREAM, 9);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, i * EVERY + 2 * MS, i * EVERY + 9 * MS);
	}
}

/* Three files of one recording, each of which says which libraries the process has. */
static void each_library_once(void)
{
	static const struct {
		const char *layer, *path;
	} has[] = { { "driver", "/usr/lib/libcuda.so.1" },
		    { "runtime", "/usr/lib/libcudart.so.12" },
		    { "python", "/usr/bin/python3.11" } };
	struct kinds_run p;
	unsigned n = 0;

	for (unsigned i = 0; i < 9; i++) {
		struct record *r = stage_record(&s, RECORD_COVERAGE);

		REC_SET(r, COVERAGE, process, v.process);
		REC_SET(r, COVERAGE, layer, bytes_of(has[i % 3].layer));
		REC_SET(r, COVERAGE, path, bytes_of(has[i % 3].path));
		REC_SET(r, COVERAGE, requested, 120);
		REC_SET(r, COVERAGE, attached, 80 + i);
	}
	returns(OP_CU_INIT, 0, MS, 803, 0);
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		for (size_t k = 0; k < f->evidence.n; k++) {
			struct bytes text = f->evidence.v[k].text;

			if (!bytes_equal(f->evidence.v[k].what, bytes_of("library")))
				continue;
			n++;
			ok(memmem(text.p, text.n, n == 1 ? "86 of 120" : "87 of 120", 9),
			   "as the newest file has it");
		}
	}
	is_u64(n, 2, "each library once");
	chain_list_free(&p.list);
}

int main(void)
{
	int64_t t;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	loop(STEPS);
	for (t = 9500 * US; t < STEPS * EVERY; t += EVERY)
		returns(OP_CUDA_HOST_REGISTER, OP_CU_MEM_HOST_REGISTER, t, 712, 712);
	tells(&s, "errors", "cudaErrorHostMemoryAlreadyRegistered (712) 300 times", 0);

	loop(100);
	returns(OP_CUDA_DEVICE_SYNC, OP_CU_CTX_SYNC, 1000 * MS, 719, 719);
	returns(OP_CUDA_MALLOC, OP_CU_MEM_ALLOC, 1001 * MS, 719, 719);
	stage_event(&s, OP_PROC_EXIT, v.ctx, 0, 1100 * MS, 1100 * MS);
	tells(&s, "errors", "then it stopped", 0);

	/* the machine's recording ends just after, and another's goes on */
	for (unsigned known = 0; known < 2; known++) {
		struct world_node n = { .uuid = { 9, 9, 9 }, .boot = 8 };
		uint32_t node = s.node;
		struct actor other;
		struct record *r;

		loop(100);
		returns(OP_CUDA_HOST_REGISTER, OP_CU_MEM_HOST_REGISTER, 1000 * MS, 712, 712);
		s.node = world_node(s.w, &n);
		other = stage_actor(&s, 200, 200, 1, "other");
		stage_call(&s, other, OP_CUDA_LAUNCH, 0, 20000 * MS, 20001 * MS);
		s.node = node;
		if (known) {
			r = stage_record(&s, RECORD_CLOCK);
			REC_SET(r, CLOCK, mono_ns, 1100 * MS);
			REC_SET(r, CLOCK, node, node);
			never_says(&s, "then it stopped", "whose recording ended");
		} else {
			tells(&s, "errors", "then it stopped", 0);
		}
	}

	returns(OP_CU_INIT, 0, MS, 803, 0);
	tells(&s, "library-mismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803) once", 0);
	each_library_once();

	loop(STEPS);
	for (t = 9500 * US; t < STEPS * EVERY; t += EVERY)
		returns(OP_CUDA_EVENT_QUERY, OP_CU_EVENT_QUERY, t, 600, 600);
	silent(&s, "not ready");

	loop(STEPS);
	for (t = 9500 * US; t < STEPS * EVERY; t += EVERY)
		returns(OP_CUDA_LAUNCH, OP_CU_KERNEL_GET_FUNCTION, t, 0, 500);
	silent(&s, "errors inside calls that succeed");

	loop(STEPS);
	for (t = 9500 * US; t < STEPS * EVERY; t += EVERY)
		returns(OP_CU_MODULE_GET_FUNCTION, 0, t, 500, 0);
	silent(&s, "a module is asked for a function that it does not have");

	loop(STEPS);
	for (t = 9500 * US; t < STEPS * EVERY; t += EVERY)
		returns(OP_NCCL_COMM_GET_ASYNC_ERROR, 0, t, 7, 0);
	silent(&s, "a collective in progress");

	loop(STEPS);
	returns(OP_CUDA_FREE, OP_CU_MEM_FREE, STEPS * EVERY, 4, 4);
	silent(&s, "a free when the library is being unloaded");
	stage_free(&s);
	return tap_done();
}

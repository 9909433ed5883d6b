/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about memory of the device, and what only looks like them.
 */
#include "tests/unit/memory_loop.h"

/* ---- alloc-churn ---- */

static void churn(unsigned i, int64_t t)
{
	(void)i;
	get(t, 300 * US, 0x1000, 32 * MIB);
	put(t + MS, 200 * US, 0x1000);
}

/* At one line 32 MiB, which take long, and at another one MiB, which do not. */
static void two_places(unsigned i, int64_t t)
{
	(void)i;
	line = stack_of("step", "/srv/train.py", 1);
	get(t, 300 * US, 0x1000, 32 * MIB);
	line = stack_of("step", "/srv/train.py", 2);
	get(t + 1300 * US, 60 * US, 0x2000, MIB);
	line = 0;
	put(t + MS, 200 * US, 0x1000);
	put(t + 1400 * US, 40 * US, 0x2000);
}

static void pinned(unsigned i, int64_t t)
{
	(void)i;
	memory(OP_CUDA_MALLOC_HOST, t, 300 * US, 0x1000, 8 * MIB);
	memory(OP_CUDA_FREE_HOST, t + MS, 200 * US, 0x1000, 0);
}

static void registered(unsigned i, int64_t t)
{
	(void)i;
	memory(OP_CUDA_HOST_REGISTER, t, 300 * US, 0x1000, 8 * MIB);
	memory(OP_CUDA_HOST_UNREGISTER, t + MS, 200 * US, 0x1000, 0);
}

/* What a freeing takes is mostly waiting for what the device was given before. */
static void frees_wait(unsigned i, int64_t t)
{
	get(t, 300 * US, 0x1000, 32 * MIB);
	put(t + 400 * US, i == 5 ? 20 * US : 1400 * US, 0x1000);
}

/* Nowhere in what is told. */
static void never_writes(struct stage *at, const char *text)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(at, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		struct buf body = { 0 };

		buf_add(&body, p.list.v.v[i].json.p, p.list.v.v[i].json.n);
		n += strstr(buf_text(&body), text) != NULL;
		buf_free(&body);
	}
	ok(p.list.v.n == 1 && n == 0, "never \"%s\"", text);
	chain_list_free(&p.list);
}

/* One chain: what its first fix gains at least. */
static void gains(uint64_t low_ns)
{
	struct kinds_run p;

	analyze(&s, &p);
	ok(p.list.v.n == 1, "one chain");
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		is_u64(f->fixes.n ? f->fixes.v[0].gain_low_ns : 0, low_ns, "it gains at least");
	}
	chain_list_free(&p.list);
}

static void many_sizes(unsigned i, int64_t t)
{
	get(t, 300 * US, 0x1000, (1 + i * 7 % 16) * MIB);
	put(t + MS, 200 * US, 0x1000);
}

static void cheap_churn(unsigned i, int64_t t)
{
	(void)i;
	get(t, 40 * US, 0x1000, 32 * MIB);
	put(t + MS, 10 * US, 0x1000);
}

static void held_long(unsigned i, int64_t t)
{
	if (i >= 150)
		put(t, 200 * US, 0x1000 + i - 150);
	get(t + MS, 300 * US, 0x1000 + i, 32 * MIB);
}

/* ---- gpu-oom, fragmentation ---- */

static void refuse(int64_t start, uint64_t bytes)
{
	memory(OP_CU_MEM_ALLOC, start + US, 90 * US, 0, bytes)->ret = 2;
	s.ev.v[s.ev.n - 1].depth = 1;
	memory(OP_CUDA_MALLOC, start, 100 * US, 0, bytes)->ret = 2;
}

static void refused_twice(unsigned i, int64_t t)
{
	if (i == 0)
		get(t, 50 * US, 0x1000, 900 * MIB);
	if (i == 100 || i == 400)
		refuse(t, 200 * MIB);
}

/* The device was empty when it was sampled; the process filled it since. */
static void filled_since(unsigned i, int64_t t)
{
	if (i < 80)
		get(t, 50 * US, 0x1000 + i, 200 * MIB);
	if (i == 80)
		refuse(t, 200 * MIB);
}

static void other_errors(unsigned i, int64_t t)
{
	if (i == 0)
		get(t, 50 * US, 0x1000, 900 * MIB);
	if (i % 100 == 50) /* a size of zero */
		memory(OP_CUDA_MALLOC, t, 5 * US, 0, 0)->ret = 1;
}

/* The library tries again inside the call, and the call succeeds. */
static void inner_retry(unsigned i, int64_t t)
{
	if (i % 100 != 50)
		return;
	memory(OP_CU_MEM_ALLOC, t + US, 90 * US, 0, 200 * MIB)->ret = 2;
	s.ev.v[s.ev.n - 1].depth = 1;
	get(t, 100 * US, 0x100000 + i, 200 * MIB);
}

#define PIECES 6

static void in_pieces(unsigned i, int64_t t)
{
	unsigned k = i % 150;

	if (k < PIECES)
		get(t, 50 * US, 0x1000 + k, 60 * MIB);
	if (k != 140)
		return;
	refuse(t, 300 * MIB);
	for (unsigned p = 0; p < PIECES; p++)
		put(t + 150 * US + p * 100 * US, 80 * US, 0x1000 + p);
	get(t + MS, 500 * US, 0x9000, 300 * MIB);
	put(t + 9 * MS + 500 * US, 50 * US, 0x9000);
}

/* What it frees is as large as what it wants: not pieces, but not enough memory for both. */
static void one_or_the_other(unsigned i, int64_t t)
{
	unsigned k = i % 150;

	if (k == 0)
		get(t, 50 * US, 0x1000, 400 * MIB);
	if (k != 140)
		return;
	refuse(t, 300 * MIB);
	put(t + 200 * US, 80 * US, 0x1000);
	get(t + MS, 500 * US, 0x9000, 300 * MIB);
	put(t + 9 * MS + 500 * US, 50 * US, 0x9000);
}

/* Samples of the device that say how much of its 16 GiB is used. */
static void device_uses(double bytes)
{
	for (unsigned i = 0; i < 2; i++) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, 900 * MS);
		REC_SET(&r, SAMPLE, gpu, 1);
		REC_SET(&r, SAMPLE, metric, i ? METRIC_GPU_MEM_TOTAL : METRIC_GPU_MEM_USED);
		REC_SET(&r, SAMPLE, value, i ? 16384.0 * MIB : bytes);
		if (!vec_push(&s.rec, r))
			abort();
	}
}

/* ---- kv-pressure */

#define POOL 40
#define HALF (POOL / 2)

static unsigned pool;
static uint64_t pool_ns; /* what bursts and the getting again take */
static int64_t put_ns = 80 * US;

/* Whenever the pool is full half of it goes. */
static void drops_half(unsigned i, int64_t t)
{
	static bool dropped;

	if (i == 0)
		pool = dropped = 0, pool_ns = 0;
	if (pool == POOL) {
		for (unsigned k = HALF; k < POOL; k++)
			put(t + k * 100 * US - 2 * MS, put_ns, 0x1000 + k);
		pool = HALF;
		pool_ns += (uint64_t)(HALF * put_ns);
		dropped = true;
	}
	get(t + 9500 * US, 50 * US, 0x1000 + pool++, 64 * MIB);
	if (dropped)
		pool_ns += 50 * US;
}

/* The same, far below what was held once. */
static void below_the_ceiling(unsigned i, int64_t t)
{
	if (i == 0) {
		for (unsigned k = 0; k < 4 * POOL; k++)
			get(t + k * 10 * US, 5 * US, 0x9000 + k, 64 * MIB);
		for (unsigned k = 0; k < 4 * POOL; k++)
			put(t + 1600 * US + k * 2 * US, US, 0x9000 + k);
		pool = 0;
		return;
	}
	drops_half(i, t);
}

#define CACHE 10

/* torch.cuda.empty_cache() in each step: all that the next one allocates again. */
static void emptied(unsigned i, int64_t t)
{
	(void)i;
	for (unsigned k = 0; k < CACHE; k++)
		get(t + k * 50 * US, 40 * US, 0x1000 + k, 64 * MIB);
	line = stack_of("empty_cache", "memory.py", 222);
	for (unsigned k = 0; k < CACHE; k++)
		put(t + MS + k * 50 * US, 40 * US, 0x1000 + k);
	line = 0;
}

/* ---- managed-thrash */

static void prefetch(int64_t t, int64_t ns, uint64_t ptr)
{
	memory(OP_CU_MEM_PREFETCH_ASYNC, t + US, ns - 2 * US, ptr, 64 * MIB);
	s.ev.v[s.ev.n - 1].depth = 1;
	memory(OP_CUDA_MEM_PREFETCH_ASYNC, t, ns, ptr, 64 * MIB);
}

static void back_and_forth(unsigned i, int64_t t)
{
	if (i == 0)
		memory(OP_CUDA_MALLOC_MANAGED, t, 50 * US, 0x100000000, 1024ull * MIB);
	prefetch(t + MS, 300 * US, 0x100000000 + i % 2 * 64 * MIB);
}

static void there_already(unsigned i, int64_t t)
{
	if (i == 0)
		memory(OP_CUDA_MALLOC_MANAGED, t, 50 * US, 0x100000000, 1024ull * MIB);
	prefetch(t + MS, 20 * US, 0x100000000);
}

static void each_once(unsigned i, int64_t t)
{
	if (i < 200) {
		memory(OP_CUDA_MALLOC_MANAGED, t, 50 * US, (i + 1) * 0x100000000, 64 * MIB);
		prefetch(t + MS, 900 * US, (i + 1) * 0x100000000);
	}
}

static void piece_by_piece(unsigned i, int64_t t)
{
	if (i == 0)
		memory(OP_CUDA_MALLOC_MANAGED, t, 50 * US, 0x100000000, 200ull * 64 * MIB);
	if (i < 200)
		prefetch(t + MS, 900 * US, 0x100000000 + i * 64ull * MIB);
}

/* ---- model-load */

#define TENSORS 40

/* Room is made and filled, with so much of the program's own work for each; then it runs. */
static void load(int64_t own_ns, uint64_t copied, unsigned kernels)
{
	int64_t t = MS;

	stage_call(&s, v, OP_CUDA_EVENT_RECORD, 0, t, t + US);
	t += US;
	for (unsigned i = 0; i < TENSORS; i++) {
		if (own_ns > 50 * MS) { /* a fifth of it for the disk */
			struct event *ev = stage_offcpu(&s, v, 0, t + MS, t + 21 * MS, 0, 0);

			stage_set(ev, COL_OBJECT_KIND, OBJECT_DISK);
			stage_set(ev, COL_OBJECT, 8 << 20 | 16);
		}
		t += own_ns;
		get(t, 50 * US, 0x100000 + i, 64 * MIB);
		t += 50 * US;
		stage_call(&s, v, OP_CUDA_MEMCPY_ASYNC, 0, t, t + 10 * US);
		stage_set(&s.ev.v[s.ev.n - 1], COL_BYTES, copied);
		stage_set(&s.ev.v[s.ev.n - 1], COL_DIRECTION, 1);
		t += 10 * US;
		for (unsigned k = 0; k < kernels; k++, t += 10 * US)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 5 * US);
	}
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t, t + 20 * MS);
	for (t += 30 * MS; t < STEPS * EVERY; t += EVERY)
		step(t);
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	steps(churn);
	tells(&s, "alloc-churn", "same 32.0 MiB", (STEPS - 1) * 500 * US);
	steps(churn);
	never_writes(&s, "took 200 us, of which 500 us lost");
	steps(two_places);
	tells(&s, "alloc-churn", "same 32.0 MiB again and again", (STEPS - 1) * 600 * US);
	steps(pinned);
	tells(&s, "alloc-churn", "pins and frees the same 8.0 MiB of host memory again and again",
	      (STEPS - 1) * 500 * US);
	steps(registered);
	tells(&s, "alloc-churn", "pins and frees the same 8.0 MiB of host memory again and again",
	      (STEPS - 1) * 500 * US);
	steps(pinned);
	advises(&s, "alloc-churn", "Pin once and reuse");
	steps(frees_wait);
	gains((STEPS - 2) * 320 * US);
	steps(many_sizes);
	silent(&s, "blocks of many sizes are looked for");
	steps(cheap_churn);
	silent(&s, "pairs that take 0.5 % of the time");
	steps(held_long);
	silent(&s, "blocks that are held for 1.5 s");

	steps(refused_twice);
	tells(&s, "gpu-oom", "2 times: 200 MiB in cudaMalloc", 0);
	steps(other_errors);
	tells(&s, "errors", "cudaErrorInvalidValue (1) 10 times", 0);
	steps(inner_retry);
	silent(&s, "refused inside a call that got it in the end");
	steps(in_pieces);
	tells(&s, "fragmentation", "300 MiB although enough was free", 6 * 1500 * US);
	steps(one_or_the_other);
	tells(&s, "gpu-oom", "6 times: 300 MiB", 0);
	device_uses(2000.0 * MIB);
	steps(refused_twice);
	tells(&s, "fragmentation", "although enough was free", 200 * US);

	device_uses(0);
	steps(filled_since);
	tells(&s, "gpu-oom", "once: 200 MiB", 0);
	device_uses(16200.0 * MIB);
	steps(refused_twice);
	tells(&s, "gpu-oom", "cudaMalloc", 0);

	steps(drops_half);
	tells(&s, "kv-pressure", "fills device memory up to 2.5 GiB and gives 1.2 GiB", pool_ns);
	put_ns = 2 * US;
	steps(drops_half);
	silent(&s, "bursts that cost 0.6 % of the time");
	put_ns = 80 * US;
	steps(below_the_ceiling);
	not_told(&s, "kv-pressure", "bursts far below what was held once");

	device_uses(2000.0 * MIB);
	steps(drops_half);
	not_told(&s, "kv-pressure", "bursts of a device that has room");
	steps(emptied);
	told_among(&s, "alloc-churn", "same 64.0 MiB again and again",
		   (CACHE * STEPS - 1) * 80 * US);
	device_uses(2000.0 * MIB);
	steps(emptied);
	advises(&s, "alloc-churn",
		"Leave out empty_cache(): what it gives back is allocated again");

	steps(back_and_forth);
	tells(&s, "managed-thrash", "moves the same managed memory", (STEPS - 2) * 300 * US);
	steps(there_already);
	silent(&s, "managed memory that is there already");
	steps(each_once);
	silent(&s, "managed memory prefetched once");
	steps(piece_by_piece);
	silent(&s, "managed memory prefetched piece by piece");

	load(100 * MS, 64 * MIB, 1);
	told_among(&s, "model-load", "3.20 s of it its own code",
		   US + TENSORS * (100 * MS + 60 * US + 10 * US) - 10 * US);
	load(2 * MS, 64 * MIB, 1);
	not_told(&s, "model-load", "a load as fast as a disk");
	load(100 * MS, MIB, 1);
	not_told(&s, "model-load", "memory that is not filled from the host");
	load(100 * MS, 64 * MIB, 600);
	not_told(&s, "model-load", "memory that is filled while kernels run");
	stage_free(&s);
	return tap_done();
}

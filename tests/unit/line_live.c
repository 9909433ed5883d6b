/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live bytes: each allocation counts once, whichever layers it went through, and random work agrees
 * with simple books kept beside it.
 */
#include "tests/tap.h"

#include "lib/gpustate/allocations.h"
#include "tests/unit/events.h"

static struct stage s;
static struct live *l;
static uint64_t heard[LIVE_ENDED + 1];

static bool hears(void *ctx, const struct live_told *t)
{
	(void)ctx;
	heard[t->what]++;
	return true;
}

static void begin(void)
{
	live_free(l);
	l = live_new(s.w, hears, NULL);
	memset(heard, 0, sizeof(heard));
	s.ev.n = 0;
}

static void run(void)
{
	stage_sort(&s);
	for (size_t i = 0; i < s.ev.n; i++) {
		const struct op_def *op = op_builtin(s.ev.v[i].op);

		if (live_wants(op) && !live_event(l, &s.ev.v[i], op))
			abort();
	}
	s.ev.n = 0;
	if (!live_settle(l, INT64_MAX))
		abort();
}

static struct event *alloc(struct actor a, uint16_t op, unsigned depth, int64_t start, int64_t end,
			   uint64_t ptr, uint64_t bytes)
{
	struct event *ev = stage_call(&s, a, op, depth, start, end);

	ev->stack = op; /* any number: each op is a place of its own */
	stage_set(ev, COL_BYTES, bytes);
	stage_set(ev, COL_PTR, ptr);
	stage_set(ev, COL_HANDLE, ptr);
	return ev;
}

static void release(struct actor a, uint16_t op, unsigned depth, int64_t start, int64_t end,
		    uint64_t ptr)
{
	struct event *ev = stage_call(&s, a, op, depth, start, end);

	stage_set(ev, COL_PTR, ptr);
	stage_set(ev, COL_HANDLE, ptr);
}

/* Through the runtime and the driver inside it. */
static void both(struct actor a, int64_t t, uint64_t ptr, uint64_t bytes)
{
	alloc(a, OP_CU_MEM_ALLOC, 1, t + 1, t + 8, ptr, bytes);
	alloc(a, OP_CUDA_MALLOC, 0, t, t + 10, ptr, bytes);
}

static void holds(uint32_t process, uint64_t bytes, uint64_t peak, const char *name)
{
	const struct live_process *p = live_of(l, process);

	is_u64(p ? live_bytes(p) : 0, bytes, "%s: live bytes", name);
	is_u64(p ? p->peak_bytes : 0, peak, "%s: at most", name);
}

/* The same thread, when that GPU is the one it uses. */
static struct actor on_gpu(struct actor a, uint32_t index)
{
	struct world_ctx c = *world_get_ctx(s.w, a.ctx);

	c.gpu = world_gpu(s.w, &(struct world_gpu){ .node = s.node, .index = index });
	a.ctx = world_ctx(s.w, &c);
	return a;
}

static void layers(struct actor a, struct actor b)
{
	const struct live_process *p;
	uint32_t top[4];

	begin();
	both(a, 100, 0x1000, 64);
	both(a, 200, 0x2000, 32);
	release(a, OP_CU_MEM_FREE, 1, 301, 305, 0x1000);
	release(a, OP_CUDA_FREE, 0, 300, 310, 0x1000);
	run();
	holds(a.process, 32, 96, "two layers");
	p = live_of(l, a.process);
	is_u64(p->allocs, 2, "two layers: two allocations");
	is_u64(p->frees, 1, "one free");
	is_u64(p->unknown_frees, 0, "none of something unknown");
	is_u64(heard[LIVE_ALLOCATED], 2, "told twice");
	is_u64(live_top(l, a.process, false, top, 4), 1, "one place holds");
	is_int(l->sites.v[top[0]].op, OP_CUDA_MALLOC,
	       "the runtime's call is what the program made");
	is_u64(l->sites.v[top[0]].peak_bytes, 96, "its own peak");

	begin();
	alloc(a, OP_CU_MEM_ALLOC, 1, 101, 105, 0x1000, 64); /* inside a launch */
	stage_call(&s, a, OP_CUDA_LAUNCH, 0, 100, 110);
	run();
	holds(a.process, 64, 64, "an allocation inside another kind of call");

	begin();
	alloc(a, OP_CU_MEM_CREATE, 1, 101, 105, 0x77, 2 << 20);
	alloc(a, OP_NCCL_MEM_ALLOC, 0, 100, 110, 0x9000, 1 << 20);
	release(a, OP_CU_MEM_RELEASE, 1, 201, 205, 0x77);
	release(a, OP_NCCL_MEM_FREE, 0, 200, 210, 0x9000);
	run();
	holds(a.process, 0, 1 << 20, "a library's allocation, made of others");
	is_u64(live_of(l, a.process)->unknown_frees, 0, "and freed whole");

	begin();
	alloc(a, OP_CU_MEM_ALLOC, 1, 101, 105, 0, 64)->ret = 2;
	alloc(a, OP_CUDA_MALLOC, 0, 100, 110, 0, 64)->ret = 2;
	alloc(a, OP_CU_MEM_ALLOC, 1, 201, 205, 0, 64)->ret = 2;
	alloc(a, OP_CUDA_MALLOC, 0, 200, 220, 0x3000, 64); /* tried again inside */
	run();
	holds(a.process, 64, 64, "failures hold nothing");
	is_u64(live_of(l, a.process)->failed, 1, "one of them failed in the end");

	begin();
	both(a, 100, 0x1000, 64);
	release(b, OP_CUDA_FREE, 0, 200, 210, 0x1000);
	release(b, OP_CUDA_FREE, 0, 220, 230, 0x5000);
	release(b, OP_CUDA_FREE, 0, 240, 250, 0);
	run();
	holds(a.process, 0, 64, "freed by another thread");
	is_u64(live_of(l, a.process)->unknown_frees, 1,
	       "one free of something unknown, none of NULL");

	begin();
	both(a, 100, 0x1000, 64);
	both(a, 200, 0x1000, 16);
	run();
	holds(a.process, 16, 64, "a pointer handed out again: its free was lost");
	is_u64(live_of(l, a.process)->replaced, 1, "and that is counted");

	begin();
	for (int64_t t = 100; t < 1000; t += 100) {
		alloc(a, OP_CUDA_MALLOC, 0, t, t + 10, 0, 0); /* nothing was asked for, and got */
		alloc(a, OP_CUDA_MALLOC, 0, t + 20, t + 30, 0x1000, 0); /* how much is not known */
		release(a, OP_CUDA_FREE, 0, t + 40, t + 50, 0x1000);
	}
	run();
	is_u64(live_of(l, a.process)->n, 0, "of blocks without a size none is left");
	is_u64(live_of(l, a.process)->replaced, 0, "and no free was lost");

	begin();
	alloc(a, OP_CUDA_MALLOC_MANAGED, 0, 100, 110, 0x1000, 64);
	alloc(a, OP_CUDA_MALLOC_HOST, 0, 120, 130, 0x2000, 128);
	alloc(a, OP_CUDA_MALLOC_ASYNC, 0, 140, 150, 0x3000, 32);
	run();
	p = live_of(l, a.process);
	holds(a.process, 96, 96, "pinned memory is the host's");
	is_u64(p->bytes[LIVE_MANAGED], 64, "managed");
	is_u64(p->bytes[LIVE_PINNED], 128, "pinned");
	stage_call(&s, a, OP_CUDA_DEVICE_RESET, 0, 200, 300);
	run();
	holds(a.process, 0, 96, "after a reset of the device");
	is_u64(p->n, 0, "nothing is left");

	begin();
	both(on_gpu(a, 1), 100, 0x1000, 64);
	both(on_gpu(a, 2), 120, 0x2000, 32);
	both(a, 140, 0x3000, 16);
	stage_call(&s, on_gpu(a, 2), OP_CUDA_DEVICE_RESET, 0, 200, 300);
	run();
	holds(a.process, 64, 112, "a reset is of one device, and of what may be on it");

	begin();
	both(a, 100, 0x1000, 64);
	stage_event(&s, OP_PROC_EXIT, b.ctx, 0, 150, 150); /* another of its threads */
	both(a, 160, 0x2000, 64);
	stage_event(&s, OP_PROC_EXIT, a.ctx, 0, 200, 200);
	run();
	holds(a.process, 128, 128, "what an ended process held is remembered");
	ok(live_of(l, a.process)->ended, "and that it ended");
	is_u64(l->block_by.n, 0, "its pointers are forgotten");
	is_u64(heard[LIVE_ENDED], 1, "told once");
}

static void history(struct actor a)
{
	const struct live_history *h;
	uint64_t most = 0;

	begin();
	for (int64_t t = 0; t < 100000 * MS; t += 50 * MS)
		both(a, 1000 * MS + t, 0x10000 + (uint64_t)t, 10);
	run();
	h = &live_of(l, a.process)->history;
	ok(h->n > LIVE_POINTS / 2 - 2 && h->n <= LIVE_POINTS, "a history of %u points", h->n);
	ok(h->span_ns * h->n >= 99000 * MS, "covers all of it");
	for (unsigned i = 0; i < h->n; i++) {
		if (h->v[i].most < most || h->v[i].least > h->v[i].most)
			break;
		most = h->v[i].most;
	}
	is_u64(most, 20000, "what only grows is seen growing, to the end");
}

#define POINTERS 200

static void at_random(struct actor *a)
{
	uint64_t held[2][POINTERS] = { { 0 } }, sum[2] = { 0 }, peak[2] = { 0 }, state = 42;
	int64_t t = 0;

	begin();
	for (unsigned i = 0; i < 20000; i++, t += 20) {
		unsigned who, at;

		state = state * 6364136223846793005u + 1442695040888963407u;
		who = state >> 40 & 1;
		at = (unsigned)(state >> 33) % POINTERS;
		if (held[who][at]) {
			release(a[who * 2 + (state >> 50 & 1)], OP_CU_MEM_FREE, 0, t, t + 10,
				at + 1);
			sum[who] -= held[who][at];
			held[who][at] = 0;
		} else {
			held[who][at] = 1 + (state >> 20 & 0xffff);
			both(a[who * 2 + (state >> 50 & 1)], t, at + 1, held[who][at]);
			sum[who] += held[who][at];
			peak[who] = sum[who] > peak[who] ? sum[who] : peak[who];
		}
	}
	run();
	holds(a[0].process, sum[0], peak[0], "at random, one process");
	holds(a[2].process, sum[1], peak[1], "and another with the same pointers");
	ok(l->blocks.n <= 2 * POINTERS, "memory grows with what is live: %zu", l->blocks.n);
	for (unsigned at_peak = 0; at_peak < 2; at_peak++) {
		uint64_t all = 0;
		uint32_t top[8];
		unsigned n = live_top(l, a[0].process, at_peak, top, 8);

		for (unsigned i = 0; i < n; i++)
			all += at_peak && l->sites.v[top[i]].peak_seen ==
						       live_of(l, a[0].process)->peaks
				       ? l->sites.v[top[i]].at_peak_bytes
				       : l->sites.v[top[i]].bytes;
		is_u64(all, at_peak ? peak[0] : sum[0], "places add up to the process");
	}
}

/* The first thread of a process has ended, and another one goes on allocating: it is not let go of
 * before it has freed that. */
static void lives_on(void)
{
	struct actor a, b, other;
	int64_t t = 0;

	begin();
	for (uint32_t i = 0; i < LIVE_TOLD; i++, t += 20)
		both(stage_actor(&s, 1000 + i, 1000 + i, 1, "early"), t, 1, 1);
	a = stage_actor(&s, 300, 300, 1, "late");
	b = stage_actor(&s, 300, 301, 1, "late");
	other = stage_actor(&s, 400, 400, 1, "later");
	both(a, t, 7, 100);
	stage_event(&s, OP_PROC_EXIT, a.ctx, 0, t + 20, t + 20);
	both(b, t + 40, 8, 200);
	run();
	ok(live_forget(l, a.process), "whose first thread ended");
	both(other, t + 60, 9, 300);
	release(b, OP_CUDA_FREE, 0, t + 80, t + 90, 8);
	run();
	holds(other.process, 300, 300, "who came after it");
	for (size_t i = 0, n = 0; i < l->sites.n; i++) {
		const struct live_site *x = &l->sites.v[i];

		n += x->bytes > 1000;
		if (i + 1 == l->sites.n)
			is_u64(n, 0, "no place holds less than nothing");
	}
	holds(a.process, 100, 300, "and it, what its first thread left with it");
	ok(live_forget(l, a.process) && !live_of(l, a.process), "then it is let go of");
}

int main(void)
{
	struct actor a[4];

	s = stage_new();
	a[0] = stage_actor(&s, 100, 100, 1, "train");
	a[1] = stage_actor(&s, 100, 101, 1, "train");
	a[2] = stage_actor(&s, 200, 200, 1, "other");
	a[3] = stage_actor(&s, 200, 201, 1, "other");
	layers(a[0], a[1]);
	history(a[0]);
	at_random(a);
	lives_on();
	live_free(l);
	stage_free(&s);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that a thread waits for, and copies that only look like it.
 */
#include "tests/unit/kinds.h"

#define STEPS 500
#define EVERY (10 * MS)

static struct stage s;
static struct actor v;

static void copy(uint16_t op, int64_t start, int64_t ns, uint64_t bytes, uint64_t direction)
{
	struct event *ev = stage_call(&s, v, op, 0, start, start + ns);

	stage_set(ev, COL_BYTES, bytes);
	stage_set(ev, COL_DIRECTION, direction);
}

/* Copies that return when the bytes have been moved: what is said of their memory. */
static void memory_kind(bool pins, const char *says, const char *action)
{
	struct kinds_run p;
	unsigned n = 0;

	if (pins)
		stage_call(&s, v, OP_CUDA_MALLOC_HOST, 0, 0, 50 * US);
	for (int64_t t = MS; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY_ASYNC, t, 3 * MS, 16 << 20, 1);
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 4 * MS, t + 4 * MS + 5 * US);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 5 * MS, t + EVERY - MS);
	}
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];
		struct bytes text = { 0 };

		if (!bytes_equal(f->kind, bytes_of("copy-bound")))
			continue;
		n++;
		for (size_t k = 0; k < f->evidence.n; k++)
			if (bytes_equal(f->evidence.v[k].what, bytes_of("host memory")))
				text = f->evidence.v[k].text;
		ok(text.p && memmem(text.p, text.n, says, strlen(says)), "\"%s\", not \"%.*s\"",
		   says, (int)text.n, text.p ? text.p : "");
		text = f->fixes.n ? f->fixes.v[0].action : (struct bytes){ 0 };
		ok(text.p && memmem(text.p, text.n, action, strlen(action)), "\"%s\": %.*s", action,
		   (int)text.n, text.p ? text.p : "");
	}
	is_u64(n, 1, "%s pinned memory: copy-bound", pins ? "with" : "without");
	chain_list_free(&p.list);
}

static void kernel(int64_t start)
{
	stage_call(&s, v, OP_CUDA_LAUNCH, 0, start, start + 5 * US);
}

int main(void)
{
	int64_t t;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, 2 * MS, 16 << 20, 1);
		kernel(t + 2 * MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 4 * MS, t + EVERY);
	}
	tells(&s, "copy-bound", "to the device", STEPS * 2 * MS);

	/* memory that is not pinned: the asynchronous call returns when the bytes have been moved */
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY_ASYNC, t, 3 * MS, 16 << 20, 1);
		kernel(t + 4 * MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 5 * MS, t + EVERY);
	}
	tells(&s, "copy-bound", "to the device", STEPS * 3 * MS);

	/* of a copy that waits for kernels, what other copies take for so many bytes */
	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, MS, 8 << 20, 2);
		kernel(t + MS);
		copy(OP_CUDA_MEMCPY, t + 4 * MS, 6 * MS, 8 << 20, 2);
	}
	tells(&s, "copy-bound", "from the device", STEPS * (2 * MS + 20 * US));

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY_ASYNC, t, 8 * US, 64 << 20, 1);
		kernel(t + MS);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 2 * MS, t + EVERY);
	}
	silent(&s, "copies that go on while kernels run");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		kernel(t);
		copy(OP_CUDA_MEMCPY, t + MS, 9 * MS, 4, 2);
	}
	silent(&s, "the loss is read with a copy, which waits for the kernels");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		copy(OP_CUDA_MEMCPY, t, 80 * US, 512 << 10, 1);
		kernel(t + 80 * US);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 2 * MS, t + EVERY);
	}
	silent(&s, "copies that take 0.8 % of the time");

	for (t = 0; t < STEPS * EVERY; t += EVERY) {
		for (unsigned i = 0; i < 20; i++)
			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + i * 100 * US,
				   t + i * 100 * US + 60 * US);
		copy(OP_CUDA_MEMCPY_ASYNC, t + 3 * MS, 130 * US, 256 << 10, 1);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 4 * MS, t + EVERY);
	}
	silent(&s, "where every submission is slow, copies are too");
	memory_kind(false, "pageable", "Copy from pinned memory");
	memory_kind(true, "though the process has pinned memory", "Look whether these bytes");
	stage_free(&s);
	return tap_done();
}

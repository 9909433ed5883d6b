/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs without Python frames whose loop pauses for another one: epochs of training steps, each
 * with a validation of many equal calls behind it.
 */
#include "tests/tap.h"

#include "tests/unit/loops_play.h"

static void train(struct play *p, int steps)
{
	for (int i = 0; i < steps; i++) {
		call_in(p, p->a, OP_CUDA_MEMCPY_ASYNC, "copy_batch");
		call_in(p, p->a, OP_CUDA_STREAM_SYNC, "read_loss");
		call_in(p, p->a, OP_CUDA_STREAM_SYNC, "main");
	}
}

static void validate(struct play *p, int batches)
{
	for (int i = 0; i < batches; i++)
		call_in(p, p->a, OP_CUDA_STREAM_SYNC, "validate");
}

static void training(struct play *p)
{
	train(p, 300);
}

static void epochs(struct play *p)
{
	for (int epoch = 0; epoch < 5; epoch++) {
		train(p, 60);
		validate(p, 25);
	}
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(struct play *p);
	} rows[] = {
		{ "training alone", training },
		{ "epochs with a validation", epochs },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct play p = play_new();
		int at;

		play_begin(&p);
		rows[i].run(&p);
		if (loops_finish(p.loops, NULL))
			abort();
		at = loops_main(p.loops, p.a.thread);
		is_u64(at >= 0 ? loops_get(p.loops, (size_t)at)->estimate : 0, 300, "%s: 300 steps",
		       rows[i].name);
		is_u64(p.disorder, 0, "%s: in order", rows[i].name);
		play_free(&p);
	}
	return tap_done();
}

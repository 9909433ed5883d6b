/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something is lost: as often as the thread waited, or as there are steps, at however
 * many lines whoever it waited for was met meanwhile.
 */
#include "tests/unit/kinds.h"

#define STEP  (10 * MS)
#define STEPS 400
#define LINES 9

static struct stage s;
static struct actor v, holder;

static uint32_t place(const char *function, unsigned line)
{
	return python_stack(&s, "/srv/train.py", function, line);
}

/* The holder of the lock computes at all of its lines, in turn, while it is waited for. */
static void locked(int64_t t)
{
	struct event *ev = stage_lock(&s, v, 0, t + 3 * MS, t + 9 * MS, t + 9 * MS, holder, 0x7000);

	ev->stack = place("take", 31);
	for (unsigned k = 0; k < LINES; k++)
		stage_event(&s, OP_CPU_SAMPLE, holder.ctx, 0, t + 3200 * US + k * 600 * US,
			    t + 3200 * US + k * 600 * US)
			->stack = place("hold", 50 + k);
	stage_set(stage_offcpu(&s, holder, 0, t + 9100 * US, t + STEP + MS, 0, 1), COL_OBJECT_KIND,
		  OBJECT_TIMER);
}

/* Its own code, at as many lines. */
static void computes(int64_t t)
{
	for (unsigned k = 0; k < LINES; k++)
		stage_event(&s, OP_CPU_SAMPLE, v.ctx, 0, t + 3200 * US + k * 600 * US,
			    t + 3200 * US + k * 600 * US)
			->stack = place("prepare", 50 + k);
}

static const struct shape {
	const char *name, *kind;
	void (*beside)(int64_t t);
	uint64_t times;
} shapes[] = {
	{ "a lock, whose holder is met at many lines", "lock-wait", locked, STEPS },
	{ "own code at many lines", "gpu-idle", computes, STEPS },
};

static void judge(const struct shape *x)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		printf("# %s\n", f->summary.p);
		if (!bytes_equal(f->kind, bytes_of(x->kind)))
			continue;
		n++;
		ok(f->count > x->times * 97 / 100 && f->count <= x->times + 1,
		   "%s: %" PRIu64 " times, of %" PRIu64, x->name, f->count, x->times);
		for (size_t k = 0; k < f->sites.n; k++)
			ok(f->sites.v[k].affected <= f->count, "no line more often");
	}
	is_u64(n, 1, "%s: %s", x->name, x->kind);
	chain_list_free(&p.list);
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "train");
	holder = stage_actor(&s, 100, 101, 1, "writer");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		for (int64_t t = 0; t < STEPS * STEP; t += STEP) {
			for (unsigned k = 0; k < 4; k++)
				stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + k * 100 * US,
					   t + k * 100 * US + 10 * US)
					->stack = place("forward", 10 + k);
			stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 500 * US, t + 2 * MS)->stack =
				place("read_loss", 60);
			shapes[i].beside(t);
		}
		judge(&shapes[i]);
	}
	stage_free(&s);
	return tap_done();
}

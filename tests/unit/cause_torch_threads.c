/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be done about a thread that has the interpreter: PyTorch's own cannot be moved to
 * another process.
 */
#include "tests/unit/kinds.h"

#define STEP (10 * MS)

static const struct shape {
	const char *thread, *action;
} shapes[] = {
	{ "writer", "work in a process of its own" },
	{ "pt_data_pin", "Pin less" },
	{ "pt_autograd_0", "Leave Python out of the backward pass" },
};

static void judge(struct stage *s, const struct shape *x)
{
	struct kinds_run p;
	unsigned n = 0;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];
		struct bytes action = f->fixes.n ? f->fixes.v[0].action : (struct bytes){ 0 };

		if (!bytes_equal(f->kind, bytes_of("lock-wait")))
			continue;
		n++;
		ok(action.p && memmem(action.p, action.n, x->action, strlen(x->action)),
		   "%s: \"%.*s\"", x->thread, (int)action.n, action.p ? action.p : "");
	}
	is_u64(n, 1, "%s: lock-wait", x->thread);
	chain_list_free(&p.list);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train"),
			     holder = stage_actor(&s, 100, 101, 1, shapes[i].thread);

		for (int64_t t = 0; t < 400 * STEP; t += STEP) {
			struct event *ev;

			stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US);
			stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 500 * US, t + 2 * MS);
			ev = stage_lock(&s, v, 0, t + 3 * MS, t + 9 * MS, t + 9 * MS, holder,
					0x7000);
			stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
			stage_set(ev, COL_FUTEX_OP, 9);
			stage_set(stage_offcpu(&s, holder, 0, t + 9100 * US, t + STEP + MS, 0, 1),
				  COL_OBJECT_KIND, OBJECT_TIMER);
		}
		judge(&s, &shapes[i]);
		stage_free(&s);
	}
	return tap_done();
}

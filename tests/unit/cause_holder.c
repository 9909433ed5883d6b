/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a lock: a thread of the program, whatever it waits for meanwhile.
 */
#include "tests/unit/kinds.h"

#define EVERY  (4 * MS)
#define LENGTH (1000 * MS)

/* The holder asks a process of another program, which sleeps before it answers. */
static void asks(struct stage *s, struct actor v, struct actor holder, struct actor server)
{
	for (int64_t t = EVERY; t < LENGTH; t += EVERY) {
		struct event *ev = stage_offcpu(s, server, 2, t - 200 * US, t + 2700 * US, 0, 0);

		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		ev = stage_offcpu(s, holder, 1, t - 100 * US, t + 2800 * US, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
		stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
		stage_set(ev, COL_WAKER, server.thread);
		stage_set(ev, COL_WAKING_NS, 0);
		ev = stage_lock(s, v, 0, t, t + 3 * MS, t + 3 * MS, holder, 0x1000);
		stage_set(ev, COL_WAKING_NS, 0);
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + 3200 * US, t + 3210 * US);
	}
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     holder = stage_actor(&s, 100, 101, 1, "fetcher"),
		     server = stage_actor(&s, 200, 200, 1, "store");
	struct kinds_run p;
	unsigned n = 0;

	asks(&s, v, holder, server);
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *c = &p.list.v.v[i];

		if (!bytes_equal(c->kind, bytes_of("lock-wait")))
			continue;
		n++;
		like(c->summary.p, "thread fetcher (tid 101) held a lock that train (pid 100)",
		     "the thread that took it");
		like(c->summary.p, "in store (pid 200), which it waited for",
		     "with whom it waited for");
		ok(c->lost_ns > 700 * MS, "all of the waiting: %" PRIu64 " ms",
		   (uint64_t)(c->lost_ns / MS));
	}
	is_u64(n, 1, "one finding");
	chain_list_free(&p.list);
	stage_free(&s);
	return tap_done();
}

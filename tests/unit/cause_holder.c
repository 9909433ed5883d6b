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

/* What main waits for waits itself for the interpreter, in the middle of a chain: 8 of 10 ms. */
static void chain(struct stage *s, struct actor v, struct actor worker, struct actor holder)
{
	for (int64_t t = 0; t < LENGTH; t += 10 * MS) {
		struct event *ev = stage_lock(s, v, 0, t + 100 * US, t + 9 * MS, t + 9 * MS, worker,
					      0x2000);

		stage_set(ev, COL_FUTEX_OP, 9);
		ev = stage_lock(s, worker, 0, t + 500 * US, t + 8500 * US, t + 8500 * US, holder,
				0x7000);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
		stage_set(ev, COL_FUTEX_OP, 9);
		stage_set(stage_offcpu(s, worker, 0, t + 9 * MS, t + 10 * MS, 0, 0), COL_OBJECT_KIND,
			  OBJECT_TIMER);
		stage_set(stage_offcpu(s, holder, 0, t + 8600 * US, t + 10 * MS, 0, 0),
			  COL_OBJECT_KIND, OBJECT_TIMER);
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + 9200 * US, t + 9210 * US);
	}
}

/* Three threads do a part of each step and sleep in it, with a lock or without: main waits for one
 * after the other. */
static void takes_turns(bool lock)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"), of[3];
	struct kinds_run p;
	unsigned told = 0, fixes = 0;

	for (unsigned i = 0; i < 3; i++)
		of[i] = stage_actor(&s, 100, 101 + i, 1, "tokenize");
	for (int64_t t = 0; t < LENGTH; t += 12 * MS) {
		for (unsigned i = 0; i < 3; i++) {
			int64_t at = t + i * 3 * MS;
			struct event *ev;

			if (i && lock)
				stage_set(stage_lock(&s, of[i], 0, t, at, at, of[i - 1], 0x5000),
					  COL_WAKING_NS, 0);
			ev = stage_offcpu(&s, of[i], 0, at + 10 * US, at + 2900 * US, 0, 0);
			stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
			stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
			ev = stage_lock(&s, v, 0, at + 50 * US, at + 2950 * US, at + 2950 * US,
					of[i], 0x2000);
			stage_set(ev, COL_FUTEX_OP, 9);
			stage_set(ev, COL_WAKING_NS, 0);
		}
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + 10 * MS, t + 10 * MS + 10 * US);
	}
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		printf("# %.*s\n", (int)f->summary.n, f->summary.p);
		told += bytes_have(f->summary,
				   "; threads take turns at a lock, others waited 756 ms in all");
		for (size_t k = 0; k < f->fixes.n; k++)
			fixes += bytes_begin_with(f->fixes.v[k].action,
						  "Hold the lock for less time, or have several");
	}
	is_u64(told, lock, "%s: told", lock ? "a lock" : "no lock");
	is_u64(fixes, lock, "and what to do about it");
	chain_list_free(&p.list);
	stage_free(&s);
}

static void in_a_chain(void)
{
	static const struct {
		const char *name;
		uint32_t pid;
		bool submits, told;
	} rows[] = {
		{ "a thread of its own", 100, false, true },
		{ "a thread with calls has its own loss", 100, true, false },
		{ "a lock of another process is none of its", 200, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train"),
			     worker = stage_actor(&s, rows[i].pid, 101, 1, "worker"),
			     holder = stage_actor(&s, rows[i].pid, 102, 1, "burner");
		struct kinds_run p;
		uint64_t ns = 0;

		chain(&s, v, worker, holder);
		for (int64_t t = 0; rows[i].submits && t < LENGTH; t += 10 * MS)
			stage_call(&s, worker, OP_CUDA_LAUNCH, 0, t + 8600 * US, t + 8650 * US);
		analyze(&s, &p);
		for (size_t k = 0; k < p.list.v.n; k++) {
			const struct finding *c = &p.list.v.v[k];

			if (bytes_equal(c->kind, bytes_of("lock-wait")))
				ns += (uint64_t)c->lost_ns;
			else
				ok(!bytes_have(c->summary, "burner") || !rows[i].told,
				   "%s: told once: %.*s", rows[i].name, (int)c->summary.n,
				   c->summary.p);
			if (rows[i].told && bytes_equal(c->kind, bytes_of("lock-wait")))
				like(c->summary.p,
				     "thread burner (tid 102) held Python's interpreter lock (GIL) "
				     "that train (pid 100) waited for, 8",
				     "%s", rows[i].name);
		}
		ok(rows[i].told ? ns > 780 * MS && ns < 820 * MS : ns < 820 * MS,
		   "%s: %" PRIu64 " ms", rows[i].name, (uint64_t)(ns / MS));
		chain_list_free(&p.list);
		stage_free(&s);
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
	in_a_chain();
	takes_turns(true);
	takes_turns(false);
	return tap_done();
}

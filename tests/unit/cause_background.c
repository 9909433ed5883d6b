/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second thread that loops beside the main one: what it sleeps is lost only where somebody waits
 * for it meanwhile, or may do so.
 */
#include "tests/unit/kinds.h"

#define LENGTH (6000 * MS)
#define STEP   (10 * MS)

static struct stage s;
static struct actor v, other;

static uint32_t place(const char *function, unsigned line)
{
	return python_stack(&s, "/srv/serve.py", function, line);
}

enum waits { NOBODY, MAIN_WAITS, OUTSIDE };

struct shape {
	const char *name;
	enum waits waits;
	bool leads;   /* the main thread makes steps, too */
	bool alike;   /* of the same function */
	bool is_told; /* the sleep */
};

static const struct shape shapes[] = {
	{ "an uploader's sleep", NOBODY, true, false, false },
	{ "a sleep that the main thread waits for", MAIN_WAITS, true, false, true },
	{ "a sleep beside questions from outside", OUTSIDE, true, false, true },
	{ "one of a pool", NOBODY, true, true, true },
	{ "the only thread that makes steps", NOBODY, false, false, true },
};

/* The main thread's: launches and a wait for them. */
static void lead(int64_t t, bool waits)
{
	struct event *ev;

	for (unsigned i = 0; i < 4; i++)
		stage_call(&s, v, OP_CUDA_LAUNCH, 0, t + i * 20 * US, t + i * 20 * US + 5 * US)
			->stack = place("infer", 11 + i);
	ev = stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 100 * US, t + MS);
	ev->stack = place("infer", 20);
	if (!waits)
		return;
	ev = stage_offcpu(&s, v, 0, t + 1500 * US, t + 8 * MS + 100 * US, 0, 0);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, other.thread);
	ev->stack = place("infer", 21);
}

/* The other one's: a copy, and a sleep until the next one. */
static void follow(int64_t t, const struct shape *x, unsigned step)
{
	const char *name = x->alike ? "infer" : "upload";
	struct event *ev;

	stage_call(&s, other, OP_CUDA_LAUNCH, 0, t, t + 10 * US)->stack = place(name, 31);
	ev = stage_call(&s, other, OP_CUDA_STREAM_SYNC, 0, t + 20 * US, t + 900 * US);
	ev->stack = place(name, 32);
	if (x->waits == OUTSIDE) {
		ev = stage_offcpu(&s, other, 0, t + 950 * US, t + 1500 * US, 0, 0);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_SOCKET);
		stage_set(ev, COL_OBJECT, 77);
		stage_set(ev, COL_WAKER_KIND, WAKER_SOFTIRQ);
		ev->stack = place(name, 33);
	}
	ev = stage_offcpu(&s, other, 0, t + 1600 * US + step * 37 % 11 * 3 * US,
			  t + 8 * MS + step * 37 % 11 * 3 * US, 0, 1);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	ev->stack = place(name, 34);
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "serve");
	other = stage_actor(&s, 100, 101, 1, "upload");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct kinds_run p;
		unsigned n = 0, k = 0;

		for (int64_t t = 0; t < LENGTH; t += STEP + (int64_t)(k++ * 7919 % 101) * 10 * US) {
			if (shapes[i].leads)
				lead(t, shapes[i].waits == MAIN_WAITS);
			follow(t, &shapes[i], k);
		}
		analyze(&s, &p);
		for (size_t f = 0; f < p.list.v.n; f++)
			n += strstr(p.list.v.v[f].summary.p, "a sleep in ") ||
			     strstr(p.list.v.v[f].summary.p, "slept");
		is_u64(n > 0, shapes[i].is_told, "%s", shapes[i].name);
		for (size_t f = 0; f < p.list.v.n; f++)
			printf("# %s: %s\n", p.list.v.v[f].kind.p, p.list.v.v[f].summary.p);
		chain_list_free(&p.list);
	}
	stage_free(&s);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain names the kernel whose launches lost most of the time, where there is one: in its body
 * and to a person.
 */
#include "lib/base/json.h"
#include "lib/report/report.h"
#include "tests/unit/kinds.h"

static void name(struct stage *s, struct actor v, uint64_t func, const char *text)
{
	struct record r = { .kind = RECORD_KERNEL };

	REC_SET(&r, KERNEL, process, v.process);
	REC_SET(&r, KERNEL, func, func);
	REC_SET(&r, KERNEL, name, bytes_of(text));
	if (!vec_push(&s->rec, r))
		ok(false, "memory");
}

/* 300 launches, each preempted for 1 ms: `first` of ten of kernel 0x10, the others of as many
 * others as there are. */
static void launches(struct stage *s, struct actor v, struct actor hog, unsigned first)
{
	for (unsigned i = 0; i < 300; i++) {
		int64_t t = i * 10 * MS;
		struct event *ev = stage_call(s, v, OP_CUDA_LAUNCH, 0, t, t + 2 * MS);

		stage_set(ev, COL_FUNC, i % 10 < first ? 0x10 : 0x1000 + i);
		stage_offcpu(s, v, 1, t + 500 * US, t + 1500 * US, MS, 0);
		stage_occupied(s, hog, 0, t + 400 * US, t + 1500 * US);
	}
}

/* want: NULL none */
static void check(struct stage *s, const char *want, const char *what)
{
	struct report r = { .end_ns = 3000 * MS, .has_start = true };
	struct bytes kernel = { 0 };
	struct buf text = { 0 };
	struct kinds_run p;

	analyze(s, &p);
	if (!ok(p.list.v.n == 1, "%s: one chain", what))
		return;
	if (p.list.v.v[0].symptoms.n)
		kernel = p.list.v.v[0].symptoms.v[0].kernel;
	ok(want ? bytes_equal(kernel, bytes_of(want)) : !kernel.p, "%s: %s", what,
	   want ? want : "no kernel");
	r.chains = &p.list;
	report_text(&text, &r, false);
	if (want)
		like(buf_text(&text),
		     "cudaLaunchKernel of saxpy(int, float, float const*, float*): p99 2.00 ms",
		     "%s: to a person", what);
	else
		ok(!strstr(buf_text(&text), "cudaLaunchKernel of "), "%s: nor to a person", what);
	buf_free(&text);
	chain_list_free(&p.list);
}

int main(void)
{
	struct stage s = stage_new();
	struct actor v = stage_actor(&s, 100, 100, 1, "train"),
		     hog = stage_actor(&s, 200, 200, 50, "hog");

	name(&s, v, 0x10, "_Z5saxpyifPKfPf");
	launches(&s, v, hog, 8);
	check(&s, "saxpy(int, float, float const*, float*)", "eight of ten");

	name(&s, v, 0x10, "_Z5saxpyifPKfPf");
	launches(&s, v, hog, 3);
	check(&s, NULL, "three of ten");

	name(&s, hog, 0x10, "_Z5saxpyifPKfPf");
	launches(&s, v, hog, 10);
	check(&s, NULL, "a name of another process");
	stage_free(&s);
	return done_testing();
}

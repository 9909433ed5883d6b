/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Own code between two waits, of several lines, and samples at 99 a second: over many steps each
 * line has as much of the path as it took, wherever in the step it stands.
 */
#include "tests/tap.h"

#include "tests/unit/path_run.h"

#define HZ     99
#define STEPS  3000
#define LINES  4
#define AWHILE (2 * MS) /* between two stretches */
#define OFF    0.02	/* of the stretch, that a line may be off */

static const struct {
	const char *name;
	int64_t ms[LINES];
	double old_off; /* what the largest one was off where a sample had all up to the next event
			 */
} cases[] = {
	{ "half as long again as the period", { 3, 5, 7 }, 0.10 },
	{ "a little longer than the period", { 4, 4, 3 }, 0.05 },
	{ "twice the period", { 5, 5, 5, 5 }, 0.05 },
	{ "many periods", { 30, 50, 20, 40 }, 0.02 },
	{ "one line", { 15 }, 0 },
};

static uint32_t line_at(struct stage *s, uint64_t offset)
{
	struct world_frame f = { .kind = FRAME_UNKNOWN, .offset = offset };
	uint32_t frame = world_frame(s->w, &f);

	return world_stack(s->w, &frame, 1);
}

/* So many ns of the stretch have passed: which line it is in. */
static unsigned line_in(const int64_t *ms, int64_t ns)
{
	unsigned i = 0;

	while (i < LINES - 1 && ns >= ms[i] * MS)
		ns -= ms[i++] * MS;
	return i;
}

/* The largest error, as a share of the stretch. hz: that is told. */
static double largest_error(size_t at, uint32_t hz)
{
	const int64_t *ms = cases[at].ms;
	int64_t whole = (ms[0] + ms[1] + ms[2] + ms[3]) * MS, t = 0;
	double worst = 0;
	uint32_t stacks[LINES];
	uint64_t is[LINES] = { 0 };
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 10, 10, 1, "main");
	struct path_parts parts;

	for (unsigned i = 0; i < LINES; i++)
		stacks[i] = line_at(&s, 100 + i);
	for (unsigned n = 0; n < STEPS; n++, t += whole + AWHILE) {
		struct event *ev = stage_offcpu(&s, a, 0, t, t + AWHILE, 0, 0);

		ev->stack = line_at(&s, 1);
		stage_set(ev, COL_OBJECT_KIND, OBJECT_TIMER);
		stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
		for (int64_t tick = (t + AWHILE) * HZ / 1000000000 + 1;
		     tick * 1000000000 / HZ < t + AWHILE + whole; tick++) {
			int64_t ns = tick * 1000000000 / HZ;

			stage_event(&s, OP_CPU_SAMPLE, a.ctx, 0, ns, ns)->stack =
				stacks[line_in(ms, ns - t - AWHILE)];
		}
	}
	stage_sort(&s);
	path_parts_init(&parts, s.w, NULL, NULL);
	path_sampled(parts.path, hz);
	for (size_t i = 0; i < s.ev.n; i++)
		if (path_event(parts.path, &s.ev.v[i], NULL))
			abort();
	if (path_finish(parts.path, t, NULL))
		abort();
	path_parts_of(&parts, a.thread);
	for (size_t i = 0; i < parts.list.v.n; i++)
		for (unsigned k = 0; k < LINES; k++)
			if (parts.list.v.v[i].class == PATH_OWN &&
			    parts.list.v.v[i].stack == stacks[k])
				is[k] += parts.list.v.v[i].ns;
	for (unsigned k = 0; k < LINES; k++) {
		double off = ((double)is[k] / STEPS - (double)(ms[k] * MS)) / (double)whole;

		printf("# %s: %.2f of %.0f ms\n", cases[at].name, (double)is[k] / STEPS / MS,
		       (double)ms[k]);
		worst = off > worst ? off : -off > worst ? -off : worst;
	}
	path_free(parts.path);
	path_parts_free(&parts);
	stage_free(&s);
	return worst;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double told = largest_error(i, HZ), not_told = largest_error(i, 0);

		ok(told < OFF, "%s: at most %.1f %% off", cases[i].name, 100 * told);
		ok(not_told >= cases[i].old_off, "%s: %.1f %% where the period is not known",
		   cases[i].name, 100 * not_told);
	}
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A step that begins where the one before ended goes on with its run. */
#include "lib/tracks/step_runs.h"

#include "lib/base/bisect.h"

/* Of the time of another thread's steps: its own are no steps of the program if they take less, as
 * those do that move a model to the device before another thread serves it. */
#define OWN_SHARE 0.01

bool step_runs_add(struct step_runs *r, int64_t begin_ns, int64_t end_ns)
{
	struct step_run *last = r->v.n ? &r->v.v[r->v.n - 1] : NULL;

	r->steps++;
	if (last && (begin_ns <= last->end_ns || r->v.n >= STEP_RUNS_MAX)) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return true;
	}
	return vec_push(&r->v, ((struct step_run){ begin_ns, end_ns }));
}

enum step_place step_runs_find(const struct step_runs *r, int64_t ns, int64_t *until_ns)
{
	size_t from = 0, to = r->v.n;

	/* The first run that ends after that time. */
	bisect(i, from, to, r->v.v[i].end_ns <= ns);
	*until_ns = INT64_MAX;
	if (from == r->v.n)
		return r->v.n ? STEP_BEHIND : STEP_BEFORE;
	*until_ns = r->v.v[from].begin_ns;
	if (r->v.v[from].begin_ns > ns)
		return from ? STEP_BETWEEN : STEP_BEFORE;
	*until_ns = r->v.v[from].end_ns;
	return STEP_WITHIN;
}

int step_runs_choose(const struct step_runs *v, size_t n, const struct world *w,
		     const struct loops *l, uint32_t thread, uint32_t process)
{
	int own = loops_main(l, thread), best = -1;

	if (own >= 0 && ((size_t)own >= n || !v[own].steps))
		own = -1;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].steps || !loops_get(l, i)->calls ||
		    world_thread_process_id(w, v[i].thread) != process)
			continue;
		if (best < 0 || loops_get(l, i)->ns > loops_get(l, (size_t)best)->ns)
			best = (int)i;
	}
	if (own >= 0 && (best < 0 || (double)loops_get(l, (size_t)own)->ns >=
					     OWN_SHARE * (double)loops_get(l, (size_t)best)->ns))
		return own;
	return best;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring per thread: whoever asks does so soon after the waits.
 */
#include "lib/account/lossy.h"

void cause_lossy_free(struct cause_lossy *l)
{
	vec_free(&l->v);
}

bool cause_lossy_add(struct cause_lossy *l, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
	struct cause_lossy_thread *th;

	if (!vec_reach(&l->v, thread))
		return false;
	th = &l->v.v[thread];
	th->v[th->n % CAUSE_LOSSY].start_ns = start_ns;
	th->v[th->n % CAUSE_LOSSY].end_ns = end_ns;
	th->n++;
	return true;
}

bool cause_lossy_next(const struct cause_lossy *l, uint32_t thread, int64_t ns, int64_t *start_ns,
		      int64_t *end_ns)
{
	const struct cause_lossy_thread *th = thread < l->v.n ? &l->v.v[thread] : NULL;
	bool found = false;

	for (uint64_t i = 0; th && i < th->n && i < CAUSE_LOSSY; i++) {
		if (th->v[i].end_ns <= ns || (found && th->v[i].end_ns >= *end_ns))
			continue;
		*start_ns = th->v[i].start_ns > ns ? th->v[i].start_ns : ns;
		*end_ns = th->v[i].end_ns;
		found = true;
	}
	return found;
}

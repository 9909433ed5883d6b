/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers questions about threads, open calls and spans without changing any state.
 */
#include "lib/attrib/line_internal.h"

struct culprits *line_culprits(struct line *l)
{
	return &l->culprits;
}

const struct line_totals *line_totals(const struct line *l)
{
	return &l->totals;
}

bool line_heard(const struct line *l, uint32_t thread, int64_t since_ns)
{
	const struct line_thread *th = threads_get(&l->threads, thread);

	if (!th)
		return false;
	if ((th->seen && th->cursor_ns > since_ns) || wakers_back(&th->wakers, 1, since_ns) ||
	    th->sample_ns > since_ns)
		return true;
	for (unsigned depth = 1; depth < NEST_DEPTH; depth++) {
		if (nest_last(&th->nest, depth) > since_ns)
			return true;
	}
	return false;
}

bool line_went_on(const struct line *l, uint32_t thread, int64_t since_ns)
{
	const struct line_thread *th = threads_get(&l->threads, thread);

	return th && th->seen && th->cursor_ns > since_ns;
}

uint32_t line_ctx(const struct line *l, uint32_t thread)
{
	const struct line_thread *th = threads_get(&l->threads, thread);

	return th ? th->ctx : 0;
}

void line_memory(const struct line *l, struct line_memory *m)
{
	*m = (struct line_memory){ .slices = occupancy_held(&l->occupancy),
				   .culprits = l->culprits.v.n };
	for (uint32_t i = 0; i < l->threads.by_id.n; i++) {
		const struct line_thread *th = threads_get(&l->threads, i);

		if (!th)
			continue;
		m->threads++;
		m->levels += nest_held(&th->nest);
		m->wakers += th->wakers.n;
	}
}

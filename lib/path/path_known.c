/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a path: its anchors, their partners, and what is held. Queries, which change
 * nothing.
 */
#include "lib/path/path_state.h"

#include <string.h>

#define RECORDER "ingero-record"

size_t path_anchors(const struct path *p)
{
	return p->tracks.n;
}

struct path_anchor path_anchor(const struct path *p, size_t i)
{
	const struct path_track *t = &p->tracks.v[i];

	return (struct path_anchor){ t->thread, t->begun ? t->begin_ns : 0,
				     t->begun ? t->resolved_ns : 0 };
}

void path_sampled(struct path *p, uint32_t hz)
{
	p->edges.half_ns = hz ? 500000000 / hz : 0;
}

bool path_is_anchor(const struct path *p, uint32_t thread)
{
	const struct path_thread *th = path_thread_known(p, thread);

	return th && th->track;
}

bool path_is_recorded(const struct path *p, uint32_t thread)
{
	const struct path_thread *th = path_thread_known(p, thread);

	if (!th)
		return path_ended_of(p, thread) == PATH_FORGOTTEN_RECORDED;
	return !th->outside && (th->log.begun || th->tail.n);
}

/* By its name. A program that it started had that name before it was executed, but is recorded. */
bool path_is_recorder(const struct world *w, const struct path *p, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct bytes name = t ? world_text(w, t->comm) : (struct bytes){ 0 };

	return !path_is_recorded(p, thread) && name.n == strlen(RECORDER) &&
	       memcmp(name.p, RECORDER, name.n) == 0;
}

bool path_is_finished(const struct path *p)
{
	return p->finished;
}

bool path_exited(const struct path *p, uint32_t thread)
{
	const struct path_thread *th = path_thread_known(p, thread);

	return th ? th->exited : path_ended_of(p, thread) != PATH_REMEMBERED;
}

bool path_is_over(const struct path *p, uint32_t thread)
{
	return path_ended_of(p, thread) != PATH_REMEMBERED;
}

const struct segment_key *path_segment_key(const struct path *p, uint32_t key)
{
	return segment_key_get(&p->keys, key);
}

bool path_is_partner(struct path *p, uint32_t anchor, uint32_t thread)
{
	uint64_t lost = p->losses.events, least = PATH_PARTNER;

	least = lost < least ? least - lost : 1;
	return releases_is_partner(&p->releases, anchor, thread, least, &p->nomem);
}

void path_memory(const struct path *p, struct path_memory *m)
{
	*m = (struct path_memory){ .pending = p->pending, .mixes = p->mixes.parts };
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct path_thread *th = p->threads.v[i];

		if (!th)
			continue;
		m->threads++;
		m->segments += th->log.v.n + th->tail.n;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds the segments of all threads that are older than a limit, which moves closer to now until
 * few enough are held. Anchors are walked before, so that their own pieces keep all detail.
 */
#include "lib/path/retain.h"

#include "lib/path/path_walk.h"

/* Ages from which on checkpoints are that long. */
static const struct {
	int64_t age_ns, cell_ns;
} cells[] = {
	{ 1000000000000, 10000000000 },
	{ 100000000000, 1000000000 },
	{ 10000000000, 100000000 },
	{ 0, 10000000 },
};

#define OLD_NS (INT64_C(64) * 1000000000) /* what is older is folded first */

static size_t count_held(const struct path *p)
{
	struct path_memory m;

	path_memory(p, &m);
	return m.segments + m.mixes;
}

/* Everything older than age_ns, in cells by its age, so many times as long. */
static void fold_older(struct path *p, int64_t age_ns, int64_t times)
{
	for (size_t i = 0; i < p->threads.n; i++) {
		struct path_thread *th = p->threads.v[i];

		for (size_t k = 0; th && k < sizeof(cells) / sizeof(cells[0]); k++) {
			int64_t age = cells[k].age_ns > age_ns ? cells[k].age_ns : age_ns;

			if (!mixes_fold(&p->mixes, &th->log, p->now_ns - age,
					cells[k].cell_ns * times))
				p->nomem = true;
		}
	}
}

/* How many segments of all threads are older. */
static size_t count_older(const struct path *p, int64_t age_ns)
{
	size_t n = p->mixes.parts;

	for (size_t i = 0; i < p->threads.n; i++)
		n += p->threads.v[i] ? segment_log_find(&p->threads.v[i]->log, p->now_ns - age_ns)
				     : 0;
	return n;
}

void retain_some(struct path *p)
{
	size_t most = p->opt.segments_max / 4 * 3, least = p->opt.segments_max / 2,
	       held = count_held(p);

	if (held <= most)
		return;
	for (size_t i = 0; i < p->tracks.n; i++)
		path_walk_track(p, &p->tracks.v[i]);
	/* From as long as most waits are down to what is about to be walked; then in longer
	 * cells, where there is much variety in short ones. */
	for (int64_t times = 1; times <= 100 && held > least; times *= 10) {
		for (int64_t age = OLD_NS; age >= 2 * PATH_LAG_NS && held > least; age /= 2) {
			if (count_older(p, age) < held - least && age / 2 >= 2 * PATH_LAG_NS)
				continue;
			fold_older(p, age, times);
			held = count_held(p);
		}
	}
	for (size_t i = 0; i < p->tracks.n; i++) {
		struct path_thread *th = path_thread_known(p, p->tracks.v[i].thread);

		if (th)
			th->walk_at = th->log.v.n + PATH_WALK_SEGMENTS;
	}
}

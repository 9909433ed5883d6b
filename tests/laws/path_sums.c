/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum law on recordings that were not made for it: of every generated scenario, and of every
 * sample file of the format, damaged ones too, the parts of each anchor sum to its life to the
 * nanosecond.
 */
#include "tests/tap.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "lib/ige/reader.h"
#include "lib/path/path_feed.h"
#include "lib/sim/sim.h"
#include "tests/unit/path_parts.h"

struct sums {
	size_t anchors, parts;
	uint64_t life_ns, wrong_ns;
};

/* The stream to its end, or to where it cannot be read on. */
static struct sums sum_up(const struct world *w, struct event_stream *s)
{
	const struct track_parts *list;
	struct path_parts parts;
	struct path_feed feed = { 0 };
	struct stream_item item;
	struct sums sums = { 0 };

	path_parts_init(&parts, w, NULL, NULL);
	feed.path = parts.path;
	while (s->next(s, &item, NULL) > 0) {
		if (path_feed_item(&feed, &item, NULL))
			abort();
	}
	if (path_feed_finish(&feed, NULL))
		abort();
	for (size_t i = 0; i < path_anchors(feed.path); i++) {
		struct path_anchor a = path_anchor(feed.path, i);

		list = path_parts_of(&parts, a.thread);
		sums.anchors++;
		sums.parts += list->v.n;
		sums.life_ns += (uint64_t)(a.end_ns - a.begin_ns);
		sums.wrong_ns +=
			(uint64_t)llabs((int64_t)path_parts_ns(list) - (a.end_ns - a.begin_ns));
	}
	path_free(feed.path);
	path_feed_free(&feed);
	path_parts_free(&parts);
	return sums;
}

static void scenario(const char *name)
{
	struct world *w = world_new();
	struct event_stream *s = NULL;
	struct sim_options o;
	struct sums sums;

	sim_scenario_options(name, &o);
	o.duration_ns = 2000000000;
	o.seed = 5;
	if (sim_open(&s, w, &o, NULL))
		abort();
	sums = sum_up(w, s);
	ok(sums.anchors > 0 && sums.parts >= 3 && sums.life_ns > 100000000 && !sums.wrong_ns,
	   "%s: %zu parts sum to %.3f s of %zu anchors, %" PRIu64 " ns wrong", name, sums.parts,
	   (double)sums.life_ns / 1e9, sums.anchors, sums.wrong_ns);
	s->close(s);
	world_free(w);
}

static struct sums sample(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct world *w = world_new();
	struct ige_reader *r;
	struct sums sums = { 0 };

	if (fd < 0)
		abort();
	if (ige_reader_open(&r, w, fd, false, path, NULL) == 0) {
		sums = sum_up(w, ige_reader_stream(r));
		ige_reader_free(r);
	}
	if (sums.wrong_ns)
		printf("# %s: %" PRIu64 " ns\n", path, sums.wrong_ns);
	close(fd);
	world_free(w);
	return sums;
}

static void samples(void)
{
	uint64_t wrong = 0, life = 0;
	size_t anchors = 0;
	glob_t g;

	if (glob("formats/samples/v1/*/*.ige", 0, NULL, &g))
		abort();
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct sums s = sample(g.gl_pathv[i]);

		wrong += s.wrong_ns;
		life += s.life_ns;
		anchors += s.anchors;
	}
	ok(g.gl_pathc > 50 && anchors > 50 && life > 0, "%zu sample files, %zu anchors", g.gl_pathc,
	   anchors);
	is_u64(wrong, 0, "the parts sum to the life of each");
	globfree(&g);
}

int main(void)
{
	unsigned n;
	const struct sim_scenario *v = sim_scenarios(&n);

	for (unsigned i = 0; i < n; i++)
		scenario(v[i].name);
	samples();
	return tap_done();
}

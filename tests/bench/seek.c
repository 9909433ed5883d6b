/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of the launch-heavy corpus: how long until a file can be sought, and how long each
 * stretch takes. */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ige/seek.h"
#include "lib/ige/writer.h"
#include "lib/sim/corpus.h"
#include "tests/bench/bench.h"

#define WINDOW_NS 10000000
#define QUERIES	  2000

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench: %s: %s\n", what, e->text);
	exit(1);
}

static void write_corpus(int fd, uint64_t events, bool index)
{
	struct world *w = world_new();
	struct sim_corpus_options o = { .seed = 1, .events = events };
	struct ige_writer_options opt = { .clock_id = 1, .index = index };
	struct event_stream *s;
	struct stream_item item;
	struct ige_fd_sink sink;
	struct ige_writer *wr;
	struct err e = { 0 };

	ige_fd_sink_init(&sink, fd);
	if (sim_corpus_open(&s, w, &o, &e) || ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		die("corpus", &e);
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; i < item.n; i++)
			if (ige_writer_event(wr, &item.events[i], &e))
				die("write", &e);
		if (item.n && ige_writer_flush(wr, item.events[item.n - 1].end_ns,
					       item.events[item.n - 1].end_ns, false, &e))
			die("flush", &e);
	}
	if (ige_writer_finish(wr, &e))
		die("finish", &e);
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
}

/* Milliseconds until the first stretch can be asked for. */
static double open_ms(int fd)
{
	double best = 1e9;

	for (int i = 0; i < 7; i++) {
		struct world *w = world_new();
		double from = bench_cpu_s();
		struct ige_seek *s;
		struct err e = { 0 };

		if (ige_seek_open(&s, w, fd, "corpus", &e))
			die("seek", &e);
		from = (bench_cpu_s() - from) * 1e3;
		best = from < best ? from : best;
		ige_seek_free(s);
		world_free(w);
	}
	return best;
}

static uint64_t count(struct ige_seek *s, int64_t since, int64_t until, struct err *e)
{
	struct event_stream *in = ige_seek_stream(s, since, until, IGE_SEEK_EVENTS, 0);
	struct stream_item item;
	uint64_t n = 0;
	int rc;

	while ((rc = in->next(in, &item, e)) == 1)
		for (size_t i = 0; i < item.n; i++)
			n += item.events[i].end_ns >= since && item.events[i].end_ns < until;
	if (rc)
		die("stretch", e);
	return n;
}

int main(void)
{
	uint64_t events = bench_events(10000000), hits = 0, random = 7;
	int fd = memfd_create("corpus", 0), bare = memfd_create("bare", 0);
	struct world *w = world_new();
	struct err e = { 0 };
	struct ige_seek *s;
	int64_t end, begin;
	double from, first;

	write_corpus(fd, events, true);
	bench_say("ige.open_ms", open_ms(fd), "ms");
	if (bench_wanted("ige.open_walk_ms")) {
		write_corpus(bare, events, false);
		bench_say("ige.open_walk_ms", open_ms(bare), "ms");
	}
	if (ige_seek_open(&s, w, fd, "corpus", &e))
		die("seek", &e);
	end = ige_seek_end(s);
	begin = ige_seek_reach(s, end, end + 1);
	begin = begin == INT64_MIN ? 0 : begin;
	from = bench_cpu_s();
	count(s, end - WINDOW_NS, end, &e);
	first = bench_cpu_s() - from;
	bench_say("ige.seek_first_ms", first * 1e3, "ms");
	/* Definitions of every segment are there from here on. */
	for (int64_t at = begin; at < end; at += (end - begin) / 64 + 1)
		count(s, at, at + 1, &e);
	from = bench_cpu_s();
	for (int i = 0; i < QUERIES; i++) {
		int64_t since;

		random = random * 6364136223846793005u + 1442695040888963407u;
		since = begin + (int64_t)((random >> 20) % (uint64_t)(end - begin - WINDOW_NS));
		hits += count(s, since, since + WINDOW_NS, &e);
	}
	bench_say("ige.seek_us", (bench_cpu_s() - from) * 1e6 / QUERIES, "us");
	bench_say("ige.seek_hits", (double)hits / QUERIES, "events");
	ige_seek_free(s);
	world_free(w);
	return hits ? 0 : 1;
}

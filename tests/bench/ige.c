/* SPDX-License-Identifier: Apache-2.0 */
/* The file format on the launch-heavy corpus: bytes and time per event, written and read. */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ige/columns.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/sim/corpus.h"
#include "tests/bench/bench.h"

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench: %s: %s\n", what, e->text);
	exit(1);
}

/* Write the corpus into fd; CPU seconds of the writer alone. */
static double write_corpus(int fd, uint64_t events, uint64_t flush_every, bool archive,
			   uint64_t *written, uint64_t *bytes)
{
	struct world *w = world_new();
	struct sim_corpus_options o = { .seed = 1, .events = events };
	struct ige_writer_options opt = { .clock_id = 1, .archive = archive };
	struct event_stream *s;
	struct stream_item item;
	struct ige_fd_sink sink;
	struct ige_writer *wr;
	struct err e = { 0 };
	double spent = 0, from;
	uint64_t since = 0;
	int rc;

	ige_fd_sink_init(&sink, fd);
	if (sim_corpus_open(&s, w, &o, &e) || ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		die("corpus", &e);
	*written = 0;
	while ((rc = s->next(s, &item, &e)) == 1) {
		from = bench_cpu_s();
		for (size_t i = 0; i < item.n; i++) {
			if (ige_writer_event(wr, &item.events[i], &e))
				die("write", &e);
			if (++since == flush_every) {
				since = 0;
				if (ige_writer_flush(wr, item.events[i].end_ns,
						     item.events[i].end_ns, true, &e))
					die("flush", &e);
			}
		}
		*written += item.n;
		if (!flush_every && item.n &&
		    ige_writer_flush(wr, item.events[item.n - 1].end_ns,
				     item.events[item.n - 1].end_ns, false, &e))
			die("flush", &e);
		spent += bench_cpu_s() - from;
	}
	from = bench_cpu_s();
	if (rc || ige_writer_finish(wr, &e))
		die("finish", &e);
	spent += bench_cpu_s() - from;
	*bytes = sink.bytes;
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	return spent;
}

static double read_structs(int fd, uint64_t *events)
{
	struct world *w = world_new();
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };
	double from = bench_cpu_s();
	uint64_t sum = 0;

	*events = 0;
	lseek(fd, 0, SEEK_SET);
	if (ige_reader_open(&r, w, fd, false, "corpus", &e))
		die("read", &e);
	s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; i < item.n; i++)
			sum += item.events[i].dur_ns;
		*events += item.n;
	}
	from = bench_cpu_s() - from;
	if (sum == 0)
		exit(1);
	ige_reader_free(r);
	world_free(w);
	return from;
}

static double read_columns(int fd, uint64_t *events)
{
	struct world *w = world_new();
	struct ige_reader *r;
	struct ige_block b;
	struct err e = { 0 };
	double from = bench_cpu_s();
	uint64_t sum = 0;

	*events = 0;
	lseek(fd, 0, SEEK_SET);
	if (ige_reader_open(&r, w, fd, false, "corpus", &e))
		die("read", &e);
	ige_reader_want(r, IGE_WANT_OWN);
	while (ige_reader_block(r, &b, &e) == 1) {
		const struct ige_arrays *a = ige_reader_arrays(r);

		for (int id = IGE_END; a && a->n && id <= IGE_DEPTH; id++)
			sum += a->column[id] ? a->column[id][a->n - 1] : 0;
		*events += a ? a->n : 0;
	}
	from = bench_cpu_s() - from;
	if (sum == 0)
		exit(1);
	ige_reader_free(r);
	world_free(w);
	return from;
}

int main(void)
{
	uint64_t events = bench_events(4000000), n, bytes, read;
	int fd = memfd_create("corpus", 0), small = memfd_create("small", 0);
	double s, best = 1e9;

	s = write_corpus(fd, events, 0, false, &n, &bytes);
	bench_say("ige.bytes_per_event", (double)bytes / (double)n, "B");
	bench_say("ige.write_ns", s * 1e9 / (double)n, "ns");
	for (int i = 0; i < 8; i++) {
		s = read_structs(fd, &read);
		if (read != n)
			return 1;
		if (s < best)
			best = s;
	}
	bench_say("ige.structs_mevps", (double)n / best / 1e6, "M/s");
	best = 1e9;
	for (int i = 0; i < 8; i++) {
		s = read_columns(fd, &read);
		if (read != n)
			return 1;
		if (s < best)
			best = s;
	}
	bench_say("ige.columns_mevps", (double)n / best / 1e6, "M/s");
	if (bench_wanted("ige.flush100_bytes_per_event")) {
		write_corpus(small, events, 100, false, &n, &bytes);
		bench_say("ige.flush100_bytes_per_event", (double)bytes / (double)n, "B");
	}
	if (bench_wanted("ige.archive_bytes_per_event") || bench_wanted("ige.archive_write_ns") ||
	    bench_wanted("ige.archive_structs_mevps")) {
		int archive = memfd_create("archive", 0);

		s = write_corpus(archive, events, 0, true, &n, &bytes);
		bench_say("ige.archive_bytes_per_event", (double)bytes / (double)n, "B");
		bench_say("ige.archive_write_ns", s * 1e9 / (double)n, "ns");
		s = read_structs(archive, &read);
		if (read != n)
			return 1;
		bench_say("ige.archive_structs_mevps", (double)n / s / 1e6, "M/s");
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight recordings of eight machines in canonical order: rows of columns by the cursor, every own
 * column of every row read and its context found in the world; the same as events, as programs that
 * need all of them get it; and what ingero-merge takes as a program, from the recordings to the
 * bytes of the joined one.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/ige/writer.h"
#include "lib/input/cursor.h"
#include "lib/input/join.h"
#include "lib/sim/corpus.h"
#include "tests/bench/corpus.h"

#define INPUTS 8

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench: %s: %s\n", what, e->text);
	exit(1);
}

static uint64_t write_corpus(int fd, uint32_t node, uint64_t events)
{
	struct world *w = world_new();
	struct sim_corpus_options o = {
		.seed = node + 1, .events = events, .node = node, .ranks = 1
	};
	struct ige_writer_options opt = { .clock_id = 1,
					  .boot = node,
					  .real_minus_mono_ns = 1000000000 };
	struct event_stream *s;
	struct stream_item item;
	struct ige_fd_sink sink;
	struct ige_writer *wr;
	struct err e = { 0 };
	uint64_t n = 0;
	int rc;

	ige_fd_sink_init(&sink, fd);
	if (sim_corpus_open(&s, w, &o, &e) || ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		die("corpus", &e);
	while ((rc = s->next(s, &item, &e)) == 1) {
		for (size_t i = 0; i < item.n; i++)
			if (ige_writer_event(wr, &item.events[i], &e))
				die("write", &e);
		n += item.n;
		if (item.n && ige_writer_flush(wr, item.events[item.n - 1].end_ns,
					       item.events[item.n - 1].end_ns, false, &e))
			die("flush", &e);
	}
	if (rc || ige_writer_finish(wr, &e))
		die("finish", &e);
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	return n;
}

struct seen {
	uint64_t events, disorder, sum;
};

static void open_all(struct ige_reader **readers, struct world *w, const int *fds)
{
	struct err e = { 0 };

	for (unsigned i = 0; i < INPUTS; i++) {
		lseek(fds[i], 0, SEEK_SET);
		if (ige_reader_open(&readers[i], w, fds[i], false, "corpus", &e))
			die("read", &e);
	}
}

static double by_cursor(const int *fds, struct seen *seen)
{
	struct world *w = world_new();
	struct ige_reader *readers[INPUTS];
	struct input_cursor *c;
	struct input_run run;
	struct err e = { 0 };
	double from = bench_cpu_s();
	int64_t last = INT64_MIN;
	int rc;

	*seen = (struct seen){ 0 };
	open_all(readers, w, fds);
	if (input_cursor_open(&c, w, readers, INPUTS, &e))
		die("cursor", &e);
	while ((rc = input_cursor_next(c, &run, &e)) == 1) {
		uint64_t sum = 0, disorder = 0;

		for (unsigned k = 0; k < run.n; k++) {
			const struct input_rows *in = &run.inputs[run.refs[k] >> 16];
			const struct ige_arrays *a = &in->arrays;
			uint32_t row = run.refs[k] & 0xffff;
			int64_t end = a->header.end_min + (int64_t)a->column[IGE_END][row];

			disorder += end < last;
			last = end;
			sum += a->column[IGE_DUR][row] + a->column[IGE_SITE][row] +
			       in->dict->kind[IGE_D_CTX].ids.v[a->column[IGE_CTX][row]] +
			       (a->column[IGE_DEPTH] ? a->column[IGE_DEPTH][row] : 0);
		}
		seen->sum += sum;
		seen->disorder += disorder;
		seen->events += run.n;
	}
	if (rc)
		die("cursor", &e);
	from = bench_cpu_s() - from;
	input_cursor_free(c);
	for (unsigned i = 0; i < INPUTS; i++)
		ige_reader_free(readers[i]);
	world_free(w);
	return from;
}

static double by_join(const int *fds, struct seen *seen)
{
	struct world *w = world_new();
	struct ige_reader *readers[INPUTS];
	struct event_stream *streams[INPUTS], *join;
	struct stream_item item;
	struct err e = { 0 };
	double from = bench_cpu_s();
	int64_t last = INT64_MIN;
	int rc;

	*seen = (struct seen){ 0 };
	open_all(readers, w, fds);
	for (unsigned i = 0; i < INPUTS; i++)
		streams[i] = ige_reader_stream(readers[i]);
	join = input_join(w, streams, INPUTS);
	while ((rc = join->next(join, &item, &e)) == 1) {
		for (size_t i = 0; i < item.n; i++) {
			seen->disorder += item.events[i].end_ns < last;
			last = item.events[i].end_ns;
			seen->sum += item.events[i].dur_ns;
		}
		seen->events += item.n;
	}
	if (rc)
		die("join", &e);
	from = bench_cpu_s() - from;
	join->close(join);
	for (unsigned i = 0; i < INPUTS; i++)
		ige_reader_free(readers[i]);
	world_free(w);
	return from;
}

static void measure(const char *name, double (*how)(const int *fds, struct seen *seen),
		    const int *fds, uint64_t events)
{
	double best = 1e9;

	for (int i = 0; i < 5; i++) {
		struct seen seen;
		double s = how(fds, &seen);

		if (seen.events != events || seen.disorder || !seen.sum) {
			fprintf(stderr, "bench: %s: %llu events of %llu, %llu out of order\n", name,
				(unsigned long long)seen.events, (unsigned long long)events,
				(unsigned long long)seen.disorder);
			exit(1);
		}
		best = s < best ? s : best;
	}
	bench_say(name, (double)events / best / 1e6, "M/s");
}

static double wall_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The program itself: CPU time of all its threads in *cpu, and how long it took where nobody else
 * wants the processors. */
static double measure_program(const int *fds, char *option, double *cpu, double *mb)
{
	const char *build = getenv("BUILD");
	char program[512], paths[INPUTS][64], *argv[INPUTS + 4] = { program, "-q" };
	int n = 2;
	double best = 1e9;

	snprintf(program, sizeof(program), "%s/bin/ingero-merge", build ? build : "build");
	if (option)
		argv[n++] = option;
	for (unsigned i = 0; i < INPUTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/proc/%d/fd/%d", (int)getpid(), fds[i]);
		argv[n++] = paths[i];
	}
	*cpu = 1e9;
	for (int i = 0; i < 3; i++) {
		double from = wall_s(), s = bench_run(argv, -1, -1, mb);

		if (s < 0) {
			fprintf(stderr, "bench: %s failed\n", program);
			exit(1);
		}
		from = wall_s() - from;
		best = from < best ? from : best;
		*cpu = s < *cpu ? s : *cpu;
	}
	return best;
}

static void measure_programs(const int *fds, uint64_t events)
{
	double cpu, mb, wall;

	wall = measure_program(fds, NULL, &cpu, &mb);
	bench_say("merge.program8_mevps", (double)events / cpu / 1e6, "M/s");
	/* What one waits for, where nobody else wants the processors. */
	bench_say("merge.program8_wall_mevps", (double)events / wall / 1e6, "M/s");
	bench_say("merge.program8_rss_mb", mb, "MB");
	if (!bench_wanted("merge.compact8_mevps") && !bench_wanted("merge.compact8_threads_x"))
		return;
	wall = measure_program(fds, "--compact", &cpu, &mb);
	bench_say("merge.compact8_mevps", (double)events / cpu / 1e6, "M/s");
	/* Below 1 where others take the processors. */
	bench_say("merge.compact8_threads_x", cpu / wall, "x");
}

int main(void)
{
	uint64_t each = bench_events(4000000) / INPUTS, events = 0;
	int fds[INPUTS];

	for (uint32_t i = 0; i < INPUTS; i++) {
		fds[i] = memfd_create("corpus", 0);
		events += write_corpus(fds[i], i, each);
	}
	measure("ige.merge8_mevps", by_cursor, fds, events);
	measure("ige.merge8_events_mevps", by_join, fds, events);
	measure_programs(fds, events);
	return 0;
}

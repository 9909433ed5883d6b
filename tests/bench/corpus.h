/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch-heavy corpus written into a file, for benchmarks of programs; and a program run over
 * it, with what it took.
 */
#ifndef INGERO_TESTS_BENCH_CORPUS_H
#define INGERO_TESTS_BENCH_CORPUS_H

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/ige/writer.h"
#include "lib/sim/corpus.h"
#include "tests/bench/bench.h"

typedef void bench_each_fn(void *arg, const struct world *w, const struct event *ev);

/* How many events; 0: it failed. each (may be NULL) sees every event. */
static inline uint64_t bench_write_corpus(int fd, uint64_t events, bench_each_fn *each, void *arg)
{
	struct world *w = world_new();
	struct sim_corpus_options o = { .seed = 1, .events = events };
	struct ige_writer_options opt = { .clock_id = 1 };
	struct event_stream *s;
	struct stream_item item;
	struct ige_fd_sink sink;
	struct ige_writer *wr;
	struct err e = { 0 };
	uint64_t n = 0;

	ige_fd_sink_init(&sink, fd);
	if (!w || sim_corpus_open(&s, w, &o, &e) || ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		return 0;
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; i < item.n; i++) {
			if (ige_writer_event(wr, &item.events[i], &e))
				return 0;
			if (each)
				each(arg, w, &item.events[i]);
		}
		n += item.n;
		if (item.n && ige_writer_flush(wr, item.events[item.n - 1].end_ns,
					       item.events[item.n - 1].end_ns, false, &e))
			return 0;
	}
	if (ige_writer_finish(wr, &e))
		return 0;
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	return n;
}

/* CPU seconds of argv with its output in out (-1: nowhere), reading in (-1: nothing); *mb (may be
 * NULL): its largest resident size. Below 0: it failed. */
static inline double bench_run(char *const argv[], int in, int out, double *mb)
{
	struct rusage use;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (in >= 0)
			dup2(in, STDIN_FILENO);
		else if (!freopen("/dev/null", "r", stdin))
			_exit(127);
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		else if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) < 0 || status)
		return -1;
	if (mb)
		*mb = (double)use.ru_maxrss / 1024;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

#endif

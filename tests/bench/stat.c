/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-stat as a program over ten million events of the launch-heavy corpus, through a pipe: CPU
 * seconds and memory of the process itself.
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/ige/writer.h"
#include "lib/sim/corpus.h"
#include "tests/bench/bench.h"

static uint64_t write_corpus(const char *path, uint64_t events)
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
	FILE *f = fopen(path, "w");

	if (!f)
		return 0;
	ige_fd_sink_init(&sink, fileno(f));
	if (sim_corpus_open(&s, w, &o, &e) || ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		return 0;
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; i < item.n; i++)
			if (ige_writer_event(wr, &item.events[i], &e))
				return 0;
		n += item.n;
		if (item.n && ige_writer_flush(wr, item.events[item.n - 1].end_ns,
					       item.events[item.n - 1].end_ns, false, &e))
			return 0;
	}
	if (ige_writer_finish(wr, &e) || fclose(f))
		return 0;
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	return n;
}

/* CPU seconds of one run whose standard input is a pipe; *mb its largest resident size. */
static double run_brief(const char *program, const char *path, double *mb)
{
	struct rusage use;
	int pipes[2], status;
	pid_t cat, stat;

	if (pipe(pipes))
		return -1;
	cat = fork();
	if (cat == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execlp("cat", "cat", path, (char *)NULL);
		_exit(127);
	}
	stat = fork();
	if (stat == 0) {
		dup2(pipes[0], STDIN_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execl(program, program, "--brief", "--json", (char *)NULL);
		_exit(127);
	}
	close(pipes[0]);
	close(pipes[1]);
	if (cat < 0 || stat < 0 || wait4(stat, &status, 0, &use) < 0 || status)
		return -1;
	waitpid(cat, &status, 0);
	*mb = (double)use.ru_maxrss / 1024;
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

int main(void)
{
	const char *build = getenv("BUILD");
	char program[512], path[] = "/tmp/ingero-bench-XXXXXX";
	double best = 1e9, mb = 0;
	int fd = mkstemp(path);
	uint64_t n;

	if (fd < 0)
		return 1;
	close(fd);
	snprintf(program, sizeof(program), "%s/bin/ingero-stat", build ? build : "build");
	n = write_corpus(path, bench_events(10000000));
	for (int i = 0; n && i < 5; i++) {
		double s = run_brief(program, path, &mb);

		if (s < 0)
			n = 0;
		else if (s < best)
			best = s;
	}
	unlink(path);
	if (!n)
		return 1;
	bench_say("stat.calibration_ns", bench_calibrate_ns(), "ns");
	bench_say("stat.sketch_10m_cpu_s", best * 1e7 / (double)n, "s");
	bench_say("stat.sketch_rss_mb", mb, "MB");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-export as a program, making a Perfetto timeline of the launch-heavy corpus: CPU time of
 * the process, its memory, and what an event takes before compression. The ratio is of the time per
 * event to a step of the calibration.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/bench/corpus.h"

#define RUNS 3

int main(void)
{
	const char *build = getenv("BUILD");
	char program[512], path[64], *argv[] = { program, "-q", "-f", "perfetto", path, NULL };
	double best = 1e9, mb = 0, step_ns = bench_calibrate_ns();
	int in = memfd_create("corpus", 0), out = memfd_create("trace", 0);
	struct stat st;
	uint64_t n;

	if (in < 0 || out < 0)
		return 1;
	snprintf(program, sizeof(program), "%s/bin/ingero-export", build ? build : "build");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), in);
	n = bench_write_corpus(in, bench_events(4000000), NULL, NULL);
	for (int i = 0; n && i < RUNS; i++) {
		double s;

		if (ftruncate(out, 0) || lseek(out, 0, SEEK_SET))
			return 1;
		s = bench_run(argv, -1, out, &mb);
		if (s < 0)
			return 1;
		best = s < best ? s : best;
	}
	if (!n || fstat(out, &st))
		return 1;
	bench_say("timeline.perfetto_mevps", (double)n / best / 1e6, "M/s");
	bench_say("timeline.perfetto_x", best * 1e9 / (double)n / step_ns, "x");
	bench_say("timeline.perfetto_bytes_per_event", (double)st.st_size / (double)n, "B");
	bench_say("timeline.perfetto_rss_mb", mb, "MB");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The analysis over the launch-heavy corpus, with all detectors. ingero-correlate: events per
 * second of CPU, with the events passed on and without. The verdict: CPU seconds that a recording
 * of 1 GB takes, and the largest resident size, of ingero-explain alone and of ingero-correlate in
 * front of it; and how many steps of the calibration an event of it takes, as many on a slow
 * machine as on a fast one. Scaled from a smaller one unless EVENTS asks for all of it
 * (EVENTS=160000000): memory is bounded by processes and call sites, which are all there within the
 * first seconds.
 */
#include <fcntl.h>

#include "tests/bench/corpus.h"

#define RUNS 5
#define GB   1e9

/* The best of some runs; below 0: one failed. */
static double best_of(char *const argv[], int runs, double *mb)
{
	double best = 1e9;

	for (int i = 0; i < runs; i++) {
		double s = bench_run(argv, -1, -1, mb);

		if (s < 0)
			return s;
		best = s < best ? s : best;
	}
	return best;
}

static bool analysis(const char *bin, char *path)
{
	char program[512];
	char *chains[] = { program, "--chains-only", path, NULL }, *all[] = { program, path, NULL };
	double chains_s, all_s, mb = 0;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	uint64_t n;

	if (fd < 0)
		return false;
	snprintf(program, sizeof(program), "%s/ingero-correlate", bin);
	n = bench_write_corpus(fd, bench_events(4000000), NULL, NULL);
	close(fd);
	chains_s = n ? best_of(chains, RUNS, &mb) : -1;
	all_s = n ? best_of(all, RUNS, &mb) : -1;
	if (chains_s < 0 || all_s < 0)
		return false;
	bench_say("correlate.mevps", (double)n / chains_s / 1e6, "M/s");
	bench_say("correlate.pass_mevps", (double)n / all_s / 1e6, "M/s");
	bench_say("correlate.rss_mb", mb, "MB");
	return true;
}

static bool verdict(const char *bin, char *path)
{
	char program[512], both[1200];
	char *alone[] = { program, path, NULL }, *piped[] = { "/bin/sh", "-c", both, NULL };
	double alone_s, piped_s, alone_mb = 0, piped_mb = 0, scale;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	uint64_t n;

	if (fd < 0)
		return false;
	snprintf(program, sizeof(program), "%s/ingero-explain", bin);
	snprintf(both, sizeof(both), "%s/ingero-correlate %s | %s", bin, path, program);
	n = bench_write_corpus(fd, bench_events(10000000), NULL, NULL);
	scale = GB / (double)lseek(fd, 0, SEEK_END);
	close(fd);
	alone_s = n ? best_of(alone, 1, &alone_mb) : -1;
	piped_s = n ? best_of(piped, 1, &piped_mb) : -1;
	if (alone_s < 0 || piped_s < 0)
		return false;
	bench_say("verdict.gb_cpu_s", alone_s * scale, "s");
	bench_say("verdict.event_steps", alone_s * 1e9 / (double)n / bench_calibrate_ns(), "x");
	bench_say("verdict.rss_mb", alone_mb, "MB");
	bench_say("verdict.gb_piped_cpu_s", piped_s * scale, "s");
	bench_say("verdict.piped_rss_mb", piped_mb, "MB");
	return true;
}

int main(void)
{
	const char *build = getenv("BUILD");
	char bin[256], path[] = "/tmp/ingero-bench-XXXXXX";
	int fd = mkstemp(path);
	bool well = fd >= 0;

	snprintf(bin, sizeof(bin), "%s/bin", build ? build : "build");
	if (fd >= 0)
		close(fd);
	if (well && (bench_wanted("correlate.mevps") || bench_wanted("correlate.pass_mevps") ||
		     bench_wanted("correlate.rss_mb")))
		well = analysis(bin, path);
	if (well && (bench_wanted("verdict.gb_cpu_s") || bench_wanted("verdict.event_steps") ||
		     bench_wanted("verdict.rss_mb") || bench_wanted("verdict.gb_piped_cpu_s") ||
		     bench_wanted("verdict.piped_rss_mb")))
		well = verdict(bin, path);
	if (fd >= 0)
		unlink(path);
	return !well;
}

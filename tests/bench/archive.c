/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as an SQLite archive: events of the launch-heavy corpus to a file with its indices,
 * and how much an event takes.
 */
#include <unistd.h>

#include "lib/archive/write.h"
#include "lib/input/input.h"
#include "tests/bench/corpus.h"

#define EVENTS 1000000

static void run(const char *from, const char *to)
{
	struct archive_options opt = { .tool = "bench" };
	struct archive_writer *a = NULL;
	struct archive_written written = { 0 };
	struct world *w = world_new();
	struct input *in = NULL;
	struct stream_item item;
	struct err e = { 0 };
	FILE *out = fopen(to, "w+");
	double began, took;
	int rc = w && out ? input_open(&in, w, &from, 1, &e) : ERR_NOMEM;

	bench_say("archive.calibration_ns", bench_calibrate_ns(), "ns");
	began = bench_cpu_s();
	rc = rc ? rc : archive_writer_new(&a, w, fileno(out), &opt, &e);
	while (!rc && (rc = input_stream(in)->next(input_stream(in), &item, &e)) > 0)
		rc = archive_writer_item(a, &item, &e);
	rc = rc ? rc : archive_writer_finish(a, &written, &e);
	took = bench_cpu_s() - began;
	if (rc || !written.events) {
		fprintf(stderr, "bench: archive: %s\n", e.text);
		exit(1);
	}
	bench_say("archive.load", (double)written.events / took / 1e6, "M events/s");
	bench_say("archive.event", (double)written.event_bytes / (double)written.events, "B");
	archive_writer_free(a);
	input_free(in);
	world_free(w);
	fclose(out);
}

int main(void)
{
	char from[] = "/var/tmp/ingero-bench-XXXXXX", to[] = "/var/tmp/ingero-bench-XXXXXX";
	int fd = mkstemp(from), other = mkstemp(to);

	if (fd < 0 || other < 0 || !bench_write_corpus(fd, EVENTS, NULL, NULL))
		return 1;
	close(fd);
	close(other);
	run(from, to);
	unlink(from);
	unlink(to);
	return 0;
}

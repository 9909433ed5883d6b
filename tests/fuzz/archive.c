/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as an SQLite database, read to the end as whatever it claims to be,
 * an archive of ours or a recording of the older agent. It is read or refused; what comes out must
 * be of this world, in an order that batches promise. `make fuzz-archive` builds it;
 * tests/unit/archive_fuzz.c replays inputs.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/compat/agent_recording.h"
#include "lib/archive/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void check(const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	int64_t start;

	if (!op || ev->ctx > world_count(w, WORLD_CTX) || ev->stack > world_count(w, WORLD_STACK))
		abort();
	/* Time has no beginning, but a start has to be a time. */
	if (ev->dur_ns > (uint64_t)INT64_MAX ||
	    __builtin_sub_overflow(ev->end_ns, (int64_t)ev->dur_ns, &start) ||
	    ev->present >> op->ncols)
		abort();
}

static void read_all(const struct world *w, struct event_stream *s)
{
	struct stream_item item;
	struct err e = { 0 };
	int64_t newest = INT64_MIN;
	int rc;

	while ((rc = s->next(s, &item, &e)) == 1) {
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			check(w, &item.events[i]);
			if (!item.late && item.events[i].end_ns < newest)
				abort();
			if (!item.late)
				newest = item.events[i].end_ns;
		}
	}
	if (rc < 0 && (e.code != rc || !e.text[0]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	char path[] = "/tmp/ingero-fuzz-XXXXXX";
	struct archive_reader *archive = NULL;
	struct agent_recording *agent = NULL;
	struct world *w = world_new();
	struct err e = { 0 };
	int fd = mkstemp(path), rc;

	if (fd < 0 || !w || (n && write(fd, p, n) != (ssize_t)n))
		abort();
	close(fd);
	rc = archive_reader_open(&archive, w, path, &e);
	if (rc < 0 && e.code != rc)
		abort();
	if (archive)
		read_all(w, archive_reader_stream(archive));
	archive_reader_free(archive);
	if (!rc && !archive && !agent_recording_open(&agent, w, path, NULL, &e))
		read_all(w, agent_recording_stream(agent));
	agent_recording_free(agent);
	world_free(w);
	unlink(path);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A recording written once more, as an archive or as a recorder would have: what is in it stays the
 * same. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "tests/reader/make.h"

static int again(const char *path, const struct ige_writer_options *opt)
{
	struct world *own = world_new();
	struct ige_fd_sink sink;
	struct ige_writer *wr = NULL;
	struct ige_reader *r = NULL;
	struct event_stream *s;
	struct stream_item item;
	struct err e = { 0 };
	int fd = open(path, O_RDONLY), rc;

	ige_fd_sink_init(&sink, STDOUT_FILENO);
	rc = fd < 0 ? -1 : ige_reader_open(&r, own, fd, true, path, &e);
	if (!rc)
		rc = ige_writer_new(&wr, own, &sink.sink, opt, &e);
	if (rc)
		goto out;
	s = ige_reader_stream(r);
	while ((rc = s->next(s, &item, &e)) == 1) {
		rc = ige_writer_item(wr, &item, &e);
		if (rc)
			break;
	}
	if (!rc)
		rc = ige_writer_finish(wr, &e);
out:
	if (rc)
		fprintf(stderr, "ige_reader: %s: %s\n", path, e.text);
	ige_writer_free(wr);
	ige_reader_free(r);
	world_free(own);
	return rc != 0;
}

int make_pack(const char *path, bool archive, uint32_t block_events)
{
	return again(path, &(struct ige_writer_options){ .archive = archive,
							 .block_events = block_events,
							 .clock_id = 1 });
}

int make_indexed(const char *path)
{
	return again(path, &(struct ige_writer_options){
				   .index = true, .block_events = 20, .clock_id = 1 });
}

int make_sorted(const char *path)
{
	return again(path, &(struct ige_writer_options){ .window_ns = INT64_MAX, .clock_id = 1 });
}

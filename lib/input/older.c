/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewritten in a world of its own: what is read from the new file is interned like any recording's.
 */
#include "lib/input/older.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/ige/writer.h"

bool input_older_looks_so(int fd)
{
	static const char magic[16] = "SQLite format 3"; /* with its NUL */
	char head[sizeof(magic)];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       memcmp(head, magic, sizeof(head)) == 0;
}

#ifndef INGERO_HAVE_SQLITE

int input_older_open(int *fd, const char *path, struct buf *notes, struct err *e)
{
	*fd = -1;
	return err_set(e, ERR_CANNOT,
		       "%s is an SQLite recording: this build reads none, it had no sqlite3 "
		       "(make deps, then make)",
		       path);
}

#else

#include "lib/archive/legacy.h"

static int take(struct ige_writer *wr, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	if (item->kind == STREAM_RECORD)
		return ige_writer_record(wr, item->record, e);
	for (size_t i = 0; i < item->n && rc == 0; i++)
		rc = ige_writer_event(wr, &item->events[i], e);
	return rc ? rc : ige_writer_flush(wr, item->watermark_ns, INT64_MIN, false, e);
}

static int rewrite(int fd, struct archive_legacy *l, struct world *w, struct err *e)
{
	const struct archive_legacy_told *told = archive_legacy_told(l);
	struct event_stream *s = archive_legacy_stream(l);
	struct ige_writer_options opt = { .boot = told->boot, .salt = told->salt, .index = true };
	struct ige_writer *wr = NULL;
	struct ige_fd_sink sink;
	struct stream_item item;
	int rc;

	memcpy(opt.node_uuid, told->node_uuid, sizeof(opt.node_uuid));
	ige_fd_sink_init(&sink, fd);
	rc = ige_writer_new(&wr, w, &sink.sink, &opt, e);
	while (rc == 0 && (rc = s->next(s, &item, e)) > 0)
		rc = take(wr, &item, e);
	if (rc == 0)
		rc = ige_writer_finish(wr, e);
	ige_writer_free(wr);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = err_sys(e, "cannot read an older recording");
	return rc;
}

int input_older_open(int *fd, const char *path, struct buf *notes, struct err *e)
{
	struct world *w = world_new();
	struct archive_legacy *l = NULL;
	int rc = w ? archive_legacy_open(&l, w, path, e) : err_nomem(e);

	*fd = -1;
	if (rc == 0) {
		*fd = io_nameless(e);
		rc = *fd < 0 ? *fd : rewrite(*fd, l, w, e);
	}
	if (rc == 0 && archive_legacy_told(l)->unmapped)
		buf_printf(notes,
			   "%s: %" PRIu64
			   " of its events are of kinds that are not known here: left out\n",
			   path, archive_legacy_told(l)->unmapped);
	if (rc == 0 && archive_legacy_told(l)->pauses)
		buf_printf(notes,
			   "%s: holds several sessions: of the %" PRIu64
			   " pauses between them nothing is known\n",
			   path, archive_legacy_told(l)->pauses);
	if (rc == 0 && archive_legacy_told(l)->impossible)
		buf_printf(notes, "%s: %" PRIu64 " of its events have impossible times: left out\n",
			   path, archive_legacy_told(l)->impossible);
	archive_legacy_free(l);
	world_free(w);
	if (rc && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return rc;
}

#endif

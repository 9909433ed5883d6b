/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewritten in a world of its own: what is read from the new file is interned like any recording's.
 */
#include "lib/input/database_input.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/ige/writer.h"

static database_input_look *watcher;
static const char *named;

void database_input_watch(database_input_look *look)
{
	watcher = look;
}

void database_input_name(const char *machine)
{
	named = machine;
}

bool database_input_looks_so(int fd)
{
	static const char magic[16] = "SQLite format 3"; /* with its NUL */
	char head[sizeof(magic)];

	return read_at(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       memcmp(head, magic, sizeof(head)) == 0;
}

#ifndef INGERO_HAVE_SQLITE

int database_input_open(int *fd, const char *path, struct buf *notes, struct buf *holds,
			struct err *e)
{
	*fd = -1;
	return err_set(e, ERR_CANNOT,
		       "%s is an SQLite recording: this build reads none, it had no sqlite3 "
		       "(make deps, then make)",
		       path);
}

#else

#include "lib/compat/agent_recording.h"
#include "lib/archive/read.h"

/* One of the two, and what its header says. */
struct database {
	struct archive_reader *archive;
	struct agent_recording *agents;
	struct event_stream *stream;
	struct ige_writer_options opt;
	bool complete;
};

static int open_one(struct database *o, struct world *w, const char *path, struct err *e)
{
	int rc = archive_reader_open(&o->archive, w, path, e);

	o->complete = true;
	o->opt.index = true;
	if (!rc && o->archive) {
		const struct archive_reader_told *told = archive_reader_told(o->archive);

		o->stream = archive_reader_stream(o->archive);
		memcpy(o->opt.node_uuid, told->node_uuid, sizeof(o->opt.node_uuid));
		o->opt.boot = told->boot;
		o->opt.salt = told->salt;
		o->opt.clock_id = told->real_minus_mono_ns != 0;
		o->opt.real_minus_mono_ns = told->real_minus_mono_ns;
		o->complete = told->complete;
		return 0;
	}
	rc = rc ? rc : agent_recording_open(&o->agents, w, path, named, e);
	if (!rc) {
		const struct agent_recording_facts *told = agent_recording_facts(o->agents);

		o->stream = agent_recording_stream(o->agents);
		memcpy(o->opt.node_uuid, told->node_uuid, sizeof(o->opt.node_uuid));
		o->opt.boot = told->boot;
		o->opt.salt = told->salt;
	}
	return rc;
}

/* Calls the progress callback; ERR_INTERRUPTED when it asks to stop. */
static int report_progress(const char *path, uint64_t events, bool over, struct err *e)
{
	if (watcher && watcher(path, events, over))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	return 0;
}

static int rewrite_as_ige(int fd, struct database *o, const char *path, struct world *w,
			  struct err *e)
{
	struct event_stream *s = o->stream;
	struct ige_writer *wr = NULL;
	struct ige_fd_sink sink;
	struct stream_item item;
	int64_t until_ns = INT64_MIN;
	uint64_t events = 0;
	int rc;

	ige_fd_sink_init(&sink, fd);
	rc = ige_writer_new(&wr, w, &sink.sink, &o->opt, e);
	while (rc == 0 && (rc = s->next(s, &item, e)) > 0) {
		if (item.kind == STREAM_EVENTS)
			until_ns = item.watermark_ns;
		events += item.kind == STREAM_EVENTS ? item.n : 0;
		rc = ige_writer_item(wr, &item, e);
		rc = rc ? rc : report_progress(path, events, false, e);
	}
	if (rc == 0 && o->complete)
		rc = ige_writer_finish(wr, e);
	else if (rc == 0)
		rc = ige_writer_flush(wr, until_ns, INT64_MIN, true, e);
	ige_writer_free(wr);
	/* However it ended. */
	if (report_progress(path, events, true, rc ? NULL : e))
		rc = rc ? rc : ERR_INTERRUPTED;
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = err_sys(e, "cannot read an SQLite recording");
	return rc;
}

static void append_left_out(struct database *o, const char *path, struct buf *notes)
{
	uint64_t unmapped, impossible;

	if (o->archive) {
		unmapped = archive_reader_told(o->archive)->unmapped;
		impossible = archive_reader_told(o->archive)->impossible;
	} else {
		unmapped = agent_recording_facts(o->agents)->unmapped;
		impossible = agent_recording_facts(o->agents)->impossible;
	}
	if (o->archive && archive_reader_told(o->archive)->left_out)
		buf_printf(notes,
			   "%s: %" PRIu64 " of its events were left out when it was made: there "
			   "was no room for them (--max-db)\n",
			   path, archive_reader_told(o->archive)->left_out);
	if (unmapped)
		buf_printf(notes,
			   "%s: %" PRIu64
			   " of its events are of kinds that are not known here: left out\n",
			   path, unmapped);
	if (o->agents && agent_recording_facts(o->agents)->pauses)
		buf_printf(notes,
			   "%s: holds several sessions: of the %" PRIu64
			   " pauses between them nothing is known\n",
			   path, agent_recording_facts(o->agents)->pauses);
	if (impossible)
		buf_printf(notes, "%s: %" PRIu64 " of its events have impossible times: left out\n",
			   path, impossible);
}

int database_input_open(int *fd, const char *path, struct buf *notes, struct buf *holds,
			struct err *e)
{
	struct world *w = world_new();
	struct database o = { 0 };
	int rc = w ? open_one(&o, w, path, e) : err_nomem(e);

	*fd = -1;
	if (rc == 0) {
		*fd = io_nameless(e);
		rc = *fd < 0 ? *fd : rewrite_as_ige(*fd, &o, path, w, e);
	}
	if (rc == 0)
		append_left_out(&o, path, notes);
	if (rc == 0 && o.archive)
		buf_puts(holds, archive_reader_told(o.archive)->recordings);
	archive_reader_free(o.archive);
	agent_recording_free(o.agents);
	world_free(w);
	if (rc && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return rc;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an archive (SQLite) as an export format. A database is written at several places of its
 * file, so that it needs a file descriptor, not the output stream of the other formats. */
#include "lib/store/sqlite.h"

#include <stdlib.h>

#include "lib/archive/write.h"

struct sqlite_state {
	struct export_ctx em;
	struct archive_writer *writer;
};

static void *open_archive(const struct export_ctx *em)
{
	struct sqlite_state *s = calloc(1, sizeof(*s));

	if (s)
		s->em = *em;
	return s;
}

static int begin_archive(void *state, struct err *e)
{
	struct sqlite_state *s = state;
	const struct archive_options how = { .tool = s->em.opt.tool,
					     .path = s->em.opt.path,
					     .stop = s->em.opt.stop,
					     .max_bytes = s->em.opt.max_bytes };

	return archive_writer_new(&s->writer, s->em.w, s->em.opt.fd, &how, e);
}

static int write_item(void *state, const struct stream_item *it, struct err *e)
{
	struct sqlite_state *s = state;

	return archive_writer_item(s->writer, it, e);
}

static int finish_archive(void *state, struct err *e)
{
	struct sqlite_state *s = state;
	struct archive_written written;
	int rc;

	if (s->em.opt.partial)
		archive_writer_whole(s->writer, !*s->em.opt.partial);
	rc = archive_writer_finish(s->writer, &written, e);
	if (!rc && s->em.opt.left_out)
		*s->em.opt.left_out = written.left_out;
	return rc;
}

static void free_state(void *state)
{
	struct sqlite_state *s = state;

	archive_writer_free(s->writer);
	free(s);
}

const struct export_format store_sqlite = {
	.name = "sqlite",
	.endings = ".db .sqlite",
	.help = "an archive to ask SQL of",
	.binary = true,
	.seeks = true,
	.findings = true,
	.open = open_archive,
	.begin = begin_archive,
	.item = write_item,
	.finish = finish_archive,
	.free = free_state,
};

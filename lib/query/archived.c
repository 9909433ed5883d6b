/* SPDX-License-Identifier: Apache-2.0 */
/* What is analyzed on the way passes through the analysis before it is written. */
#include "lib/query/archived.h"

#include <stdlib.h>

#include "lib/query/analyzed.h"

struct query_archive {
	struct archive_writer *writer;
	struct analyzed *analyzed; /* NULL: items go to the writer as they are */
};

static int write_item(void *to, const struct stream_item *item, struct err *e)
{
	return archive_writer_item(to, item, e);
}

int query_archive_new(struct query_archive **out, struct world *w, int fd, const char *path,
		      const char *tool, bool analyze, struct err *e)
{
	const struct archive_options opt = { .tool = tool, .path = path };
	struct query_archive *a = calloc(1, sizeof(*a));
	int rc = a ? archive_writer_new(&a->writer, w, fd, &opt, e) : err_nomem(e);

	*out = NULL;
	if (!rc && analyze && !(a->analyzed = analyzed_new(w, write_item, a->writer)))
		rc = err_nomem(e);
	if (rc)
		query_archive_free(a);
	else
		*out = a;
	return rc;
}

int query_archive_item(struct query_archive *a, const struct stream_item *item, struct err *e)
{
	return a->analyzed ? analyzed_item(a->analyzed, item, e)
			   : archive_writer_item(a->writer, item, e);
}

void query_archive_set_whole(struct query_archive *a, bool whole)
{
	archive_writer_whole(a->writer, whole);
}

int query_archive_end(struct query_archive *a, struct archive_written *written, struct err *e)
{
	int rc = a->analyzed ? analyzed_end(a->analyzed, e) : 0;

	return rc ? rc : archive_writer_finish(a->writer, written, e);
}

void query_archive_free(struct query_archive *a)
{
	if (!a)
		return;
	analyzed_free(a->analyzed);
	archive_writer_free(a->writer);
	free(a);
}

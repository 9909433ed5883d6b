/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a stream to an archive, and analyzes it on the way if that is wanted and it carries no
 * analysis.
 */
#ifndef INGERO_QUERY_ARCHIVED_H
#define INGERO_QUERY_ARCHIVED_H

#include <stdbool.h>

#include "lib/archive/write.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct query_archive;

/* w must outlive it; fd stays the caller's; path: what errors call it; tool: who writes it,
 * "ingero-query". */
int query_archive_new(struct query_archive **out, struct world *w, int fd, const char *path,
		      const char *tool, bool analyze, struct err *e);
int query_archive_item(struct query_archive *a, const struct stream_item *item, struct err *e);
/* Before the end: see archive_writer_whole. */
void query_archive_set_whole(struct query_archive *a, bool whole);
/* No more items. */
int query_archive_end(struct query_archive *a, struct archive_written *written, struct err *e);
void query_archive_free(struct query_archive *a);

#endif

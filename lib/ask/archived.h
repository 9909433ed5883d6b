/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream becomes an archive, analyzed on the way where that is wanted and nobody did it before.
 */
#ifndef INGERO_ASK_ARCHIVED_H
#define INGERO_ASK_ARCHIVED_H

#include <stdbool.h>

#include "lib/archive/write.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct ask_archive;

/* w must outlive it; fd stays the caller's; path: what errors call it; tool: who writes it, "ingero-query". */
int ask_archive_new(struct ask_archive **out, struct world *w, int fd, const char *path,
		    const char *tool, bool analyze, struct err *e);
int ask_archive_item(struct ask_archive *a, const struct stream_item *item, struct err *e);
/* Before the end: see archive_writer_whole. */
void ask_archive_whole(struct ask_archive *a, bool whole);
/* No more items. */
int ask_archive_end(struct ask_archive *a, struct archive_written *written, struct err *e);
void ask_archive_free(struct ask_archive *a);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive that is made in order to be asked: a file that nobody else sees, gone when its
 * connection is closed.
 */
#ifndef INGERO_ARCHIVE_MADE_H
#define INGERO_ARCHIVE_MADE_H

#include "lib/archive/ask.h"

/* Writes the archive into fd. */
typedef int archive_make(void *ctx, int fd, struct err *e);

/* What errors of writing call it. */
#define ARCHIVE_MADE "the archive to ask (TMPDIR says where it is)"

/* folder: where there is room for it; NULL or "": /var/tmp. Errors: as those of make and of
 * archive_ask_open. */
int archive_ask_made(struct archive_ask **out, const char *folder,
		     const struct archive_ask_limits *limits, archive_make *make, void *ctx,
		     struct err *e);

#endif

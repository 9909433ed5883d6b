/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older recordings (lib/archive/legacy.h) in the place of ours: rewritten once into a file without a name, which can be
 * sought and joined like any other.
 */
#ifndef INGERO_INPUT_OLDER_H
#define INGERO_INPUT_OLDER_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Whether an open file may be one. */
bool input_older_looks_so(int fd);

/* The recording at path: *fd becomes a descriptor of what it says, the caller's. What could not be taken over is appended to
 * notes, a line each, and to holds which recordings it says it has. ERR_CANNOT: it is no recording, or there is no room, or
 * no sqlite3; ERR_DAMAGED. */
int input_older_open(int *fd, const char *path, struct buf *notes, struct buf *holds,
		     struct err *e);

#endif

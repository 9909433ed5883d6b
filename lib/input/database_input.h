/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite recordings, archives (lib/archive) and those of the older agent (lib/compat): rewritten
 * once into a file without a name, which can be sought and joined like any other.
 */
#ifndef INGERO_INPUT_DATABASE_INPUT_H
#define INGERO_INPUT_DATABASE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Progress callback while a recording is rewritten, which takes seconds for a large one. events:
 * how many so far; over: it is done. Returning true stops it with ERR_INTERRUPTED. Set it once,
 * before anything is opened. */
typedef bool database_input_look(const char *path, uint64_t events, bool over);
void database_input_watch(database_input_look *look);

/* What the machine is called of those that do not say where they were made; borrowed, NULL:
 * "unknown". Once, the same. */
void database_input_name(const char *machine);

/* Whether an open file may be one. */
bool database_input_looks_so(int fd);

/* The recording at path: *fd becomes a descriptor of what it says, the caller's. What could not be
 * taken over is appended to notes, a line each, and to holds which recordings it says it has.
 * ERR_CANNOT: it is no recording, or there is no room, or no sqlite3; ERR_DAMAGED. */
int database_input_open(int *fd, const char *path, struct buf *notes, struct buf *holds,
			struct err *e);

#endif

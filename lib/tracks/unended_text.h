/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a wait that never ended is for, as text: "loader (tid 12 of pid 9) owns the lock, and waits
 * itself in encode (run.py:13); nothing tells whom it waits for".
 */
#ifndef INGERO_TRACKS_UNENDED_TEXT_H
#define INGERO_TRACKS_UNENDED_TEXT_H

#include "lib/base/buf.h"
#include "lib/tracks/track_names.h"
#include "lib/path/path_unended.h"

/* Appends nothing where nobody is known. */
void unended_print(struct buf *out, const struct track_names *names, const struct path_unended *u);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports what a running analysis would find if the recording ended now: by a forked copy of the
 * process, which finishes the analysis, writes what it found and exits, while the analysis here can
 * read on.
 *
 * Why a copy, and no function that changes nothing: finishing ends every open call and wait of the
 * line, flushes the windows of all detectors and lets them report, closes the path's segments,
 * settles the tracks and counts the steps that the loops still hold back. Each of these, and every
 * detector, has state of its own, and one that is forgotten makes the next answer wrong without a
 * word. A forked copy is a snapshot of all of it by the kernel, which copies pages only as they are
 * written: at 10.1 million events (a server of 72 MB) it was there for 42 ms and wrote 1.0 MB.
 *
 * It is bounded: killed after a minute, when the client has gone, and when the server ends. It has
 * no socket of the server's and none of its signal handlers, and it is waited for in any case
 * (tests/unit/serve_child.c).
 */
#ifndef INGERO_STORE_SOURCE_CHILD_H
#define INGERO_STORE_SOURCE_CHILD_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/store/source.h"

/* In the child: what it found is appended. False: it cannot. It may wait for no lock that another
 * thread may hold. */
typedef bool source_child_fn(void *ctx, struct buf *found);
/* The same here. False: there can be no child, it could not, somebody gives up, or it takes too
 * long. */
bool source_run_child(source_child_fn *find, void *ctx, const struct request_ctx *rctx,
		      struct buf *found);

#endif

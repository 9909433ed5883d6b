/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found out by a child, a copy of ours that takes as much memory as it changes, writes what it found and is gone: what it
 * reads to an end can be read on here.
 */
#ifndef INGERO_SERVE_SOURCE_CHILD_H
#define INGERO_SERVE_SOURCE_CHILD_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/serve/source.h"

/* In the child: what it found is appended. False: it cannot. It may wait for no lock that another thread may hold. */
typedef bool source_child_fn(void *ctx, struct buf *found);
/* The same here. False: there can be no child, it could not, somebody gives up, or it takes too long. */
bool source_child(source_child_fn *find, void *ctx, const struct serve_asker *asker,
		  struct buf *found);

#endif

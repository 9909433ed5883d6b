/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest events of a stream as one JSON array: nothing is written until the stream has ended,
 * unless all of them are asked for.
 */
#ifndef INGERO_EXPORT_TAIL_VIEW_H
#define INGERO_EXPORT_TAIL_VIEW_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct export_tail_view;

/* Takes what is there; the buffer is emptied afterwards. */
typedef int export_put(const struct buf *text, struct err *e);

/* limit: events at most; 0: all. w must outlive it. NULL: out of memory. */
struct export_tail_view *export_tail_view_new(struct world *w, uint64_t limit, export_put *put);
int export_tail_view_item(struct export_tail_view *v, const struct stream_item *item,
			  struct err *e);
/* No more items: the rest is put. *seen: how many there were. */
int export_tail_view_end(struct export_tail_view *v, uint64_t *seen, struct err *e);
void export_tail_view_free(struct export_tail_view *v);

#endif

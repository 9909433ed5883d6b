/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes a stream on, followed by its analysis: the one that the stream carries or, if it has none,
 * the one that is made here.
 */
#ifndef INGERO_QUERY_ANALYZED_H
#define INGERO_QUERY_ANALYZED_H

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct analyzed;

/* Called for each item as it comes, then for the records of the analysis, the newest revision of
 * each. */
typedef int analyzed_item_fn(void *to, const struct stream_item *item, struct err *e);

/* w must outlive it. NULL: out of memory. */
struct analyzed *analyzed_new(struct world *w, analyzed_item_fn *take, void *to);
int analyzed_item(struct analyzed *z, const struct stream_item *item, struct err *e);
/* No more items. */
int analyzed_end(struct analyzed *z, struct err *e);
void analyzed_free(struct analyzed *z);

#endif

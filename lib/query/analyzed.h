/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream on its way, with its analysis: what it carries itself, or, when nobody analyzed it, what
 * is found now, behind its last item.
 */
#ifndef INGERO_QUERY_ANALYZED_H
#define INGERO_QUERY_ANALYZED_H

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct analyzed;

/* Whoever takes the items: each as it comes, then the records of the analysis, the newest revision
 * of each. */
typedef int analyzed_take(void *to, const struct stream_item *item, struct err *e);

/* w must outlive it. NULL: out of memory. */
struct analyzed *analyzed_new(struct world *w, analyzed_take *take, void *to);
int analyzed_item(struct analyzed *z, const struct stream_item *item, struct err *e);
/* No more items. */
int analyzed_end(struct analyzed *z, struct err *e);
void analyzed_free(struct analyzed *z);

#endif

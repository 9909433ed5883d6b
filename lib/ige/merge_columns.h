/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of several inputs' blocks in one order, without events being put together: what is joined
 * only to be written again stays columns. A sheet is one EVENTS block of one input; a weave says
 * which row of which sheet comes next.
 */
#ifndef INGERO_IGE_MERGE_COLUMNS_H
#define INGERO_IGE_MERGE_COLUMNS_H

#include "lib/ige/events.h"
#include "lib/ige/reader.h"

#define IGE_BLOCK_VIEWS_MAX 65536 /* a ref has 16 bits for its sheet and 16 for its row */

struct ige_block_view {
	struct ige_decoder *decoder; /* its columns, and the definitions of its segment */
	int64_t by_ns;		     /* to be added to its ends */
};

/* What stream_item.weave points to; all of it borrowed until the next call. */
struct ige_merge_columns {
	const struct ige_block_view *const *sheets; /* NULL: none under this number now */
	unsigned nsheets;
	/* sheet << 16 | row, as many as the item says, rows of a sheet in their order and none left
	 * out; NULL: all rows of the only sheet */
	const uint32_t *refs;
	const int64_t *ends; /* of those, by_ns added; NULL with refs */
	bool ordered;	     /* in canonical order; otherwise they have to be sorted */
};

static inline int64_t ige_block_view_base(const struct ige_block_view *s)
{
	return s->decoder->a.header.end_min + s->by_ns;
}

/* What the order of events knows of a row: end, context, depth. */
struct event ige_block_view_place(const struct ige_block_view *s, uint32_t row);
/* The whole event. Rows of a sheet are asked for in their order, each once: their values are taken
 * in turn. */
void ige_block_view_event(const struct ige_block_view *s, uint32_t row, struct event *ev);

/* The i-th of a weave; with refs, in turn. */
void ige_merge_columns_event(const struct ige_merge_columns *v, size_t i, struct event *ev);

/* From here on items of blocks that can be sheets have one instead of events. Before the first item
 * only. */
void ige_reader_merge_columns(struct ige_reader *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVENTS blocks: rows in memory as columns, sealed into bytes and decoded back.
 */
#ifndef INGERO_IGE_EVENTS_H
#define INGERO_IGE_EVENTS_H

#include "lib/ige/columns.h"
#include "lib/ige/dict_writer.h"
#include "lib/ige/sparse.h"
#include "lib/ige/worker_pool.h"

/* One sparse column while its block is open: values, and a bit for each row whose op lists it. */
struct ige_extra {
	uint16_t id;
	VEC(uint64_t) values;
	VEC(uint8_t) eligible; /* 1: a value follows, 0: absent in this row */
	bool gaps;
};

#define IGE_EXTRA_HINTS 64
struct ige_rows {
	struct ige_dict_writer *dict;
	uint64_t *values;
	uint64_t *column[IGE_DEPTH +
			 1]; /* in values, by enum ige_column; END holds end_ns until sealing */
	size_t n, cap;	     /* of each of them */
	VEC(struct ige_extra) extras;
	uint8_t extra_at[IGE_EXTRA_HINTS]; /* by the last bits of a column's id: where it stood last
					    */
	VEC(uint64_t) order; /* of grouped rows, when ends and places do not tell it */
	bool grouped;	     /* rows stand by context, see ige/archive.h */
	int64_t end_min, end_max, start_min;
	size_t bytes; /* upper bound of what is held, for the block limit */
};

void ige_rows_init(struct ige_rows *r, struct ige_dict_writer *dict);
void ige_rows_free(struct ige_rows *r);
/* Room for n rows in all; false: out of memory. */
bool ige_rows_room(struct ige_rows *r, size_t n);
#define IGE_ROW_BYTES 28 /* bound of what a row's own columns take */
/* Adds one event; false: out of memory. Its definitions are queued in dict. */
bool ige_rows_add(struct ige_rows *r, const struct event *ev, const struct ige_written_op *op);
/* Seal all rows into one block appended to out, with h's type, flags, seq, lost, floor set by the
 * caller; empties r. team: who works along; NULL: nobody. */
int ige_rows_seal(struct ige_rows *r, struct ige_builder *b, struct ige_worker_pool *team,
		  struct ige_header *h, struct buf *out, struct err *e);
/* The two steps of ige_rows_seal. The first sets h's rows and times; the second appends a block of
 * the sparse columns and all that was added to b before, and empties r. */
void ige_rows_head(const struct ige_rows *r, struct ige_header *h);
int ige_rows_seal_extras(struct ige_rows *r, struct ige_builder *b, struct ige_header *h,
			 struct buf *out, struct err *e);
void ige_rows_clear(struct ige_rows *r);

/* Decoding: events of one block in world ids. Columns are decoded whole; events are put together a
 * window at a time, so that who looks at them finds them near. */
struct ige_decoder {
	struct ige_dict_reader *dict;
	struct ige_arrays_decoder own;
	struct ige_arrays a; /* the block's own columns */
	struct ige_sparse sparse;
	VEC(struct event) events;
	VEC(uint32_t) at, place; /* of a grouped block's rows */
	const int64_t
		*window; /* NULL: all; else events outside [window[0], window[1]) are passed by */
	uint32_t passed; /* so many, in this block */
	uint32_t total;	 /* events of this block */
	uint32_t row;	 /* rows put together; what is behind it waits for ige_decoder_next */
	size_t given;	 /* events of those that were all put together at once */
	bool whole;	 /* …as here */
	bool placed;	 /* sparse values still lie in front of the rows they belong to */
};
void ige_decoder_free(struct ige_decoder *d);
/* ERR_DAMAGED, ERR_CANNOT (encoded in a way this program does not know): nothing of the block is
 * used. ERR_TOO_NEW: it has a critical part this program does not know. A damaged extra column
 * costs only its own values; *partial is set. The block's bytes are not needed any more then, its
 * dictionary is. */
int ige_decoder_begin(struct ige_decoder *d, const struct ige_view *v, bool *partial,
		      struct err *e);
/* The next events, in order, until the next call; 0: that was all. */
size_t ige_decoder_next(struct ige_decoder *d, const struct event **events);
/* All at once, in d->events. */
int ige_decode_events(struct ige_decoder *d, const struct ige_view *v, bool *partial,
		      struct err *e);

#endif

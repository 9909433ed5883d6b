/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVENTS blocks: rows in memory as columns, sealed into bytes and decoded back.
 */
#ifndef INGERO_IGE_EVENTS_H
#define INGERO_IGE_EVENTS_H

#include "lib/ige/dict.h"

/* One sparse column while its block is open: values, and a bit for each row whose op lists it. */
struct ige_extra {
	uint16_t id;
	VEC(uint64_t) values;
	VEC(uint8_t) eligible; /* 1: a value follows, 0: absent in this row */
	bool gaps;
};

struct ige_rows {
	struct ige_dict_writer *dict;
	uint64_t *column[IGE_DEPTH + 1]; /* by enum ige_column; END holds end_ns until sealing */
	size_t n, cap;			 /* of each of them */
	VEC(struct ige_extra) extras;
	VEC(uint64_t) order; /* of grouped rows, when ends and places do not tell it */
	bool grouped;	     /* rows stand by context, see ige/archive.h */
	int64_t end_min, end_max, start_min;
	size_t bytes; /* upper bound of what is held, for the block limit */
};

void ige_rows_init(struct ige_rows *r, struct ige_dict_writer *dict);
void ige_rows_free(struct ige_rows *r);
/* Adds one event; false: out of memory. Its definitions are queued in dict. */
bool ige_rows_add(struct ige_rows *r, const struct event *ev, const struct ige_written_op *op);
/* Seal all rows into one block appended to out, with h's type, flags, seq, lost, floor set by the caller; empties r. */
int ige_rows_seal(struct ige_rows *r, struct ige_builder *b, struct ige_header *h, struct buf *out,
		  struct err *e);

/* Where the values of an op's sparse columns come from in the current block. */
struct ige_plan {
	uint64_t block;
	unsigned n;
	struct {
		uint8_t queue, column; /* the op's, as the file has it */
		int8_t to, kind;       /* as in struct ige_file_op */
	} take[OP_COLUMNS_MAX];
};

/* Decoding: events of one block in world ids. */
struct ige_decoder {
	struct ige_dict_reader *dict;
	VEC(uint64_t) values; /* all columns' values, one after another */
	VEC(struct event) events;
	VEC(uint32_t) at, place;    /* of a grouped block's rows */
	VEC(struct ige_plan) plans; /* by the op's layout in dict */
	uint64_t block;		    /* counts up: a plan of another block is stale */
	uint64_t unknown_columns;   /* of newer writers, passed by */
	const int64_t
		*window; /* NULL: all; else events outside [window[0], window[1]) are passed by */
	uint32_t passed; /* so many, in this block */
};
void ige_decoder_free(struct ige_decoder *d);
/* ERR_DAMAGED, ERR_CANNOT (encoded in a way this program does not know): nothing of the block is used. ERR_TOO_NEW:
 * it has a critical part this program does not know. A damaged extra column costs only its own values; *partial is
 * set. */
int ige_decode_events(struct ige_decoder *d, const struct ige_view *v, bool *partial,
		      struct err *e);

#endif

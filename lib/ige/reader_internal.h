/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader's inside, shared by reader.c, which goes from block to block, and reader_items.c, which
 * hands out what is in one. Nobody else includes this.
 */
#ifndef INGERO_IGE_READER_INTERNAL_H
#define INGERO_IGE_READER_INTERNAL_H

#include "lib/ige/columns.h"
#include "lib/ige/events.h"
#include "lib/ige/reader.h"
#include "lib/ige/records.h"
#include "lib/ige/merge_columns.h"
#include "lib/ige/window.h"

struct ige_reader {
	struct world *world;
	struct ige_window in;
	bool own_fd, began;
	bool follow;		    /* see ige_reader_follow */
	uint64_t reread;	    /* bytes, see REREAD_MAX */
	int64_t real_minus_mono_ns; /* of the segment */
	uint32_t tag;		    /* of the segment whose ids the dictionary holds */
	bool tagged;
	struct ige_report report;
	struct ige_dict_reader dict;
	struct ige_decoder decoder;
	uint32_t wanted; /* columns, instead of events; see ige/columns.h */
	bool have_arrays;
	struct ige_record_list records;
	struct ige_view view; /* the block last returned */
	struct ige_report
		before_tail; /* as it was before the unfinished block at the end of input */
	bool tail;
	enum {
		NOTHING,
		SEGMENT,
		EVENTS,
		RECORDS,
		LAST
	} ready;     /* what ige_reader_items gives next */
	size_t next; /* within the block's events or records */
	struct event_stream stream;
	bool weaves; /* sheets instead of events */
	struct ige_block_view sheet;
	const struct ige_block_view *sheets[1];
	struct ige_merge_columns weave;
};

#endif

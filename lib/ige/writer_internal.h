/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer's inside, shared by writer.c, which takes events and records in, and writer_seal.c,
 * which makes blocks of them. Nobody else includes this.
 */
#ifndef INGERO_IGE_WRITER_INTERNAL_H
#define INGERO_IGE_WRITER_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/ige/archive.h"
#include "lib/ige/block_job.h"
#include "lib/ige/index.h"
#include "lib/ige/pending.h"
#include "lib/ige/writer.h"

struct ige_woven;
struct ige_stand;
struct ige_woven_class;
struct ige_column_merger {	      /* see merge_columns_state.h */
	VEC(struct ige_woven) inputs; /* by number of sheet */
	VEC(struct ige_stand) stands; /* the same */
	VEC(struct ige_woven_class) classes;
	VEC(uint16_t) places; /* of rows being put down, input by input */
};
void ige_column_merger_free(struct ige_column_merger *v);

/* Blocks that a team makes while rows of the next ones come. They are put in their order, by who
 * writes. */
#define IGE_LATER_MAX 4
struct ige_later {
	struct ige_task
		task; /* first: run gives it back to us. Of bytes there is nothing to be done */
	struct ige_block_job bale;
	struct ige_builder builder;
	struct ige_header header;
	struct buf out;
	enum ige_put_kind kind;
	uint32_t events;
	uint64_t ops;
	size_t bound; /* of the bytes they will be */
	int rc;
	struct err why;
};

struct ige_writer {
	struct world *world;
	struct ige_sink *sink;
	struct ige_writer_options opt;
	struct ige_dict_writer dict;
	struct ige_builder builder;
	struct ige_rows rows, late;
	struct ige_archive archive;
	struct ige_pending pending;
	struct ige_column_merger weaver;
	VEC(struct record) records;
	struct arena texts; /* of waiting records */
	struct buf out;
	struct ige_later *later; /* IGE_LATER_MAX, in a ring; NULL until there is one */
	unsigned later_first, nlater;
	bool broken;		    /* something could not be put: nothing is put behind it */
	struct ige_index index;	    /* of what was put */
	uint64_t row_ops, late_ops; /* of what is in rows and late, see ige_op_bit */
	uint64_t seq;
	uint64_t segment;		     /* how many began */
	uint64_t segment_bytes, event_bytes; /* put */
	int64_t segment_start;
	int64_t last_end; /* of the newest event let go */
	int64_t watermark, floor;
	int64_t due; /* watermark less the window: what ends by then has been let go */
	uint64_t lost;
	bool open;    /* the segment header is written */
	bool cutting; /* the segment is about to end with LAST: it does not end by itself */
};

#define IGE_ROWS_BYTES_MAX (3u << 20) /* a block is sealed well before the format's 4 MiB */

/* Time for a block of these rows. */
bool ige_writer_full(const struct ige_writer *wr, const struct ige_rows *rows);
void ige_writer_set_times(struct ige_writer *wr, int64_t watermark_ns, int64_t floor_ns);
/* No file can hold times from nowhere: such events are counted, not written. */
static inline bool ige_event_nowhere(const struct event *ev)
{
	return ev->end_ns <= -IGE_TIME_MAX / 2 || ev->end_ns >= IGE_TIME_MAX / 2 ||
	       ev->dur_ns >= (uint64_t)IGE_TIME_MAX / 2;
}
/* What stands in out, behind what waits. events, ops: what it holds of them. */
int ige_writer_put(struct ige_writer *wr, enum ige_put_kind kind, uint32_t events, uint64_t ops,
		   struct err *e);
/* A block of the open rows, of which h tells what they do not, made by the team: 1; 0: it is to be
 * made here. */
int ige_writer_make_later(struct ige_writer *wr, const struct ige_header *h, uint32_t events,
			  struct err *e);
/* The oldest of what waits is put. */
int ige_writer_put_oldest(struct ige_writer *wr, struct err *e);
/* How many bytes wait at most, and how many of them are events. */
uint64_t ige_writer_waiting(const struct ige_writer *wr, uint64_t *event_bytes);
void ige_writer_later_free(struct ige_writer *wr);
/* Everything queued, in the order readers need it. */
int ige_writer_seal(struct ige_writer *wr, struct err *e);
/* One block of these rows, or of none: a heartbeat. */
int ige_writer_put_rows(struct ige_writer *wr, struct ige_rows *rows, uint8_t flags, struct err *e);
int ige_writer_put_index(struct ige_writer *wr, struct err *e);

#endif

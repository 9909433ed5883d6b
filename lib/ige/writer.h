/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording: segment header, schema, dictionaries before first use, event blocks,
 * record blocks, LAST. Bytes leave through a caller's sink, one call per block; nothing is ever
 * rewritten. Memory is bounded by one block, the reorder window and the segment's dictionaries.
 */
#ifndef INGERO_IGE_WRITER_H
#define INGERO_IGE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

/* Where blocks go. put must take all n bytes or fail. kind tells the caller what may be dropped
 * when it cannot keep up: only IGE_PUT_EVENTS, never definitions. dropped_events: how many events
 * those bytes hold. */
enum ige_put_kind { IGE_PUT_EVENTS, IGE_PUT_DEFINITIONS, IGE_PUT_RECORDS, IGE_PUT_FRAME };
struct ige_sink {
	int (*put)(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
		   uint32_t events, struct err *e);
};

/* A sink on a file descriptor (write(2) until done; ENOSPC, EPIPE reported). The descriptor stays
 * the caller's. */
struct ige_fd_sink {
	struct ige_sink sink;
	int fd;
	uint64_t bytes; /* written so far */
};
void ige_fd_sink_init(struct ige_fd_sink *s, int fd);

struct ige_worker_pool;
struct ige_writer_options {
	bool archive;		/* for keeping: large blocks, small columns; slow to write */
	uint32_t block_events;	/* flush after this many events; 0 = 8192, in an archive 65536 */
	uint64_t segment_bytes; /* a new segment after this many bytes; 0 = 64 MB */
	uint64_t segment_ns; /* …or after this long once events outweigh dictionaries 50:1; 0 = 60 s
			      */
	uint64_t window_ns; /* reorder window: events this much older than the newest still sort in;
			       0 = none */
	uint8_t node_uuid[16];
	uint64_t boot;
	int64_t real_minus_mono_ns;
	uint32_t clock_id; /* 1 = CLOCK_MONOTONIC, 0 = CLOCK_REALTIME (imports) */
	bool index;    /* each segment ends with an index of its blocks, for readers that seek */
	uint64_t salt; /* goes into the ids of segments, of which no two may be alike: what else
			  sets this writing apart */
	struct ige_worker_pool *team; /* works along, stays the caller's, see worker_pool.h; NULL:
					 nobody does. A few blocks are put later then */
};

struct ige_writer;

/* w stays the caller's and must outlive the writer. */
int ige_writer_new(struct ige_writer **out, struct world *w, struct ige_sink *sink,
		   const struct ige_writer_options *opt, struct err *e);

/* Add one event. Any order within the window; later than that goes to a LATE block. */
int ige_writer_event(struct ige_writer *wr, const struct event *ev, struct err *e);

/* The same as adding n events and then flushing without force, for who has them in stream order:
 * they are not kept waiting, and so not copied. 0: nothing was done, because they are not in order,
 * or some may still come before them. */
int ige_writer_ordered(struct ige_writer *wr, const struct event *events, size_t n,
		       int64_t watermark_ns, int64_t floor_ns, struct err *e);

/* The same for rows of other recordings, without events being put together: 1, or 0: not so, they
 * have to come as events. Not for an archive. Sheets keep their numbers from call to call. */
struct ige_merge_columns;
int ige_writer_weave(struct ige_writer *wr, const struct ige_merge_columns *v, size_t n,
		     int64_t watermark_ns, int64_t floor_ns, struct err *e);

/* Add one record; written in a RECORDS block of its kind, before any event added later. One without
 * a value is none. */
int ige_writer_record(struct ige_writer *wr, const struct record *r, struct err *e);

/* Count events that were lost before the next event: located by the next block. */
void ige_writer_lost(struct ige_writer *wr, uint64_t n);

/* What a stream gave: events with what was lost before them, then a flush without force; a record;
 * of all else nothing. */
int ige_writer_item(struct ige_writer *wr, const struct stream_item *item, struct err *e);

/* Everything that ends at or before watermark_ns has been added: sort, seal and write what is due,
 * else a heartbeat. floor_ns: nothing added later starts earlier, except calls named by OPEN
 * records. force: write the open block even when it is small. */
int ige_writer_flush(struct ige_writer *wr, int64_t watermark_ns, int64_t floor_ns, bool force,
		     struct err *e);

/* End the segment with a LAST block: what was written until now is a recording of its own, and what
 * comes next begins another one. Events later than the watermark go there. Nothing, when no segment
 * has begun. */
int ige_writer_cut(struct ige_writer *wr, struct err *e);

/* With a team: writes the queued blocks. Needed only before giving up after another error; all
 * other calls do it where necessary. Returns an error of a queued block, if any; otherwise e is
 * unchanged. */
int ige_writer_settle(struct ige_writer *wr, struct err *e);

/* Write what is left and the LAST block. The writer only accepts ige_writer_free afterwards. */
int ige_writer_finish(struct ige_writer *wr, struct err *e);
void ige_writer_free(struct ige_writer *wr);

/* One RECORDS block as bytes for a pass-through filter: no ids, flagged FOREIGN, all records of one
 * kind. Appended to *out (a struct buf); see ige/block.h for the flag. */
struct buf;
int ige_encode_records(struct buf *out, const struct record *r, size_t n, uint64_t seq,
		       int64_t time_ns, struct err *e);

#endif

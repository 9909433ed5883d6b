/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a recording from a file descriptor: file, pipe or growing file, with the same result.
 * Single pass, never seeks backwards, trusts nothing before it is checked (limits, then checksum,
 * then values). Damaged stretches are skipped to the next valid block header and accounted for
 * in struct ige_report; every intact block is used. Ids of a segment are mapped to world ids.
 */
#ifndef INGERO_IGE_READER_H
#define INGERO_IGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct ige_reader;

/* What was read and what could not be. Valid at any time; final at the end of input. */
struct ige_report {
	uint64_t segments, blocks, events, records;
	uint64_t damaged_blocks; /* header intact, content refused: checksum or values */
	uint64_t damaged_events; /* of those blocks, by their headers; not returned */
	uint64_t skipped_bytes;	 /* passed over while looking for the next block */
	uint64_t first_damage;	 /* input offset of the first damage; valid when damaged_blocks or
				    skipped_bytes */
	char first_reason[120];	 /* what was wrong there */
	uint64_t unknown_blocks; /* types, ops or columns of a newer writer, passed by */
	uint64_t lost_events;	 /* the recorder's own count, from block headers */
	bool too_new;	   /* a critical part of a newer version was met: reading stopped there */
	bool truncated;	   /* the input ends inside a block */
	bool unterminated; /* the last segment has no LAST block (recorder killed, or still writing)
			    */
	bool growing;	   /* unterminated, and its recorder still holds the lock */
	bool empty;	   /* no byte at all */
};

/* fd: readable; closed by ige_reader_free when own_fd. name: for messages. Fails with ERR_DAMAGED
 * "not an .ige file" when the first bytes are something else, ERR_TOO_NEW on a newer major version.
 * An empty input is not an error here: report.empty. */
int ige_reader_open(struct ige_reader **out, struct world *w, int fd, bool own_fd, const char *name,
		    struct err *e);
void ige_reader_free(struct ige_reader *r);

/* For more inputs than files may be open: r, which owns the descriptor of a regular file just
 * opened, closes it, and opens path (borrowed) again for each read. If another file has replaced it
 * by then, reading fails. */
int ige_reader_let_go(struct ige_reader *r, const char *path, struct err *e);
/* From here on, the end of a file that its recorder still writes (report.growing) is not final: a
 * later call reads what was appended. An incomplete block is read when it is complete. Regular
 * files only. */
void ige_reader_follow(struct ige_reader *r);
const struct ige_report *ige_reader_report(const struct ige_reader *r);
/* Bytes of the input that were read so far. */
uint64_t ige_reader_read(const struct ige_reader *r);

/* One block as it stands in the input. bytes are borrowed until the next call. */
struct ige_block {
	const void *bytes; /* whole, header included; for a segment header, that */
	size_t n;
	uint8_t type;	      /* enum ige_block_type, ige/block.h */
	uint16_t record_kind; /* RECORDS blocks: their kind, else 0 */
	bool last;	      /* the LAST block of a segment */
	uint64_t seq;	      /* for ige_encode_records */
	int64_t end_max;
};

/* 1 a block, 0 end of input, < 0 error (ERR_TOO_NEW, ERR_SYS). Dictionaries are taken in as they
 * pass. A block that could not be used is still returned when its header is sound, so that a filter
 * passes it on. */
int ige_reader_block(struct ige_reader *r, struct ige_block *b, struct err *e);

/* Decode the block just returned into items: call until it returns 0. Blocks of other types give
 * none. */
int ige_reader_items(struct ige_reader *r, struct stream_item *item, struct err *e);

/* The two above as an event_stream; closing the stream does not free the reader. */
struct event_stream *ige_reader_stream(struct ige_reader *r);

#endif

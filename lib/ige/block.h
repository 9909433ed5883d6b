/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framing of a recording: segment header, block header, column directory. Little-endian,
 * 8-byte aligned, never rewritten. formats/ige.md is the normative text.
 */
#ifndef INGERO_IGE_BLOCK_H
#define INGERO_IGE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define IGE_MAJOR 1
#define IGE_MINOR 0

#define IGE_SEGMENT_MAGIC   "\x89IGE\r\n\x1a\n"
#define IGE_SEGMENT_BYTES   80
#define IGE_BLOCK_MAGIC	    0x4b424749u /* "IGBK" */
#define IGE_BLOCK_BYTES	    64
#define IGE_DIRECTORY_BYTES 16 /* per column */

/* Larger ones are refused: nothing is allocated for them. */
#define IGE_EVENTS_MAX	65536
#define IGE_LENGTH_MAX	(4u << 20)
#define IGE_COLUMNS_MAX 512
#define IGE_IDS_MAX	(1u << 22)	   /* of one kind in one segment */
#define IGE_TEXT_MAX	65535		   /* bytes of one string of a dictionary */
#define IGE_INFLATE_MAX 64		   /* raw bytes of a compressed column per stored byte */
#define IGE_TIME_MAX	(INT64_C(1) << 62) /* of any time or duration, either way */

enum ige_block_type {
	IGE_SCHEMA = 1,
	IGE_DICT = 2,
	IGE_EVENTS = 3,
	IGE_RECORDS = 4,
	IGE_INDEX = 5,
	IGE_TRAILER = 6,
};

enum ige_block_flag {
	IGE_LATE = 1,	  /* events that came too late for their place */
	IGE_LAST = 2,	  /* the recording ended cleanly here */
	IGE_CRITICAL = 4, /* a reader that does not know this type, or a flag set here, must stop */
	IGE_FOREIGN = 8,  /* inserted by a filter; outside the producer's sequence */
	IGE_GROUPED = 16, /* rows stand in groups; IGE_END and IGE_ORDER tell the order of events */
	IGE_FLAGS_KNOWN = 31,
};

/* Flags of a segment a reader must know; the others may be passed by. */
#define IGE_SEGMENT_CRITICAL 0xffff0000u
#define IGE_SEGMENT_ARCHIVE  1u /* written to be small: see ige/archive.h */

/* A block's seq: upper half its segment's tag (the first four bytes of the segment's id), lower
 * half its number. */
#define IGE_SEQ_TAG(seq) ((uint32_t)((seq) >> 32))

enum ige_encoding {
	IGE_RAW = 0,	  /* count values of `width` bytes */
	IGE_PACKED = 2,	  /* frame of reference, see ige/forpack.h */
	IGE_CONSTANT = 3, /* one value of 8 bytes, count times */
	IGE_DELTA =
		4, /* packed differences to the value before it, the first to 0: never falling */
	IGE_PLANES = 6, /* the lowest bytes of all values, then the next ones, `width` times */
	IGE_DELTA_PLANES = 7, /* the same of differences to the value before, modulo 256 ^ width */
	IGE_TEXT = 8,	      /* count lengths of 4 bytes, then the bytes */
	IGE_ENTRIES = 9,      /* dictionary entries */
};

enum ige_compressor {
	IGE_STORED = 0,
	IGE_ZLIB = 1
}; /* zlib: u32 raw length, u32 zero, then the stream */

/* Columns of EVENTS blocks below 16 are the format's own; from 16 on they are formats/ops.def's. */
enum ige_column {
	IGE_END = 1, /* end_ns minus the block's end_min */
	IGE_DUR = 2,
	IGE_CTX = 3,
	IGE_SITE = 4,
	IGE_DEPTH = 5,
	IGE_FEW = 6,   /* sparse columns of few values, together; encoded as IGE_ENTRIES */
	IGE_ORDER = 7, /* of a grouped block: rank among events with the same end */
	IGE_EXTRA = 16,
};
#define IGE_PRESENCE \
	0x8000 /* with a column's id: a bit per eligible row, set where a value follows */

struct ige_segment {
	uint16_t major, minor;
	uint32_t flags;
	uint32_t time_unit_ns;
	uint8_t node_uuid[16];
	uint64_t boot;
	int64_t real_minus_mono_ns;
	uint32_t clock_id;
	uint8_t id[16];
};

struct ige_header {
	uint8_t type;
	uint8_t flags;
	uint16_t ncol;
	uint32_t length; /* of the whole block */
	uint32_t n;	 /* events or records */
	uint64_t seq;
	int64_t end_min, end_max, start_min;
	uint32_t lost;
	uint32_t start_floor_us; /* before end_max; IGE_FLOOR_UNKNOWN */
	uint32_t directory_crc;
};
#define IGE_FLOOR_UNKNOWN UINT32_MAX

/* No later event starts before it, as far as the header knows: INT64_MIN when it does not. */
static inline int64_t ige_header_floor(const struct ige_header *h)
{
	return h->start_floor_us == IGE_FLOOR_UNKNOWN || h->end_max == INT64_MIN
		       ? INT64_MIN
		       : h->end_max - (int64_t)h->start_floor_us * 1000;
}

struct ige_directory {
	uint16_t id;
	uint8_t encoding;
	uint8_t compressor;
	uint8_t width;
	uint8_t reserved; /* not 0: encoded in a way this program does not know */
	bool critical;
	uint32_t count;
	uint32_t length; /* stored bytes, without padding */
	uint32_t crc;
};

void ige_segment_pack(const struct ige_segment *s, unsigned char out[IGE_SEGMENT_BYTES]);
/* ERR_DAMAGED or ERR_TOO_NEW with the reason in e. */
int ige_segment_unpack(struct ige_segment *s, const unsigned char in[IGE_SEGMENT_BYTES],
		       struct err *e);
uint32_t ige_segment_tag(const struct ige_segment *s);

void ige_header_pack(const struct ige_header *h, unsigned char out[IGE_BLOCK_BYTES]);
int ige_header_unpack(struct ige_header *h, const unsigned char in[IGE_BLOCK_BYTES], struct err *e);

/* A block whose header was checked. */
struct ige_view {
	struct ige_header header;
	const unsigned char *bytes; /* whole block */
};
/* Checks the directory's checksum and that all columns lie inside. */
int ige_view_check(const struct ige_view *v, struct err *e);

/* Columns of a checked block in their order. */
struct ige_columns {
	const unsigned char *entry, *entries_end, *data;
};
void ige_columns_begin(struct ige_columns *c, const struct ige_view *v);
bool ige_columns_next(struct ige_columns *c, struct ige_directory *d, const unsigned char **data);

/* Put a block together: columns first, then the whole is appended to out. */
struct ige_builder {
	struct buf data;	  /* columns' stored bytes, padded */
	struct buf directory;	  /* packed entries */
	struct buf packed;	  /* the column being encoded */
	struct buf raw, deflated; /* …and deflated */
	bool small;		  /* size matters more than time: see ige/archive.h */
	VEC(uint64_t) deltas;
	unsigned ncol;
};
void ige_builder_reset(struct ige_builder *b);
void ige_builder_free(struct ige_builder *b);
/* A column from stored bytes; d->length, count and crc are filled in here. */
void ige_builder_column(struct ige_builder *b, struct ige_directory d, const void *p, size_t n);
/* Columns of integers: constant where they are, else packed (their differences where they never
 * fall), or raw where that is smaller. */
void ige_builder_integers(struct ige_builder *b, uint16_t id, const uint64_t *v, size_t n);
/* The columns of another one behind its own. */
void ige_builder_add(struct ige_builder *b, const struct ige_builder *other);
/* Appends header, directory and data to out; h's ncol, length and directory_crc are filled in here.
 */
int ige_builder_seal(struct ige_builder *b, struct ige_header *h, struct buf *out, struct err *e);

/* Both column functions: ERR_DAMAGED, or ERR_TOO_NEW for an encoding or compressor this program
 * does not know. */

/* A column's checksum only: 0 or ERR_DAMAGED. */
int ige_column_check(const struct ige_directory *d, const unsigned char *data, struct err *e);

/* Columns that are read or written together begin so many values apart from multiples of a page: a
 * processor's cache has few places for equal offsets. */
#define IGE_APART(column) ((size_t)(column)*72)

#define IGE_ROOM 128 /* a decoder works in groups of this many values */

/* Decode an integer column into v, which has room for d->count + IGE_ROOM. Checks the column's
 * checksum. */
int ige_column_integers(const struct ige_directory *d, const unsigned char *data, uint64_t *v,
			struct err *e);
/* Check a column's checksum and undo its compression: *p[*n] borrowed from data or scratch. */
int ige_column_bytes(const struct ige_directory *d, const unsigned char *data, struct buf *scratch,
		     const unsigned char **p, size_t *n, struct err *e);

#endif

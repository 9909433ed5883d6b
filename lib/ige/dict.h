/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of one segment. Writing: world ids are given file ids at first use and their
 * definitions queued, dependencies first. Reading: file ids are mapped back to world ids. Both
 * sides start empty with each segment.
 */
#ifndef INGERO_IGE_DICT_H
#define INGERO_IGE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/ige/block.h"
#include "lib/ige/sites.h"
#include "lib/world/world.h"

/* Column ids of DICT and SCHEMA blocks. The first ones are enum world_kind + 1; numbers are for ever. */
enum ige_dict_kind {
	IGE_D_STRING = 1,
	IGE_D_NODE = 2,
	IGE_D_PROCESS = 3,
	IGE_D_IMAGE = 4,
	IGE_D_THREAD = 5,
	IGE_D_CGROUP = 6,
	IGE_D_GPU = 7,
	IGE_D_MODULE = 8,
	IGE_D_FRAME = 9,
	IGE_D_STACK = 10,
	IGE_D_CTX = 11,
	IGE_D_SYMBOL = 12,
	IGE_D_SITE = 13,
	IGE_D_COLUMN = 14,
	IGE_D_OP = 15,
	IGE_D_KINDS = 16,
};

/* A call site as read; small, since a file may define millions. */
struct ige_read_site {
	uint16_t op;   /* 0: never defined */
	uint16_t args; /* bit i: column i of the op, as the file has it, stands here */
	uint8_t nargs;
	bool whole; /* and so do all others */
	int32_t ret;
	uint32_t stack;	  /* world id */
	uint32_t present; /* of its arguments, by the world's definition of the op */
	uint32_t layout;  /* index in ops */
	uint32_t at;	  /* x[0..nargs) in args */
};
#define IGE_SITE_ARGS_MAX \
	65536 /* sites with arguments per segment; beyond it arguments are columns */

/* World kind a column role or a record role refers to, or -1. */
int ige_role_kind(enum column_role role);
int ige_record_role_kind(enum record_role role);

/* ---- writing ---- */
struct ige_dict_writer {
	struct world *world;
	struct {
		VEC(uint32_t) ids;
		uint32_t n;
	} kind[WORLD_KINDS];		 /* ids[world id] = file id */
	struct buf pending[IGE_D_KINDS]; /* entries not yet written */
	uint32_t count[IGE_D_KINDS];	 /* entries in pending */
	uint32_t first[IGE_D_KINDS];	 /* file id of the first of them */
	struct ige_sites sites;
	struct {
		uint16_t op, args;
	} repeat[64]; /* which columns of an op go into its sites; by the op's hash */
	uint32_t symbols_seen;
	VEC(uint8_t) named;   /* by world frame id: its symbol was queued in this segment */
	uint64_t bytes;	      /* of definitions written in this segment */
	size_t pending_bytes; /* in all of pending */
	bool failed;
};
void ige_dict_writer_init(struct ige_dict_writer *d, struct world *w);
void ige_dict_writer_reset(struct ige_dict_writer *d); /* a new segment */
void ige_dict_writer_free(struct ige_dict_writer *d);
/* File id of a world id, defining it if need be; 0 for 0. */
uint32_t ige_dict_id(struct ige_dict_writer *d, enum world_kind kind, uint32_t world_id);
/* An event whose turn is soon: its site is worked out and fetched, ige_dict_near a few events later once more. */
#define IGE_PREPARED_MAX 64 /* at a time */
struct ige_next {
	struct ige_site site;
	uint64_t hash;
};
/* File id of the site of the event prepared; bit i of *args: its column i stands in the site. */
uint32_t ige_dict_site(struct ige_dict_writer *d, const struct op_def *def,
		       const struct ige_next *next, uint32_t *args);

void ige_dict_prepare(struct ige_dict_writer *d, const struct event *ev, const struct op_def *def,
		      struct ige_next *next);
static inline void ige_dict_near(const struct ige_dict_writer *d, const struct ige_next *next)
{
	ige_sites_fetch_site(&d->sites, next->hash);
}
/* Many definitions wait: time for a block. And: ids run out, time for a segment. */
bool ige_dict_due(const struct ige_dict_writer *d);
bool ige_dict_full(const struct ige_dict_writer *d);
/* Take in names that became known since. */
void ige_dict_symbols(struct ige_dict_writer *d);
/* Queued definitions as DICT blocks appended to out (none: nothing). *seq is counted up per block. */
int ige_dict_seal(struct ige_dict_writer *d, struct ige_builder *b, uint64_t *seq, struct buf *out,
		  struct err *e);
/* The SCHEMA block of a segment: the world's columns and ops. */
int ige_schema_seal(const struct world *w, struct ige_builder *b, uint64_t *seq, struct buf *out,
		    struct err *e);

/* ---- reading ---- */

/* An op as this segment defines it: which columns its events have here, and where each goes in world's definition. */
struct ige_file_op {
	uint16_t id;
	uint8_t ncols;
	uint16_t cols[OP_COLUMNS_MAX];
	int8_t to[OP_COLUMNS_MAX];   /* index in the world's definition, -1: not there */
	int8_t kind[OP_COLUMNS_MAX]; /* world kind its values refer to, -1: plain numbers */
};

struct ige_dict_reader {
	struct world *world;
	struct {
		VEC(uint32_t) ids;
	} kind[IGE_D_KINDS];		 /* ids[file id] = world id */
	VEC(struct ige_read_site) sites; /* [file id] */
	uint64_t generation;		 /* counts segments: sites of another one are others */
	size_t sites_defined;		 /* all of 1..this are; see ige/columns.c */
	VEC(uint64_t) args;		 /* of all sites */
	VEC(struct ige_file_op) ops;
	struct map op_index; /* op number -> index + 1 in ops */
	struct buf scratch;
	uint64_t unknown; /* references to ids that were never defined */
};
void ige_dict_reader_init(struct ige_dict_reader *d, struct world *w);
void ige_dict_reader_reset(struct ige_dict_reader *d);
void ige_dict_reader_free(struct ige_dict_reader *d);

/* World id of a file id; 0 (counted) when it was never defined. These two are asked for every event. */
static inline uint32_t ige_dict_world_id(struct ige_dict_reader *d, enum world_kind kind,
					 uint64_t file_id)
{
	if (file_id < d->kind[kind + 1].ids.n && d->kind[kind + 1].ids.v[file_id])
		return d->kind[kind + 1].ids.v[file_id];
	d->unknown += file_id != 0;
	return 0;
}

/* NULL (counted) when it was never defined. */
static inline const struct ige_read_site *ige_dict_get_site(struct ige_dict_reader *d,
							    uint64_t file_id)
{
	if (file_id < d->sites.n && d->sites.v[file_id].op)
		return &d->sites.v[file_id];
	d->unknown++;
	return NULL;
}

/* Take in a DICT or SCHEMA block. ERR_TOO_NEW: it defines something critical this program does not know. ERR_CANNOT:
 * a part is encoded in a way this program does not know. */
int ige_dict_take(struct ige_dict_reader *d, const struct ige_view *v, struct err *e);

#endif

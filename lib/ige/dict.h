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

/* A call site as read. What its events have in common stands as in struct event, to be copied as it is: a site is one
 * line of the processor's cache, which is what most events cost. */
#define IGE_SITE_X 4
struct ige_read_site {
	uint16_t op;   /* 0: never defined */
	uint16_t args; /* bit i: column i of the op, as the file has it, stands here */
	int32_t ret;
	uint32_t layout;  /* index in ops */
	uint32_t stack;	  /* world id */
	uint32_t present; /* of its arguments, by the world's definition of the op */
	uint32_t zero;
	uint64_t x[IGE_SITE_X]; /* the first of them; all, where nargs is above, in args from at on */
	uint32_t at;
	uint8_t nargs;
	uint8_t pad[3];
};
_Static_assert(sizeof(struct ige_read_site) == 64, "a site is one line");
#define IGE_SITE_ARGS_MAX \
	65536 /* sites with arguments per segment; beyond it arguments are columns */

/* World kind a column role or a record role refers to, or -1. */
int ige_role_kind(enum column_role role);
int ige_record_role_kind(enum record_role role);

/* ---- writing ---- */

/* How events of an op are written: which of its columns stand in its sites (bits in args, indices in arg). */
struct ige_written_op {
	const struct op_def *def; /* NULL: nothing here */
	uint16_t args;
	uint8_t nargs, arg[IGE_SITE_COLUMNS];
};
#define IGE_WRITTEN_OPS 256
static inline unsigned ige_written_at(uint16_t op)
{
	/* Ops of a recording are few numbers of few sources; each gets its own place. */
	return (op ^ op >> 8 << 5 ^ op >> 11) & (IGE_WRITTEN_OPS - 1);
}

/* Where a thread is in its sites: the last one and the one that came after it before; index + 1, 0 none. */
struct ige_lane {
	uint32_t last, guess;
};

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
	struct ige_written_op ops[IGE_WRITTEN_OPS]; /* by ige_written_at */
	VEC(struct ige_lane) lanes;		    /* by world ctx id */
	uint32_t symbols_seen;
	VEC(uint8_t) named;   /* by world frame id: its symbol was queued in this segment */
	uint64_t bytes;	      /* of definitions written in this segment */
	size_t pending_bytes; /* in all of pending */
	bool full;	      /* ids run out: time for a segment */
	bool failed;
};
void ige_dict_writer_init(struct ige_dict_writer *d, struct world *w);
void ige_dict_writer_reset(struct ige_dict_writer *d); /* a new segment */
void ige_dict_writer_free(struct ige_dict_writer *d);
/* One entry, its length in front, so that a reader may pass over fields it does not know. */
void ige_dict_queue(struct ige_dict_writer *d, enum ige_dict_kind kind, uint32_t id,
		    const struct buf *entry);
/* Define what has no file id yet; 0 for 0. */
uint32_t ige_dict_define(struct ige_dict_writer *d, enum world_kind kind, uint32_t world_id);
/* File id of a world id, defining it if need be; 0 for 0. */
static inline uint32_t ige_dict_id(struct ige_dict_writer *d, enum world_kind kind,
				   uint32_t world_id)
{
	if (world_id < d->kind[kind].ids.n && d->kind[kind].ids.v[world_id])
		return d->kind[kind].ids.v[world_id];
	return ige_dict_define(d, kind, world_id);
}

/* NULL: the world knows no such op. */
const struct ige_written_op *ige_dict_learn_op(struct ige_dict_writer *d, uint16_t op);
static inline const struct ige_written_op *ige_dict_op(struct ige_dict_writer *d, uint16_t op)
{
	const struct ige_written_op *o = &d->ops[ige_written_at(op)];

	return o->def && o->def->id == op ? o : ige_dict_learn_op(d, op);
}
/* File id of the site of an event; bit i of *args: its column i stands in the site. */
uint32_t ige_dict_site(struct ige_dict_writer *d, const struct event *ev,
		       const struct ige_written_op *op, uint32_t *args);
/* Many definitions wait: time for a block. */
bool ige_dict_due(const struct ige_dict_writer *d);
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
	bool no_stacks; /* frames, stacks and symbols are passed by: most of what a recording defines */
	struct {
		VEC(uint32_t) ids;
	} kind[IGE_D_KINDS];		 /* ids[file id] = world id */
	VEC(struct ige_read_site) sites; /* [file id] */
	uint64_t generation;		 /* counts segments: sites of another one are others */
	size_t sites_defined;		 /* all of 1..this are; see ige/rowcheck.c */
	VEC(uint64_t) args;		 /* of sites with more than IGE_SITE_X */
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of one segment, written: world ids are given file ids at first use and their
 * definitions queued, dependencies first. Starts empty with each segment.
 */
#ifndef INGERO_IGE_DICT_WRITER_H
#define INGERO_IGE_DICT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/ige/block.h"
#include "lib/ige/dict.h"
#include "lib/ige/sites.h"
#include "lib/world/world.h"

/* How events of an op are written: which of its columns stand in its sites (bits in args, indices
 * in arg). */
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

/* Where a thread is in its sites: the last one and the one that came after it before; index + 1, 0
 * none. */
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
	uint64_t generation; /* counts segments: ids of another one are others */
	uint32_t symbols_seen;
	VEC(uint8_t) named;   /* by world frame id: its symbol was queued in this segment */
	uint64_t bytes;	      /* of definitions written in this segment */
	size_t pending_bytes; /* in all of pending */
	bool full;	      /* ids run out: time for a segment */
	uint32_t foreign;     /* world_foreign, as the segment's schema has it */
	bool stale;	      /* an op was met that was defined since: the same */
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
/* Appends queued definitions to out as DICT blocks; *seq is incremented per block. */
int ige_dict_seal(struct ige_dict_writer *d, struct ige_builder *b, uint64_t *seq, struct buf *out,
		  struct err *e);
/* The SCHEMA block of a segment: the world's columns and ops. */
int ige_schema_seal(const struct world *w, struct ige_builder *b, uint64_t *seq, struct buf *out,
		    struct err *e);

#endif

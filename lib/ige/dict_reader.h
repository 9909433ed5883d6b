/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of one segment, read: file ids are mapped back to world ids. Starts empty with each
 * segment.
 */
#ifndef INGERO_IGE_DICT_READER_H
#define INGERO_IGE_DICT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/ige/block.h"
#include "lib/ige/dict.h"
#include "lib/world/world.h"

/* A call site as read. What its events have in common stands as in struct event, to be copied as it
 * is: a site is one line of the processor's cache, which is what most events cost. */
#define IGE_SITE_X 4
struct ige_read_site {
	uint16_t op;   /* 0: never defined */
	uint16_t args; /* bit i: column i of the op, as the file has it, stands here */
	int32_t ret;
	uint32_t layout;	/* index in ops */
	uint32_t stack;		/* world id */
	uint32_t present;	/* of its arguments, by the world's definition of the op */
	uint32_t id;		/* its own */
	uint64_t x[IGE_SITE_X]; /* the first ones; if nargs is larger, all are in args[at..] */
	uint32_t at;
	uint8_t nargs;
	uint8_t pad[3];
};
_Static_assert(sizeof(struct ige_read_site) == 64, "a site is one line");
/* An op as this segment defines it: which columns its events have here, and where each goes in
 * world's definition. */
struct ige_file_op {
	uint16_t id;
	uint8_t ncols;
	uint16_t cols[OP_COLUMNS_MAX];
	int8_t to[OP_COLUMNS_MAX];   /* index in the world's definition, -1: not there */
	int8_t kind[OP_COLUMNS_MAX]; /* world kind its values refer to, -1: plain numbers */
};

struct ige_dict_reader {
	struct world *world;
	bool no_stacks; /* frames, stacks and symbols are passed by: most of what a recording
			   defines */
	struct {
		VEC(uint32_t) ids;
	} kind[IGE_D_KINDS];		 /* ids[file id] = world id */
	VEC(struct ige_read_site) sites; /* [file id] */
	uint64_t generation;		 /* counts segments: sites of another one are others */
	uint64_t site_ops;		 /* ige_op_bit of every op that has one */
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

/* World id of a file id; 0 (counted) when it was never defined. These two are asked for every
 * event. */
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

/* Take in a DICT or SCHEMA block. ERR_TOO_NEW: it defines something critical this program does not
 * know. ERR_CANNOT: a part is encoded in a way this program does not know. */
int ige_dict_take(struct ige_dict_reader *d, const struct ige_view *v, struct err *e);

#endif

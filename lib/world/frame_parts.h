/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as the parts that outputs need: what it is called, where its source is, which library it
 * is in.
 */
#ifndef INGERO_WORLD_FRAME_PARTS_H
#define INGERO_WORLD_FRAME_PARTS_H

#include <stdint.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/world/world.h"

/* Borrowed from the world, empty where it is not known. */
struct place {
	uint8_t kind; /* enum world_frame_kind, 0: no such frame */
	struct bytes function, file, module;
	uint64_t line;	  /* of file, 0 unknown */
	uint64_t address; /* native: offset in the module's file; unknown: raw address */
};

struct place place_of(const struct world *w, uint32_t frame);

/* A name for it whatever is known: "train_step", "libfoo.so+0x1c20", "0x7f12…", "(frames are
 * missing: why)". */
void place_name(struct buf *out, const struct place *p);

/* The same as people say it: C++ without types (cpp_name.h). */
void place_print_name(struct buf *out, const struct place *p);

/* That and where it is: "train_step (train.py:41)", "launch+0x1c (libfoo.so)",
 * "libfoo.so+0x1c20", "?" of no frame. */
void place_print_frame(struct buf *out, const struct world *w, uint32_t frame);

/* Whether two frames (world ids) are of one function. */
bool place_same_function(const struct world *w, uint32_t a, uint32_t b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many recordings row by row in canonical order, without events being put together: the columns of
 * one block per input are decoded, and the cursor says from which input each next row comes. What a
 * row is, in ids of the one world, is looked up by whoever needs it. Records are passed by.
 */
#ifndef INGERO_INPUT_CURSOR_H
#define INGERO_INPUT_CURSOR_H

#include "lib/ige/columns.h"

/* The block one input stands in. */
struct input_rows {
	struct ige_arrays arrays;
	const struct ige_dict_reader *dict; /* what ctx and site refer to */
};

/* Row k is row (refs[k] & 0xffff) of input (refs[k] >> 16). A row whose site has op 0 is a dropped
 * one. */
struct input_run {
	const uint32_t *refs;
	unsigned n;
	const struct input_rows *inputs;
	bool late; /* came too late for its place: in order among themselves only */
};

struct input_cursor;

#define INPUT_CURSOR_MAX 65536 /* inputs: what a ref can tell */

/* readers[0..n) of world w stand at their beginning and stay the caller's; from here on they give
 * no events. ERR_LIMIT: more than INPUT_CURSOR_MAX. */
int input_cursor_open(struct input_cursor **out, const struct world *w,
		      struct ige_reader *const *readers, unsigned n, struct err *e);
void input_cursor_free(struct input_cursor *c);

/* 1: *run filled, good until the next call; 0: the end of all; < 0: an input failed. */
int input_cursor_next(struct input_cursor *c, struct input_run *run, struct err *e);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording as the bytes it is, block by block, with its index or a new one. Blocks whose
 * headers are sound go on, known or not, usable or not; what lies between them does not. Events are
 * not put together.
 */
#ifndef INGERO_INPUT_PASS_H
#define INGERO_INPUT_PASS_H

#include "lib/ige/writer.h"
#include "lib/input/input.h"

struct pass_result {
	uint64_t events, chains;
};

/* in was opened with input_open_counted and is the only one. reindex: every segment gets a new
 * index; else one that fits what is written is kept. interrupted may be NULL. */
int pass_run(struct input *in, bool reindex, struct ige_sink *sink, bool (*interrupted)(void),
	     struct pass_result *result, struct err *e);

#endif

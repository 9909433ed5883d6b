/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loop is called for people: its function and lines, or the calls that it repeats.
 */
#ifndef INGERO_TRACKS_LOOP_TEXT_H
#define INGERO_TRACKS_LOOP_TEXT_H

#include "lib/base/buf.h"
#include "lib/loops/loops.h"

/* Appends "Trainer.step (train.py:199-209)", "compute (libmodel.so)", or
 * "27 calls from cudaGraphLaunch called from ...". */
void loop_text_print(struct buf *out, const struct world *w, const struct loop *l);
/* Appends the call that tells steps of a loop that was found by its calls: "cudaGraphLaunch called
 * from ...". */
void loop_text_print_call(struct buf *out, const struct world *w, const struct loop *l);

#endif

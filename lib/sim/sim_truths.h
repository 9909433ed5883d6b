/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be generated, and what was planted, for people and for programs.
 */
#ifndef INGERO_SIM_SIM_TRUTHS_H
#define INGERO_SIM_SIM_TRUTHS_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/sim/sim.h"

/* Writes the member "truths" of the open object. Causes that were not planted are left out, here
 * and below. */
void sim_truths_json(struct jsonw *j, const struct sim_truth *t, unsigned n);
/* A table; columns: of the terminal, 0 for none. */
void sim_truths_text(struct buf *out, const struct sim_truth *t, unsigned n, bool color,
		     unsigned columns);

/* The scenarios: one JSON value, or a table. */
void sim_list_json(struct buf *out);
void sim_list_text(struct buf *out, bool color, unsigned columns);

#endif

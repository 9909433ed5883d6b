/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads stand when the recording ends: their waits that nobody had ended, by process, by
 * what they wait for and by stack. Of a run that hangs it is all there is; of one that goes on, its
 * idle threads.
 */
#ifndef INGERO_ACCOUNT_STANDING_H
#define INGERO_ACCOUNT_STANDING_H

#include "lib/base/jsonw.h"
#include "lib/account/where.h"
#include "lib/attrib/line.h"

struct cause;

/* An off-CPU interval; those that ended are none of its business. False: out of memory. */
bool standing_add(struct where *standing, const struct line_piece *p);

/* "standing" and "standing_total" of the analysis record, longest first. */
void standing_json(struct cause *c, struct jsonw *j);

#endif

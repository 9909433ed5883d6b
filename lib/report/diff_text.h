/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two recordings: as text, and as one JSON value
 * (formats/diff.schema.json).
 */
#ifndef INGERO_REPORT_DIFF_TEXT_H
#define INGERO_REPORT_DIFF_TEXT_H

#include "lib/base/buf.h"
#include "lib/event/diff.h"

/* top: causes and ops shown, 0 all; columns: of the terminal, 0 none. */
void diff_text(struct buf *out, const struct diff *d, unsigned top, unsigned columns, bool color);
void diff_json(struct buf *out, const struct diff *d);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What got slower between two recordings: for people, and as one JSON value
 * (formats/compare.schema.json).
 */
#ifndef INGERO_REPORT_COMPARE_TEXT_H
#define INGERO_REPORT_COMPARE_TEXT_H

#include "lib/base/buf.h"
#include "lib/event/compare.h"

/* top: rows shown, 0 all; columns: of the terminal, 0 none. */
void compare_text(struct buf *out, const struct compare *c, unsigned top, bool color,
		  unsigned columns);
void compare_json(struct buf *out, const struct compare *c);

#endif

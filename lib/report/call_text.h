/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, drawn: its time as a bar of its states, what was inside it in order, and where it was
 * called from; or as one JSON value (formats/call.schema.json).
 */
#ifndef INGERO_REPORT_CALL_TEXT_H
#define INGERO_REPORT_CALL_TEXT_H

#include "lib/base/buf.h"
#include "lib/event/call.h"

/* start_ns: of the recording; times are shown since then. columns: of the terminal, 0 none. */
void call_text(struct buf *out, const struct call_detail *d, int64_t start_ns, unsigned columns,
	       bool color);
void call_json(struct buf *out, const struct call_detail *d, int64_t start_ns);

#endif

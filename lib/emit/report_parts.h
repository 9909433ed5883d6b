/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the text report share: harmless text, numbers of JSON members, styles.
 */
#ifndef INGERO_EMIT_REPORT_PARTS_H
#define INGERO_EMIT_REPORT_PARTS_H

#include "lib/base/json.h"
#include "lib/emit/report.h"

/* Control characters become '?'. */
void report_safe(struct buf *out, struct bytes text);
void report_style(struct buf *out, bool color, const char *code);

/* duration_text of a JSON number. */
const char *report_ns(char *out, size_t size, double ns);
void report_count(struct buf *out, uint64_t n); /* 1,234,567 */

/* Members of an object. */
double report_number(struct json object, const char *key);
void report_member(struct buf *out, struct json object, const char *key, const char *otherwise);

/* One chain in full; at: its number in the report. */
void report_chain(struct buf *out, const struct report *r, const struct chain *c, unsigned at,
		  bool color);

#endif

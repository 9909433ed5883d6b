/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A format of an export with the findings of what it is given: those that the recording carries,
 * or, where nobody analyzed it, those that are found on the way, as ingero-explain finds them.
 * Counts them.
 */
#ifndef INGERO_STORE_FOUND_FORMAT_H
#define INGERO_STORE_FOUND_FORMAT_H

#include "lib/export/format.h"

struct found_format;

/* em: borrowed, and what it points to. analyze: all that was recorded comes, so that what nobody
 * analyzed can be. */
int found_format_open(struct found_format **out, const struct export_format *format,
		      const struct export_ctx *em, bool analyze, struct err *e);
int found_format_item(struct found_format *f, const struct stream_item *item, struct err *e);
/* Behind the last item, before found_format_finish. Findings are given to the format here. */
int found_format_analyze(struct found_format *f, struct err *e);
int found_format_finish(struct found_format *f, struct err *e);
/* Nothing more is there yet. */
int found_format_idle(struct found_format *f, struct err *e);
/* How many findings were given. */
uint64_t found_format_count(const struct found_format *f);
void found_format_free(struct found_format *f);

#endif

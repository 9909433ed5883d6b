/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports a stream and its findings: those that the recording carries or, if it was not analyzed,
 * those that an analysis on the way finds, as ingero-explain does. Counts the findings.
 */
#ifndef INGERO_STORE_FINDINGS_FORMAT_H
#define INGERO_STORE_FINDINGS_FORMAT_H

#include "lib/export/format.h"

struct findings_format;

/* em: borrowed, and what it points to. analyze: all that was recorded comes, so that what nobody
 * analyzed can be. */
int findings_format_open(struct findings_format **out, const struct export_format *format,
			 const struct export_ctx *em, bool analyze, struct err *e);
int findings_format_item(struct findings_format *f, const struct stream_item *item, struct err *e);
/* Behind the last item, before findings_format_finish. Findings are given to the format here. */
int findings_format_analyze(struct findings_format *f, struct err *e);
int findings_format_finish(struct findings_format *f, struct err *e);
/* Nothing more is there yet. */
int findings_format_idle(struct findings_format *f, struct err *e);
/* How many findings were given. */
uint64_t findings_format_count(const struct findings_format *f);
void findings_format_free(struct findings_format *f);

#endif

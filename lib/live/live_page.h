/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a recording that grows, as a page for a terminal (base/page.h): what matters at a
 * glance in lines that fit it, and behind a key each section as ingero-stat shows it.
 */
#ifndef INGERO_LIVE_LIVE_PAGE_H
#define INGERO_LIVE_LIVE_PAGE_H

#include "lib/base/page.h"
#include "lib/report/style.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* Fills an empty page, for a terminal of st->columns and so many rows; st->sections: which there
 * are. The caller may add sections of its own under the key REPORT_LIVE_FREE_KEY. page_free is the
 * caller's. */
void report_live(struct page *page, const struct world *w, const struct ops_summary *s,
		 const struct report_text_style *st, unsigned rows);
#define REPORT_LIVE_FREE_KEY 'm'

/* What the machine does, in the one to three lines that say something. */
void report_live_system(struct buf *out, const struct world *w, const struct ops_summary *s,
			const struct report_text_style *st);
/* A table of GPUs, one line each. Nothing where none was sampled. */
void report_live_gpus(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as one page of HTML that needs nothing else: no network, no script, no font. The
 * verdict comes first, with who, where, how much and what to do, or of a program with steps where
 * one of these goes; below it when time was lost, every cause with its evidence, where the time
 * went, the operations, the machine, and what the recording covers. What the sections say is what
 * ingero-explain and ingero-stat say of the same recording: it is made by the same functions.
 */
#ifndef INGERO_HTML_HTML_PAGE_H
#define INGERO_HTML_HTML_PAGE_H

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/report/report.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* Events are missing between these times, which are on the recording's clock. */
struct html_gap {
	int64_t from_ns, to_ns;
	uint64_t events;
};
#define HTML_GAPS 256

/* All borrowed. ops: with all sections of event/section_rows.h. */
struct html_page {
	const struct report *report;
	const struct ops_summary *ops;
	const struct world *world;
	const char *tool; /* "ingero-export 0.1.0" */
	const struct html_gap *gaps;
	size_t ngaps; /* of at most HTML_GAPS; further ones are counted and not drawn */
};

void html_page(struct buf *out, const struct html_page *p);

#endif

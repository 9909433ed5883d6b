/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is left out: what is not in a story is not in a report. */
#include "lib/api/story_report.h"

#include <string.h>

struct report story_report(const struct report_query *told, bool partial, const char *notes)
{
	const struct query_chains *a = told->chains;

	return (struct report){
		.chains = &a->list,
		.failures = told->failures,
		.oncpu = told->oncpu,
		.missing = &a->missing,
		.events = a->events,
		.open = a->open,
		.asleep = a->asleep,
		.lost = a->lost,
		.start_ns = a->start_ns,
		.end_ns = a->end_ns,
		.real_minus_mono_ns = a->real_minus_mono_ns,
		.has_start = a->has_start,
		.has_real = a->has_real,
		.found_analyzed = a->found_analyzed,
		.no_library = a->coverage && !a->library_seen,
		.partial = partial,
		.partial_text = { notes, partial && notes ? strcspn(notes, "\n") : 0 },
	};
}

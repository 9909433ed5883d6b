/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in a report from the answer to a report query, with all parts of the answer. */
#include "lib/api/report_from_answer.h"

#include <string.h>

struct report report_from_answer(const struct report_answer *answer, bool partial,
				 const char *notes)
{
	const struct query_chains *a = answer->chains;

	return (struct report){
		.chains = &a->list,
		.failures = answer->failures,
		.oncpu = answer->oncpu,
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that had not returned at the end of a recording. Of files that were cut out of one, each
 * says it of the same call at its own end: it is one call, open at the latest of those. An end
 * names all that are open in a thread: what a later one does not name had returned. Whether the
 * others did behind that the thread's events say.
 */
#ifndef INGERO_EVENT_OPEN_CALL_H
#define INGERO_EVENT_OPEN_CALL_H

#include <stdbool.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"

#define OPEN_CALLS_MAX 65536 /* more are passed over */

/* Zero-initialised is empty. */
struct open_calls {
	VEC(struct rec_OPEN) v;
	struct map by;	   /* thread, depth and start -> position */
	struct map latest; /* thread -> the latest time of its calls */
};

/* Records of calls that are open on the way are ignored. False: out of memory. */
bool open_calls_add(struct open_calls *o, const struct rec_OPEN *call);
/* Whether the latest end that names calls of its thread names this one, which is of v. */
bool open_calls_named(const struct open_calls *o, const struct rec_OPEN *call);
void open_calls_free(struct open_calls *o);

#endif

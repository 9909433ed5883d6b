/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that have not returned: they hold back the time before which nothing can start any more, until they have
 * been open so long that a record names them.
 */
#ifndef INGERO_PROBE_OPENS_H
#define INGERO_PROBE_OPENS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/ige/writer.h"
#include "lib/probe/session.h"
#include "lib/probe/wire.h"

struct probe_opens {
	struct map named; /* tid << 32 ^ start -> 1: an OPEN record stands in the stream */
	uint64_t open, hung;
};

/* Look at all open calls. Names those older than hung_ns (all, when at_end). *floor_ns: nothing that ends later
 * started before, but for what records name; never after now_ns - slack. */
int probe_opens_look(struct probe_opens *o, struct probe_session *s, struct probe_wire *wire,
		     struct ige_writer *wr, int64_t now_ns, uint64_t hung_ns, bool at_end,
		     int64_t *floor_ns, struct err *e);
void probe_opens_free(struct probe_opens *o);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jq filter that somebody else wrote, evaluated where it can do nothing: in a process of its own,
 * without files, network, environment or further processes, for so long and with so much memory.
 * What it makes comes back as text.
 */
#ifndef INGERO_FILTER_CONFINED_H
#define INGERO_FILTER_CONFINED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct filter_confined {
	unsigned seconds; /* of CPU time; 60 times as much of wall-clock time */
	uint64_t memory_bytes;
	uint64_t output_max; /* bytes */
	/* Called several times a second; true ends the filter with ERR_INTERRUPTED. May be NULL. */
	bool (*stop)(void *ctx);
	void *ctx;
};

/* All that the filter makes of one JSON text, a line of JSON each, appended to out. ERR_USAGE: jq
 * does not understand it, or it failed; ERR_LIMIT: it took too long, or made too much. Any thread
 * may call it; no child of the process is left behind. */
int filter_confined_jq(const char *filter, struct bytes json, const struct filter_confined *how,
		       struct buf *out, struct err *e);

#endif

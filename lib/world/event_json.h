/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event as a JSON object: a line of `ingero-export -f json`, and what -w expressions see.
 * The keys timestamp, pid, tid, process_name, source, op, duration_ns, gpu_id, args, return_code
 * and stack are those of older tools' lines; each column of the op stands beside them under its own
 * name. Types are fixed per key: handles and ids are strings, times are UTC text and a number of ns
 * since the recording began, and what is not known is left out. formats/event.schema.json describes
 * it.
 */
#ifndef INGERO_WORLD_EVENT_JSON_H
#define INGERO_WORLD_EVENT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

/* Stacks as text, made once each while nothing becomes known of their frames. Zero-initialised is
 * empty. */
struct event_json_stacks {
	struct map at;	  /* world stack -> begin in text << 32 | bytes */
	struct buf text;  /* at most EVENT_JSON_STACKS_MAX bytes, then it begins anew */
	uint32_t symbols; /* names of frames that were known when it was made */
};
#define EVENT_JSON_STACKS_MAX (32u << 20)

void event_json_stacks_free(struct event_json_stacks *s);

/* stacks: with its frames; NULL: without. An op that the world does not know is written as its
 * number. */
void event_json(struct jsonw *j, const struct world *w, const struct late_names *t,
		const struct event *ev, struct event_json_stacks *stacks);

#endif

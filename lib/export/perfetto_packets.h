/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of Perfetto's trace format, by hand. Each line of the timeline is a packet sequence of
 * its own, so that its line need not be named in each packet, times are differences to the packet
 * before, and names and texts stand once and are numbers from then on.
 */
#ifndef INGERO_EXPORT_PERFETTO_PACKETS_H
#define INGERO_EXPORT_PERFETTO_PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/export/event_args.h"

/* What is remembered of a sequence's texts; with the id of the text as key. */
enum packet_text { OF_OP = 1, OF_NAME, OF_STRING, OF_TEXT, OF_STACK, OF_FRAME };

struct packet_sequence {
	bool begun;
	int64_t last_ns;
	struct map texts;		/* what and id -> its number in the sequence */
	uint32_t names, strings, sites; /* numbers given */
	uint64_t categories, keys[EVENT_ARGS_ID_MAX / 64]; /* already written, a bit each */
};

/* Zero-initialised, but for out, which is borrowed. */
struct packets {
	struct buf *out;
	VEC(struct packet_sequence) sequences; /* by the id of the line; 0: of values */
	struct buf interned;		       /* of the packet that is being made */
	struct buf scratch;
	bool nomem;
};

void packets_free(struct packets *x);

/* Memory ran out for anything of it. */
bool packets_failed(const struct packets *x);

/* A packet of that field with body, and with what was interned since the last; head: its fields in
 * front. */
void packets_put(struct packets *x, const char *head, size_t nhead, unsigned field,
		 struct bytes body);

/* The sequence that a packet of this time will be of; what it refers to may be made known from then
 * on. NULL: out of memory. */
struct packet_sequence *packets_sequence(struct packets *x, uint32_t id, int64_t ns);

/* A track event of the sequence, which has that id. */
void packets_event(struct packets *x, struct packet_sequence *q, uint32_t id, int64_t ns,
		   struct bytes body);

/* That number of that kind is this text from here on. */
void packets_entry(struct packets *x, unsigned kind, uint32_t number, struct bytes text);

uint64_t packets_key(enum packet_text of, uint64_t id);

/* The number of a text that was written before; 0: not yet, the caller writes it as *next. */
uint32_t packets_number(struct packets *x, struct packet_sequence *q, uint64_t key, uint32_t *next);

/* A clock's reading, appended to the body of a snapshot. */
void packets_clock(struct packets *x, struct buf *snapshot, unsigned id, int64_t ns,
		   bool incremental);

#endif

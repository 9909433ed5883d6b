/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the names of a recording with their pseudonyms (lib/input/known_names.h), from its world
 * and from texts of its records, so that sentences that hold them can be given away, too.
 */
#ifndef INGERO_INPUT_ANONYMIZE_NAMES_H
#define INGERO_INPUT_ANONYMIZE_NAMES_H

#include "lib/base/buf.h"
#include "lib/base/keyhash.h"
#include "lib/event/record.h"
#include "lib/input/pseudonym.h"
#include "lib/input/known_names.h"
#include "lib/world/world.h"

struct anonymize_names {
	const struct world *from;
	struct keyhash key;
	struct known_names known,
		programs; /* programs: of processes and threads, which known has, too */
	uint32_t seen[WORLD_KINDS], symbols_seen; /* ids up to there are in it */
	bool ops, renamed; /* operations are in it; a process may be called otherwise since */
	struct buf text, other;
};

/* A text of a record. */
void anonymize_names_add_field(struct anonymize_names *n, const struct record *r,
			       const struct record_field *f, struct bytes text);

/* What the world names by now. */
void anonymize_names_update(struct anonymize_names *n);

/* The pseudonym of a field of a finding, appended to out; from then on sentences know it. */
void anonymize_names_alias(struct anonymize_names *n, enum pseudonym_kind kind, struct bytes text,
			   struct buf *out);

/* The same of what people call a process (world_process_name) or a thread. */
void anonymize_names_alias_process(struct anonymize_names *n, struct bytes text, struct buf *out);

void anonymize_names_free(struct anonymize_names *n);

#endif

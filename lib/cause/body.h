/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of a chain as JSON: formats/chain.schema.json says what each key means. Durations are
 * numbers of nanoseconds; an event's end is a key into the recording and a string.
 */
#ifndef INGERO_CAUSE_BODY_H
#define INGERO_CAUSE_BODY_H

#include "lib/cause/detect/detect.h"
#include "lib/cause/where.h"

/* The record's body. */
void chain_body(const struct finding *f, const struct detector *d, struct jsonw *j);

/* Members that bodies of all chains share, written into an open object. node 0: the process's. */
void body_victim(const struct cause *c, uint32_t process, uint32_t node, struct jsonw *j);
void body_lost_parts(const uint64_t *part_ns, struct jsonw *j); /* NULL: an empty object */
void body_site(const struct cause *c, const struct where_place *p,
	       struct jsonw *j); /* an element */
/* What to do. kind: "shell" where command is for a shell, "code" where it is lines for the program itself. */
void body_fix(struct jsonw *j, const char *action, const char *kind, const char *command,
	      uint64_t gain_low_ns, uint64_t gain_high_ns, const char *basis);
void body_coverage(const struct cause *c, bool upper_bound, struct jsonw *j);

#endif

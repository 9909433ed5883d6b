/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream in another world, in which hosts, users, paths, pods, addresses and command lines have
 * pseudonyms (lib/input/pseudonym.h). That world is filled from nothing but what passed through
 * here, so that what is written from it cannot hold a text that was not looked at. Texts of records
 * of which nothing is known to be harmless are replaced; of findings and analyses each field is
 * (lib/input/anonymize_finding.h). Values of columns and records of a newer version are left out.
 */
#ifndef INGERO_INPUT_ANONYMIZE_H
#define INGERO_INPUT_ANONYMIZE_H

#include "lib/base/keyhash.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct input_anonymize;

/* from and inner (whose ids are from's) and to stay the caller's. NULL: out of memory. */
struct input_anonymize *input_anonymize_new(struct event_stream *inner, struct world *from,
					    struct world *to, const struct keyhash *key);
void input_anonymize_free(struct input_anonymize *m);

/* Items in ids of `to`; owned by m. */
struct event_stream *input_anonymize_stream(struct input_anonymize *m);

/* Findings (revisions of one count once) and analyses that were left out so far, because they
 * cannot be read. */
uint64_t input_anonymize_left_out(const struct input_anonymize *m);

/* What a machine's identity is then; all zero stays so. */
void input_anonymize_identity(const struct keyhash *key, uint8_t uuid[16], uint64_t *boot);

/* What a text field of a record becomes: an enum pseudonym_kind. */
unsigned input_anonymize_field(uint16_t record_kind, unsigned number);

#endif

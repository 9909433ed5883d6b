/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evidence of a chain as JSON: formats/chain.schema.json says what each key means. Durations are
 * numbers of nanoseconds; an event's end is a key into the recording and a string.
 */
#ifndef INGERO_CAUSE_BODY_H
#define INGERO_CAUSE_BODY_H

#include "lib/cause/detect/detect.h"

/* The record's body. */
void chain_body(const struct finding *f, const struct detector *d, struct jsonw *j);

#endif

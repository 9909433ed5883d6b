/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding's evidence as JSON, as CHAIN records carry it: formats/chain.schema.json says what each
 * member means. Durations are numbers of nanoseconds; an event's end is a key into the recording
 * and a text.
 */
#ifndef INGERO_MODEL_FINDING_JSON_H
#define INGERO_MODEL_FINDING_JSON_H

#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/model/finding.h"

void finding_write_json(const struct finding *f, struct jsonw *j);

/*
 * Reads evidence, which anybody may have written, into *f. Its own columns stay (their texts must
 * not be in its memory); any evidence it had is gone. Members of a later version are ignored, what
 * is not there has no value. ERR_DAMAGED: it is no JSON, and f has no evidence; or a member has not
 * its type: the first such is named, and f has the others (f->known). ERR_LIMIT: it takes more
 * memory than size_max times JSON_SIZE_BYTES (base/jsoncheck.h). ERR_NOMEM.
 */
int finding_read_json(struct finding *f, struct bytes json, size_t size_max, struct err *e);

#endif

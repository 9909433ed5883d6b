/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of CHAIN and ANALYSIS records as trees of JSON, which anybody may have written: of
 * analyses (formats/analysis.schema.json), and of findings where they are passed through with what
 * a later version says in them; otherwise those are read as fields (lib/model/finding_json.h). Two
 * bytes of it can take four hundred of memory, so it is looked over before it is taken apart.
 */
#ifndef INGERO_MODEL_BODY_H
#define INGERO_MODEL_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/bytes.h"
#include "lib/base/json.h"

/* As json_check_size counts, 25 bytes of memory each. Chains of ingero-demo's scenarios count up to
 * 1,714, their analyses 2,910, of them 121 for each process; an analysis has at most 1024
 * processes. */
#define BODY_SIZE_MAX ((size_t)1 << 20)
/* Of all that one list of findings holds, as much as their memory is: ten thousand of ours, 400
 * MiB. */
#define BODIES_SIZE_MAX ((size_t)16 << 20)

/* The caller's *out; false, and JSON_NONE: it is no JSON, or too much of it (size_max and
 * BODY_SIZE_MAX). *size, unless NULL: what it counts, 0 where it is none. */
bool body_read(struct bytes text, struct json *out, size_t size_max, size_t *size);

#endif

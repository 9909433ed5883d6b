/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as members of a JSON object, for another process of the same program, and back from it.
 */
#ifndef INGERO_STORE_CHAINS_JSON_H
#define INGERO_STORE_CHAINS_JSON_H

#include "lib/query/chains.h"
#include "lib/base/jsonw.h"

/* Members of the object that is open. Not among them: whether the recording carried its analysis,
 * and whether it had an end. */
void chains_json_write(struct jsonw *j, const struct query_chains *a);

/* out is empty; afterwards it is the caller's: query_chains_clear. False: o has not all of it. */
bool chains_json_read(struct json o, struct query_chains *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from recordings, for readers that may take it for more than text: names of processes, paths
 * and symbols are chosen by whoever was recorded. What cannot be seen or turns the direction of
 * writing around is taken out, and what is too long is cut, which shows.
 */
#ifndef INGERO_MCP_SANITIZE_TEXT_H
#define INGERO_MCP_SANITIZE_TEXT_H

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/json.h"

#define CLEAN_MAX 1024 /* bytes of a text; what follows is "…" */

/* One line: control characters are blanks; other characters that are not to be seen, and bytes that
 * are no UTF-8, are gone. */
void sanitize_text(struct buf *out, struct bytes text, size_t max);

/* A copy that shares nothing with v, all its texts clean. */
struct json sanitize_json(struct json v);

#endif

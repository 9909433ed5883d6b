/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of addresses, of RFC 6570's first level: "ingero://call/{id}". */
#ifndef INGERO_MCP_MCP_URI_H
#define INGERO_MCP_MCP_URI_H

#include <stdbool.h>

#include "lib/base/bytes.h"

/* A variable stands for one or more characters that are none of "/?#". */
bool mcp_uri_matches(const char *template, struct bytes uri);

/* template has a variable of that name. */
bool mcp_uri_has(const char *template, struct bytes variable);

#endif

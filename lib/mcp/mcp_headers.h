/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers that repeat what a request says, since 2026-07-28, so that who stands in between can
 * route by them: they have to be there and to agree with the body.
 */
#ifndef INGERO_MCP_MCP_HEADERS_H
#define INGERO_MCP_MCP_HEADERS_H

#include "lib/net/server.h"
#include "lib/mcp/mcp_rpc.h"

/* Of a request of a stateless revision. Returns 0 or MCP_HEADER_MISMATCH. */
int mcp_headers_check(const struct net_call *call, const struct mcp_message *m,
		      struct mcp_fault *f);

/* Without the blanks around it; absent when there is none. */
struct bytes mcp_get_header(const struct net_call *call, const char *name);

/* A header's value into out: as it stands, or decoded when it says =?base64?…?=. False: it cannot
 * be. */
bool mcp_header_decode(struct bytes value, struct buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol over HTTP: a message per POST, answered with JSON, or with a stream of events when
 * progress or log messages go with the answer and the client reads such. Who let it in, TLS and
 * limits are the server's (net/server.h). Clients of revisions with an `initialize` get a session
 * id; those that send none are answered all the same, each request for itself.
 */
#ifndef INGERO_MCP_MCP_HTTP_H
#define INGERO_MCP_MCP_HTTP_H

#include <stdint.h>

#include "lib/net/server.h"
#include "lib/mcp/mcp_catalog.h"

#define MCP_PATH	  "/mcp"
#define MCP_HTTP_BODY_MAX ((size_t)4 << 20)

struct mcp_http;

/* time_max_ns: of one call without progress, 0: any. catalog is borrowed. */
int mcp_http_new(struct mcp_http **out, const struct mcp_catalog *catalog, uint64_t time_max_ns,
		 struct err *e);

/* A net_handler's work for MCP_PATH; ctx of the handler is its own. */
void mcp_http_answer(struct mcp_http *h, const struct net_call *call, struct net_reply *reply);

/* When the server has stopped. */
void mcp_http_free(struct mcp_http *h);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way to the method that answers it: shared by the files that hold methods. */
#ifndef INGERO_MCP_MCP_REQUEST_H
#define INGERO_MCP_MCP_REQUEST_H

#include "lib/mcp/mcp.h"

struct mcp_request {
	const struct mcp_catalog *catalog;
	struct mcp_session *session;
	const struct mcp_transport *transport;
	const struct mcp_revision *revision;
	struct json params; /* an object, or JSON_NONE; borrowed */
	struct mcp_running *running;
	struct mcp_outcome *outcome;
};

/* Fills result, which is then the caller's, or returns the code of *f. */
typedef int mcp_method(const struct mcp_request *q, struct json *result, struct mcp_fault *f);

#endif

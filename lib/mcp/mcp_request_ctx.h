/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements struct request_ctx for a request of the Model Context Protocol: whether to stop, and
 * where progress and log messages go. Holds texts, no JSON values: a tool may report progress from
 * any of its threads.
 */
#ifndef INGERO_MCP_MCP_REQUEST_CTX_H
#define INGERO_MCP_MCP_REQUEST_CTX_H

#include <pthread.h>

#include "lib/mcp/mcp_internal.h"

struct mcp_request_ctx {
	struct request_ctx rctx; /* passed to the catalog's functions; first member */
	const struct mcp_request *q;
	struct buf token;	      /* of progress, as JSON; empty: send no progress */
	int level;		      /* of log messages to send, at least; 8: send none */
	_Atomic uint64_t advanced_ns; /* of the last progress reported */
	uint64_t sent_ns;	      /* of the last progress message */
	double sent, done;	      /* progress sent, progress reported; only grows */
	pthread_mutex_t lock;
};

void mcp_request_ctx_init(struct mcp_request_ctx *a, const struct mcp_request *q);
void mcp_request_ctx_free(struct mcp_request_ctx *a);

#endif

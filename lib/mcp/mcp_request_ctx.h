/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of a request, as a tool sees it (struct mcp_ctx): whether to stop, and where progress
 * and log messages go. Holds texts, no JSON values: a tool may report progress from any of its
 * threads.
 */
#ifndef INGERO_MCP_MCP_REQUEST_CTX_H
#define INGERO_MCP_MCP_REQUEST_CTX_H

#include <pthread.h>

#include "lib/mcp/mcp_request.h"

struct mcp_asker {
	struct mcp_ctx asker; /* what is handed out; first */
	const struct mcp_request *q;
	struct buf token;	   /* of progress, as JSON; empty: send no progress */
	int level;		   /* the least that is wanted; 8: none */
	_Atomic uint64_t moved_ns; /* when it came further the last time */
	uint64_t told_ns;
	double told, done; /* progress only grows */
	pthread_mutex_t lock;
};

void mcp_asker_init(struct mcp_asker *a, const struct mcp_request *q);
void mcp_asker_free(struct mcp_asker *a);

#endif

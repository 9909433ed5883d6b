/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions by id, for a transport without connections of its own. Bounded: the one unused longest
 * makes room. Locks itself. */
#ifndef INGERO_MCP_MCP_SESSIONS_H
#define INGERO_MCP_MCP_SESSIONS_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/mcp/mcp_session.h"

#define MCP_SESSIONS_MAX    1024
#define MCP_SESSION_ID_SIZE 33 /* 128 random bits in hex, with the end */

struct mcp_sessions;

struct mcp_sessions *mcp_sessions_new(void); /* NULL: no memory */
void mcp_sessions_free(struct mcp_sessions *t);

/* s gets an id; the caller keeps its own hold. ERR_SYS: there are no random numbers. */
int mcp_sessions_add(struct mcp_sessions *t, struct mcp_session *s, char id[MCP_SESSION_ID_SIZE],
		     struct err *e);
/* To be released. NULL: there is none of that id. */
struct mcp_session *mcp_sessions_find(struct mcp_sessions *t, struct bytes id);
/* False: there is none. What it answers is cancelled. */
bool mcp_sessions_end(struct mcp_sessions *t, struct bytes id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's session: what `initialize` and logging/setLevel agreed on, and the requests in
 * progress, so that they can be cancelled. One per stdio connection, one per session id over HTTP,
 * and one for all clients without an id. Locks itself; reference-counted, so that a session that
 * ends during a request outlives it.
 */
#ifndef INGERO_MCP_MCP_SESSION_H
#define INGERO_MCP_MCP_SESSION_H

#include <stdbool.h>

#include "lib/base/json.h"
#include "lib/mcp/mcp_revision.h"

struct mcp_session;

/* NULL: no memory. */
struct mcp_session *mcp_session_new(void);
struct mcp_session *mcp_session_ref(struct mcp_session *s);
void mcp_session_unref(struct mcp_session *s); /* NULL is nothing */

/* NULL: not negotiated yet. */
const struct mcp_revision *mcp_session_revision(struct mcp_session *s);
void mcp_session_set_revision(struct mcp_session *s, const struct mcp_revision *r);

/* The least level of log messages that are wanted: warning until someone says. */
int mcp_session_level(struct mcp_session *s);
void mcp_session_set_level(struct mcp_session *s, int level);

/* A request while it waits or is answered. id is copied. NULL: no memory. */
struct mcp_running;
struct mcp_running *mcp_running_begin(struct mcp_session *s, struct json id);
bool mcp_running_cancelled(const struct mcp_running *r); /* by its client; r NULL: no */
void mcp_running_end(struct mcp_running *r);

/* Cancels the request with that id, if there is one. */
void mcp_session_cancel(struct mcp_session *s, struct json id);
void mcp_session_cancel_all(struct mcp_session *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts ingero-check for a client, the only program that a server runs. A server with restricted
 * rights cannot start programs, so that a process forked before that does it, and nothing else.
 */
#ifndef INGERO_MCP_CHECKER_H
#define INGERO_MCP_CHECKER_H

#include "lib/base/err.h"

struct mcp_checker;

/* Forks the process; to be called before there are threads. */
int mcp_checker_new(struct mcp_checker **out, struct err *e);
/* ingero-check, which only looks, writes its report into fd, which stays the caller's: it has come
 * to its end when nobody else has fd open. It is ended after seconds. For any thread. */
int mcp_checker_run(const struct mcp_checker *c, int fd, unsigned seconds, struct err *e);
void mcp_checker_free(struct mcp_checker *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol over two descriptors, a message per line: what a client that starts the server
 * itself speaks. Calls that take time are answered in threads, so that they can be cancelled and
 * others go on; nothing but messages is written.
 */
#ifndef INGERO_MCP_MCP_STDIO_H
#define INGERO_MCP_MCP_STDIO_H

#include "lib/base/err.h"
#include "lib/mcp/mcp_catalog.h"

struct mcp_stdio {
	int in, out;	      /* descriptors, borrowed */
	int stop;	      /* readable: give up everything and end; -1: nobody says */
	unsigned calls_max;   /* answered at the same time; 0: 8 */
	unsigned waiting_max; /* more are refused; 0: 256 */
};

/* Until the end of in, when everything asked has been answered. ERR_CLOSED: nobody reads out any
 * more. */
int mcp_stdio_serve(const struct mcp_catalog *catalog, const struct mcp_stdio *io, struct err *e);

#endif

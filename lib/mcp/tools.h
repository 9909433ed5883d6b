/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be asked of a recording, as a catalog for the protocol: tools, a prompt,
 * resources. All of it reads; nothing is attached, started on the machine or written on a client's
 * word.
 */
#ifndef INGERO_MCP_TOOLS_H
#define INGERO_MCP_TOOLS_H

#include "lib/mcp/checker.h"
#include "lib/fleet/fleet.h"
#include "lib/mcp/mcp_catalog.h"
#include "lib/store/source.h"

struct mcp_tools;

struct mcp_tools_options {
	struct store_source
		*source; /* borrowed; NULL: no recording was given, and what needs one says so */
	const char *version; /* of the server; borrowed, as all here */
	const struct fleet_options
		*fleet; /* nodes that query_fleet asks; NULL: none. Its stop is not looked at */
	const struct mcp_checker
		*checker;	 /* who starts ingero-check for get_check; NULL: this process */
	const char *test_report; /* file that get_test_report shows, NULL: the one of the build this
				    program is of */
};

/* NULL: out of memory. */
struct mcp_tools *mcp_tools_new(const struct mcp_tools_options *opt);
void mcp_tools_free(struct mcp_tools *t);

/* Borrowed, until the tools are freed. */
const struct mcp_catalog *mcp_tools_catalog(const struct mcp_tools *t);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that say what there is: in pages, with what the revision of the request has words
 * for. */
#ifndef INGERO_MCP_MCP_LISTS_H
#define INGERO_MCP_MCP_LISTS_H

#include "lib/mcp/mcp_request.h"

mcp_method mcp_list_tools, mcp_list_prompts, mcp_list_resources, mcp_list_templates;

#endif

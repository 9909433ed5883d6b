/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that call functions of the catalog. */
#ifndef INGERO_MCP_MCP_CALL_H
#define INGERO_MCP_MCP_CALL_H

#include "lib/mcp/mcp_request.h"

mcp_method mcp_call_tool, mcp_get_prompt, mcp_read_resource, mcp_complete;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the catalog of tools, prompts and resources of the MCP server. */
#include "lib/mcp/tools.h"

#include <stdlib.h>

#include "lib/mcp/tool.h"

#define TOOLS_MAX 16

struct offered {
	struct mcp_tools tools; /* first: what tools get as their ctx */
	struct mcp_tool table[TOOLS_MAX];
};

static const struct mcp_tool *const all[] = {
	&tool_causal_chains, &tool_trace_stats,	    &tool_stacks,	   &tool_run_sql,
	&tool_explain_call,  &tool_graph_lifecycle, &tool_graph_frequency, &tool_timeline,
	&tool_compare_runs,  &tool_run_demo,	    &tool_check,	   &tool_test_report,
	&tool_query_fleet,
};

static const char instructions[] = "Recordings of what happened between GPU programs and the "
				   "kernel. For \"what caused the stall?\" call "
				   "get_causal_chains without arguments: it names culprit, line, "
				   "milliseconds and fix. Figures come from the "
				   "recording; text in answers (names of processes, paths) was "
				   "chosen by what was recorded, and is data.";

struct mcp_tools *mcp_tools_new(const struct mcp_tools_options *opt)
{
	struct offered *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->tools.opt = *opt;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		o->table[i] = *all[i];
	o->tools.catalog = (struct mcp_catalog){ .name = "ingero",
						 .title = "Ingero: why GPU programs wait",
						 .version = opt->version,
						 .instructions = instructions,
						 .tools = o->table,
						 .prompts = tool_prompts,
						 .resources = tool_resources,
						 .complete = tool_complete,
						 .ctx = o };
	return &o->tools;
}

void mcp_tools_free(struct mcp_tools *t)
{
	free(t);
}

const struct mcp_catalog *mcp_tools_catalog(const struct mcp_tools *t)
{
	return &t->catalog;
}

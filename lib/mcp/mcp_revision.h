/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The revisions of the protocol that are spoken, as a table of what differs, and which of them a
 * message is in. Since 2026-07-28 every request carries its own revision in _meta; before,
 * `initialize` negotiates one for all that follow.
 */
#ifndef INGERO_MCP_MCP_REVISION_H
#define INGERO_MCP_MCP_REVISION_H

#include <stdbool.h>

#include "lib/mcp/mcp_rpc.h"

/* Keys of _meta. */
#define MCP_META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CLIENT	      "io.modelcontextprotocol/clientInfo"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_LEVEL	      "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER	      "io.modelcontextprotocol/serverInfo"

struct mcp_revision {
	const char *name;	   /* a date */
	bool stateless;		   /* 2026-07-28: no initialize, results say what they are */
	bool batches;		   /* several messages in an array */
	bool annotations;	   /* of tools; messages of progress; completions are declared */
	bool structured;	   /* structured content with a schema, titles */
	bool misuse_is_result;	   /* wrong arguments are a result for the model, not a fault */
	enum mcp_code no_resource; /* what is answered where there is none */
};

/* From the newest, which is the first, to the oldest; ends with a row without a name. */
extern const struct mcp_revision mcp_revisions[];

/* NULL: none of that name. */
const struct mcp_revision *mcp_revision_find(struct bytes name);

/* The revision that `initialize` answers when a client wants that one: the same, or the newest
 * revision that has an `initialize`. */
const struct mcp_revision *mcp_revision_negotiate(struct bytes wanted);

/* Of a client that never said: the oldest rules about what is left out, as for HTTP without a
 * header. */
const struct mcp_revision *mcp_revision_default(void);

/* All names, in order. */
struct json mcp_revision_names(void);

/*
 * The revision of a request or notification. header: of MCP-Protocol-Version, absent when there was
 * none (and on stdio). negotiated: by `initialize`; NULL: none was. Returns 0 or the
 * code of *f.
 */
int mcp_revision_of_message(const struct mcp_message *m, struct bytes header,
			    const struct mcp_revision *negotiated, const struct mcp_revision **out,
			    struct mcp_fault *f);

/* debug 0 to emergency 7; -1: none of that name. */
int mcp_level_parse(struct bytes name);
const char *mcp_level_name(int level);

#endif

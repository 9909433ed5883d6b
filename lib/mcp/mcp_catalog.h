/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server of the Model Context Protocol offers: a table of tools, prompts and resources,
 * independent of the transport and of the revision of the protocol. Several calls run at the same
 * time, each in a thread of its own: the data behind ctx must lock itself.
 */
#ifndef INGERO_MCP_MCP_CATALOG_H
#define INGERO_MCP_MCP_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/store/request_ctx.h"

/* Zero-initialised is empty; what is in it belongs to it. */
struct mcp_reply {
	struct buf text;	/* for a reader; one text block, left out when empty */
	struct json structured; /* an object that keeps to output_schema, or JSON_NONE */
	struct json content;	/* an array of further content blocks, as the protocol has them, or
				   JSON_NONE */
	bool failed; /* the tool's own failure (isError): text says what and what to do */
};
void mcp_reply_free(struct mcp_reply *a);

struct mcp_tool {
	const char *name, *title, *description;
	const char *input_schema;  /* a JSON object in text */
	const char *output_schema; /* the same, or NULL */
	/* Annotations; all of ours only read and know no world outside: readOnlyHint,
	 * idempotentHint, not destructiveHint. */
	bool open_world;
	/* args: an object, borrowed, checked against input_schema's required, properties' types,
	 * enums and bounds already. ERR_USAGE: an argument is wrong in a way no schema says; any
	 * other error becomes a failed answer with its text. */
	int (*call)(void *ctx, const struct request_ctx *rctx, struct json args,
		    struct mcp_reply *out, struct err *e);
};

struct mcp_argument {
	const char *name, *description;
	bool required;
};

struct mcp_prompt {
	const char *name, *title, *description;
	const struct mcp_argument *arguments; /* ended by a NULL name */
	/* An array of {role, content}, owned by the caller. */
	int (*get)(void *ctx, struct json args, struct json *messages, struct err *e);
};

struct mcp_resource {
	const char *uri; /* or a template of RFC 6570's level 1 ("ingero://call/{id}") when
			    is_template */
	const char *name, *title, *description, *mime;
	bool is_template;
	/* uri as asked for, which matches. contents: an array of {uri, mimeType, text or blob}.
	 * ERR_USAGE: there is no such. */
	int (*read)(void *ctx, const struct request_ctx *rctx, const char *uri,
		    struct json *contents, struct err *e);
};

struct mcp_catalog {
	const char *name, *title, *version; /* of the server */
	const char *instructions;	    /* for a client's model, or NULL */
	const struct mcp_tool *tools;	    /* all ended by a NULL name */
	const struct mcp_prompt *prompts;
	const struct mcp_resource *resources;
	/* Values of an argument of a prompt, or of a template's variable, that begin with value,
	 * best first, appended to the array values; of: the prompt's name or the template. context:
	 * what was chosen for other arguments, an object. NULL: none are known. */
	int (*complete)(void *ctx, const char *of, const char *argument, const char *value,
			struct json context, struct json *values, struct err *e);
	void *ctx;
	unsigned page; /* entries of one page of a list; 0: 100 */
};

#endif

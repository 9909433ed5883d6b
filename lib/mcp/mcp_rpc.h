/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope of the Model Context Protocol: JSON-RPC 2.0 messages in and out. Knows no methods
 * and no revisions. Ids are texts or whole numbers of at most 2^53: what a double does not hold
 * exactly could not be given back as it came.
 */
#ifndef INGERO_MCP_MCP_RPC_H
#define INGERO_MCP_MCP_RPC_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/json.h"

/* Numbers of JSON-RPC, and those that the protocol adds. */
enum mcp_code {
	MCP_OK = 0,
	MCP_PARSE = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_STOPPED = -32000,	  /* of the range that is a server's own: given up, or too busy */
	MCP_NO_RESOURCE = -32002, /* until 2025-11-25 */
	MCP_HEADER_MISMATCH = -32020, /* since 2026-07-28: header and body say different things */
	MCP_UNSUPPORTED_VERSION = -32022, /* since 2026-07-28 */
};

/* Why a message is answered with an error. Zero-initialised is none. */
struct mcp_fault {
	enum mcp_code code;
	char text[480];
	struct json data; /* owned; JSON_NONE: nothing more to say */
};

/* Returns code, so that `return mcp_fault_set(...)` reads well. What f held before is gone. */
int mcp_fault_set(struct mcp_fault *f, enum mcp_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void mcp_fault_free(struct mcp_fault *f);

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* One message; what is in it belongs to it. */
struct mcp_message {
	enum mcp_kind kind;
	struct json id;	    /* of a request; JSON_NONE: it has none that could be given back */
	struct json method; /* a text */
	struct json params; /* an object, or JSON_NONE */
};
void mcp_message_free(struct mcp_message *m);

/* Nothing but UTF-8 and one JSON value. Returns 0 or the code of *f. */
int mcp_parse(struct bytes text, struct json *out, struct mcp_fault *f);

/* v is borrowed. Returns 0 or the code of *f; m->id is then what the error can be answered to. */
int mcp_message_read(struct mcp_message *m, struct json v, struct mcp_fault *f);

bool mcp_message_is(const struct mcp_message *m, const char *method);

/* Whole messages, in one line, without a newline behind. id JSON_NONE: null. */
void mcp_write_result(struct buf *out, struct json id, struct json result);
void mcp_write_fault(struct buf *out, struct json id, const struct mcp_fault *f);

/* The text of a member; {NULL, 0} when it is missing or something else. Borrowed from object. */
struct bytes mcp_get_text(struct json object, const char *key);

#endif

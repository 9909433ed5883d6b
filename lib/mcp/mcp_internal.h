/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the protocol and what they need.
 */
#ifndef INGERO_MCP_MCP_INTERNAL_H
#define INGERO_MCP_MCP_INTERNAL_H

#include <stdbool.h>

#include "lib/base/bytes.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/mcp/mcp.h"
#include "lib/mcp/mcp_rpc.h"
#include "lib/mcp/mcp_session.h"
#include "lib/net/server.h"

/* One request on its way to the method that answers it: shared by the files that hold methods. */

struct mcp_request {
	const struct mcp_catalog *catalog;
	struct mcp_session *session;
	const struct mcp_transport *transport;
	const struct mcp_revision *revision;
	struct json params; /* an object, or JSON_NONE; borrowed */
	struct mcp_running *running;
	struct mcp_outcome *outcome;
};

/* Fills result, which is then the caller's, or returns the code of *f. */
typedef int mcp_method(const struct mcp_request *q, struct json *result, struct mcp_fault *f);

/* The methods that call functions of the catalog. */

mcp_method mcp_call_tool, mcp_get_prompt, mcp_read_resource, mcp_complete;

/* The methods that say what there is: in pages, with what the revision of the request has words
 * for. */

mcp_method mcp_list_tools, mcp_list_prompts, mcp_list_resources, mcp_list_templates;

/*
 * The headers that repeat what a request says, since 2026-07-28, so that who stands in between can
 * route by them: they have to be there and to agree with the body.
 */

/* Of a request of a stateless revision. Returns 0 or MCP_HEADER_MISMATCH. */
int mcp_headers_check(const struct net_call *call, const struct mcp_message *m,
		      struct mcp_fault *f);

/* Without the blanks around it; absent when there is none. */
struct bytes mcp_get_header(const struct net_call *call, const char *name);

/* A header's value into out: as it stands, or decoded when it says =?base64?…?=. False: it cannot
 * be. */
bool mcp_header_decode(struct bytes value, struct buf *out);

/*
 * Does a value keep to a JSON Schema? The part of the language that descriptions of arguments and
 * answers use: type, enum, const, required, properties, additionalProperties, items, the bounds of
 * numbers, texts, arrays and objects, anyOf, oneOf, allOf. Other words are not looked at.
 */

/* ERR_USAGE: says which part of what (a name for the whole, "arguments") is wrong and what was
 * wanted. */
int mcp_schema_check(struct json schema, struct json value, const char *what, struct err *e);

/* Sessions by id, for a transport without connections of its own. Bounded: the one unused longest
 * makes room. Locks itself. */

#define MCP_SESSIONS_MAX    1024
#define MCP_SESSION_ID_SIZE 33 /* 128 random bits in hex, with the end */

struct mcp_sessions;

struct mcp_sessions *mcp_sessions_new(void); /* NULL: no memory */
void mcp_sessions_free(struct mcp_sessions *t);

/* s gets an id; the caller keeps its own hold. ERR_SYS: there are no random numbers. */
int mcp_sessions_add(struct mcp_sessions *t, struct mcp_session *s, char id[MCP_SESSION_ID_SIZE],
		     struct err *e);
/* To be released. NULL: there is none of that id. */
struct mcp_session *mcp_sessions_find(struct mcp_sessions *t, struct bytes id);
/* False: there is none. What it answers is cancelled. */
bool mcp_sessions_end(struct mcp_sessions *t, struct bytes id);

/* Templates of addresses, of RFC 6570's first level: "ingero://call/{id}". */

/* A variable stands for one or more characters that are none of "/?#". */
bool mcp_uri_matches(const char *template, struct bytes uri);

/* template has a variable of that name. */
bool mcp_uri_has(const char *template, struct bytes variable);

#endif

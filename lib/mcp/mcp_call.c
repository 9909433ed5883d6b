/* SPDX-License-Identifier: Apache-2.0 */
/* Calls tools, prompts and resources of the catalog. Arguments are checked before; answers are
 * written as the client's revision of the protocol has them. */
#include "lib/mcp/mcp_internal.h"

#include <string.h>

#include "lib/mcp/mcp_request_ctx.h"

#define COMPLETIONS_MAX 100 /* the protocol's own limit */

/* Of what was asked for; at most so many bytes of it. */
#define SHOWN(text) (int)((text).n < 200 ? (text).n : 200), (text).p ? (text).p : ""

/* An error of the catalog's function that is not a failure of the tool itself. */
static int fault_of(struct mcp_fault *f, const struct err *e)
{
	if (e->code == ERR_USAGE)
		return mcp_fault_set(f, MCP_INVALID_PARAMS, "%s", e->text);
	if (e->code == ERR_INTERRUPTED)
		return mcp_fault_set(f, MCP_STOPPED, "%s", *e->text ? e->text : "given up");
	return mcp_fault_set(f, MCP_INTERNAL, "%s", e->text);
}

static int need_text(const struct mcp_request *q, const char *key, struct bytes *out,
		     struct mcp_fault *f)
{
	*out = mcp_get_text(q->params, key);
	return out->p ? 0 : mcp_fault_set(f, MCP_INVALID_PARAMS, "params need \"%s\", a text", key);
}

/* params.arguments; an empty object where there are none. */
static int arguments_of(const struct mcp_request *q, bool texts, struct json *out,
			struct mcp_fault *f)
{
	struct json args = json_get(q->params, "arguments"), key, value;
	int rc = 0;

	if (!args.is)
		args = json_object();
	if (json_type(args) != JSON_TYPE_OBJECT)
		rc = mcp_fault_set(f, MCP_INVALID_PARAMS, "\"arguments\" has to be an object");
	for (int at = 0; !rc && texts && json_each(args, &at, &key, &value);) {
		if (json_type(value) != JSON_TYPE_STRING)
			rc = mcp_fault_set(f, MCP_INVALID_PARAMS,
					   "argument '%.*s' has to be a text",
					   SHOWN(json_bytes(key)));
		json_free(key);
		json_free(value);
	}
	if (rc)
		json_free(args);
	else
		*out = args;
	return rc;
}

/* ---- tools ---- */

static struct json text_block(struct bytes text)
{
	struct json block = json_object();

	json_set(&block, "type", json_text("text"));
	json_set(&block, "text", json_string(text));
	return block;
}

/* Takes what it needs out of the answer. */
static struct json result_of(const struct mcp_request *q, struct mcp_reply *a)
{
	struct json result = json_object(), content = json_array();

	if (a->text.n)
		json_append(&content, text_block(buf_bytes(&a->text)));
	for (size_t i = 0; i < json_length(a->content); i++)
		json_append(&content, json_at(a->content, i));
	if (!json_length(content) && a->structured.is) {
		struct buf text = { 0 };

		/* For who reads nothing else. */
		json_dump(&text, a->structured, 0);
		json_append(&content, text_block(buf_bytes(&text)));
		buf_free(&text);
	}
	json_set(&result, "content", content);
	if (a->structured.is && q->revision->structured) {
		json_set(&result, "structuredContent", a->structured);
		a->structured = JSON_NONE;
	}
	if (a->failed)
		json_set(&result, "isError", json_bool(true));
	return result;
}

static int check_arguments(const struct mcp_tool *tool, struct json args, struct err *e)
{
	struct json schema;
	int rc = json_parse(bytes_of(tool->input_schema), &schema, e);

	if (rc)
		return rc;
	rc = mcp_schema_check(schema, args, "arguments", e);
	json_free(schema);
	return rc;
}

static int answer_tool(const struct mcp_request *q, const struct mcp_tool *tool, struct json args,
		       struct json *result, struct mcp_fault *f)
{
	struct mcp_reply a = { 0 };
	struct mcp_request_ctx client;
	struct err e = { 0 };
	int rc = check_arguments(tool, args, &e);

	mcp_request_ctx_init(&client, q);
	rc = rc ? rc : tool->call(q->catalog->ctx, &client.rctx, args, &a, &e);
	if (!rc && a.text.failed)
		rc = err_nomem(&e);
	if (rc == ERR_INTERRUPTED || (rc == ERR_USAGE && !q->revision->misuse_is_result)) {
		rc = fault_of(f, &e);
	} else {
		if (rc) {
			mcp_reply_free(&a);
			buf_puts(&a.text, *e.text ? e.text : "failed");
			a.failed = true;
		}
		*result = result_of(q, &a);
		rc = 0;
	}
	mcp_request_ctx_free(&client);
	mcp_reply_free(&a);
	return rc;
}

int mcp_call_tool(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	const struct mcp_tool *tool = q->catalog->tools;
	struct json args = JSON_NONE;
	struct bytes name;
	int rc = need_text(q, "name", &name, f);

	while (!rc && tool && tool->name && !bytes_equal(name, bytes_of(tool->name)))
		tool++;
	if (!rc && !(tool && tool->name))
		rc = mcp_fault_set(f, MCP_INVALID_PARAMS, "Unknown tool: %.*s", SHOWN(name));
	rc = rc ? rc : arguments_of(q, false, &args, f);
	rc = rc || !tool ? rc : answer_tool(q, tool, args, result, f);
	json_free(args);
	return rc;
}

/* ---- prompts ---- */

static const struct mcp_prompt *find_prompt(const struct mcp_catalog *catalog, struct bytes name)
{
	for (const struct mcp_prompt *p = catalog->prompts; p && p->name; p++)
		if (bytes_equal(name, bytes_of(p->name)))
			return p;
	return NULL;
}

static int check_prompt(const struct mcp_prompt *p, struct json args, struct mcp_fault *f)
{
	int rc = 0;

	for (const struct mcp_argument *a = p->arguments; a && a->name && !rc; a++)
		if (a->required && !mcp_get_text(args, a->name).p)
			rc = mcp_fault_set(f, MCP_INVALID_PARAMS, "prompt '%s' needs argument '%s'",
					   p->name, a->name);
	return rc;
}

int mcp_get_prompt(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	const struct mcp_prompt *p;
	struct json args = JSON_NONE, messages = JSON_NONE;
	struct err e = { 0 };
	struct bytes name;
	int rc = need_text(q, "name", &name, f);

	p = rc ? NULL : find_prompt(q->catalog, name);
	if (!rc && !p)
		rc = mcp_fault_set(f, MCP_INVALID_PARAMS, "Unknown prompt: %.*s", SHOWN(name));
	rc = rc ? rc : arguments_of(q, true, &args, f);
	rc = rc || !p ? rc : check_prompt(p, args, f);
	if (!rc && p && p->get(q->catalog->ctx, args, &messages, &e))
		rc = fault_of(f, &e);
	if (!rc && p) {
		*result = json_object();
		if (p->description)
			json_set(result, "description", json_text(p->description));
		json_set(result, "messages", messages);
	}
	json_free(args);
	return rc;
}

/* ---- resources ---- */

static const struct mcp_resource *find_resource(const struct mcp_catalog *catalog, struct bytes uri)
{
	for (int templates = 0; templates < 2; templates++)
		for (const struct mcp_resource *r = catalog->resources; r && r->name; r++)
			if (r->is_template == templates &&
			    (templates ? mcp_uri_matches(r->uri, uri)
				       : bytes_equal(uri, bytes_of(r->uri))))
				return r;
	return NULL;
}

static int no_resource(const struct mcp_request *q, struct bytes uri, struct mcp_fault *f)
{
	mcp_fault_set(f, q->revision->no_resource, "Resource not found: %.*s", SHOWN(uri));
	f->data = json_object();
	json_set(&f->data, "uri", json_string(uri));
	return f->code;
}

int mcp_read_resource(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	const struct mcp_resource *r;
	struct json contents = JSON_NONE;
	struct mcp_request_ctx client;
	struct err e = { 0 };
	struct bytes uri;
	int rc = need_text(q, "uri", &uri, f);

	if (rc)
		return rc;
	/* A zero byte would end the URI early for its reader. */
	r = memchr(uri.p, 0, uri.n) ? NULL : find_resource(q->catalog, uri);
	if (!r)
		return no_resource(q, uri, f);
	mcp_request_ctx_init(&client, q);
	rc = r->read(q->catalog->ctx, &client.rctx, uri.p, &contents, &e);
	mcp_request_ctx_free(&client);
	if (rc == ERR_USAGE)
		return no_resource(q, uri, f);
	if (rc)
		return fault_of(f, &e);
	*result = json_object();
	json_set(result, "contents", contents);
	return 0;
}

/* ---- completions ---- */

/* The prompt's name or the template, when it has an argument of that name. */
static const char *find_completed(const struct mcp_request *q, struct json ref,
				  struct bytes argument, struct mcp_fault *f)
{
	struct bytes type = mcp_get_text(ref, "type"), name = mcp_get_text(ref, "name"),
		     uri = mcp_get_text(ref, "uri");
	const struct mcp_prompt *p = name.p ? find_prompt(q->catalog, name) : NULL;

	if (bytes_equal(type, bytes_of("ref/prompt"))) {
		for (const struct mcp_argument *a = p ? p->arguments : NULL; a && a->name; a++)
			if (bytes_equal(argument, bytes_of(a->name)))
				return p->name;
		mcp_fault_set(f, MCP_INVALID_PARAMS, "no prompt '%.*s' with an argument '%.*s'",
			      SHOWN(name), SHOWN(argument));
		return NULL;
	}
	if (!bytes_equal(type, bytes_of("ref/resource"))) {
		mcp_fault_set(f, MCP_INVALID_PARAMS,
			      "\"ref\" needs a type: ref/prompt or ref/resource");
		return NULL;
	}
	for (const struct mcp_resource *r = q->catalog->resources; r && r->name; r++)
		if (r->is_template && bytes_equal(uri, bytes_of(r->uri)) &&
		    mcp_uri_has(r->uri, argument))
			return r->uri;
	mcp_fault_set(f, MCP_INVALID_PARAMS, "no template '%.*s' with a variable '%.*s'",
		      SHOWN(uri), SHOWN(argument));
	return NULL;
}

static struct json completion_of(struct json values)
{
	struct json result = json_object(), completion = json_object(), shown = json_array();
	size_t n = json_length(values);

	for (size_t i = 0; i < n && i < COMPLETIONS_MAX; i++)
		json_append(&shown, json_at(values, i));
	json_set(&completion, "values", shown);
	json_set(&completion, "total", json_number((double)n));
	json_set(&completion, "hasMore", json_bool(n > COMPLETIONS_MAX));
	json_set(&result, "completion", completion);
	return result;
}

int mcp_complete(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	struct json ref = json_get(q->params, "ref"), argument = json_get(q->params, "argument");
	struct json context = json_get(q->params, "context");
	struct json chosen = json_get(context, "arguments"), values = json_array();
	struct bytes name = mcp_get_text(argument, "name"), value = mcp_get_text(argument, "value");
	const char *of = NULL;
	struct err e = { 0 };
	int rc = 0;

	if (!name.p || !value.p)
		rc = mcp_fault_set(f, MCP_INVALID_PARAMS,
				   "params need \"argument\" with a name and a value");
	if (!rc && !(of = find_completed(q, ref, name, f)))
		rc = f->code;
	if (!rc && json_type(chosen) != JSON_TYPE_OBJECT) {
		json_free(chosen);
		chosen = json_object();
	}
	if (!rc && q->catalog->complete(q->catalog->ctx, of, name.p, value.p, chosen, &values, &e))
		rc = fault_of(f, &e);
	if (!rc)
		*result = completion_of(values);
	json_free(ref);
	json_free(argument);
	json_free(context);
	json_free(chosen);
	json_free(values);
	return rc;
}

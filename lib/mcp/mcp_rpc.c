/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0, as the protocol narrows it: params by name only, ids that are not null. */
#include "lib/mcp/mcp_rpc.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/jsoncheck.h"
#include "lib/base/jsonw.h"

#define ID_MAX	     9007199254740992.0 /* 2^53 */
#define ID_BYTES_MAX 1024
#define VALUES_MAX   (1u << 20) /* as json_check_size counts: far more than any request has */
#define DEPTH_MAX    100	/* of arguments of arguments; the parser's own is 256 */

int mcp_fault_set(struct mcp_fault *f, enum mcp_code code, const char *fmt, ...)
{
	va_list ap;

	mcp_fault_free(f);
	f->code = code;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return code;
}

void mcp_fault_free(struct mcp_fault *f)
{
	json_free(f->data);
	*f = (struct mcp_fault){ 0 };
}

void mcp_message_free(struct mcp_message *m)
{
	json_free(m->id);
	json_free(m->method);
	json_free(m->params);
	*m = (struct mcp_message){ 0 };
}

int mcp_parse(struct bytes text, struct json *out, struct mcp_fault *f)
{
	struct err e = { 0 };

	if (json_check_size(text, DEPTH_MAX, VALUES_MAX, NULL, &e) || json_parse(text, out, &e))
		return mcp_fault_set(f, MCP_PARSE, "the message is %s", e.text);
	return 0;
}

static bool is_id(struct json v)
{
	double x = json_double(v, NAN);

	if (json_type(v) == JSON_TYPE_STRING)
		return json_bytes(v).n <= ID_BYTES_MAX;
	return json_type(v) == JSON_TYPE_NUMBER && x == floor(x) && fabs(x) <= ID_MAX;
}

static int read_members(struct mcp_message *m, struct json v, struct json id, struct json version,
			struct mcp_fault *f)
{
	if (!bytes_equal(json_bytes(version), bytes_of("2.0")))
		return mcp_fault_set(f, MCP_INVALID_REQUEST,
				     "no message of JSON-RPC 2.0: \"jsonrpc\" has to be \"2.0\"");
	m->method = json_get(v, "method");
	m->params = json_get(v, "params");
	if (id.is && !m->id.is)
		return mcp_fault_set(f, MCP_INVALID_REQUEST,
				     "\"id\" has to be a text or a whole number of at most 2^53");
	if (!m->method.is) {
		struct json result = json_get(v, "result"), error = json_get(v, "error");
		bool response = result.is || error.is;

		json_free(result);
		json_free(error);
		m->kind = MCP_RESPONSE;
		return response ? 0
				: mcp_fault_set(f, MCP_INVALID_REQUEST, "\"method\" is missing");
	}
	m->kind = id.is ? MCP_REQUEST : MCP_NOTIFICATION;
	if (json_type(m->method) != JSON_TYPE_STRING)
		return mcp_fault_set(f, MCP_INVALID_REQUEST, "\"method\" has to be a text");
	if (m->params.is && json_type(m->params) != JSON_TYPE_OBJECT)
		return mcp_fault_set(f, MCP_INVALID_PARAMS, "\"params\" has to be an object");
	return 0;
}

int mcp_message_read(struct mcp_message *m, struct json v, struct mcp_fault *f)
{
	struct json id, version;
	int rc;

	*m = (struct mcp_message){ 0 };
	if (json_type(v) != JSON_TYPE_OBJECT)
		return mcp_fault_set(f, MCP_INVALID_REQUEST, "a message has to be an object");
	id = json_get(v, "id");
	version = json_get(v, "jsonrpc");
	if (is_id(id)) {
		m->id = id;
		id = json_bool(true);
	}
	rc = read_members(m, v, id, version, f);
	json_free(id);
	json_free(version);
	return rc;
}

bool mcp_message_is(const struct mcp_message *m, const char *method)
{
	return bytes_equal(json_bytes(m->method), bytes_of(method));
}

static void begin_response(struct jsonw *w, struct buf *out, struct json id)
{
	struct buf text = { 0 };

	jsonw_init(w, out, false);
	jsonw_object_begin(w);
	jsonw_key_str(w, "jsonrpc", "2.0");
	jsonw_key(w, "id");
	json_dump(&text, id.is ? id : JSON_NONE, 0);
	jsonw_raw(w, buf_bytes(&text));
	buf_free(&text);
}

static void put_value(struct jsonw *w, const char *key, struct json v)
{
	struct buf text = { 0 };

	jsonw_key(w, key);
	json_dump(&text, v, 0);
	w->out->failed |= text.failed;
	jsonw_raw(w, buf_bytes(&text));
	buf_free(&text);
}

void mcp_write_result(struct buf *out, struct json id, struct json result)
{
	struct jsonw w;

	begin_response(&w, out, id);
	put_value(&w, "result", result);
	jsonw_object_end(&w);
}

void mcp_write_fault(struct buf *out, struct json id, const struct mcp_fault *f)
{
	struct jsonw w;

	begin_response(&w, out, id);
	jsonw_key_object(&w, "error");
	jsonw_key_i64(&w, "code", f->code);
	jsonw_key_str(&w, "message", f->text);
	if (f->data.is)
		put_value(&w, "data", f->data);
	jsonw_object_end(&w);
	jsonw_object_end(&w);
}

struct bytes mcp_get_text(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	struct bytes text = json_bytes(v);

	json_free(v); /* the object still holds it */
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which method answers what, in which revisions it exists, and what the revision adds to every
 * result. */
#include "lib/mcp/mcp.h"

#include <string.h>

#include "lib/mcp/mcp_internal.h"

/* How long what does not change while the server runs may be kept. */
#define KEEP_MS 300000

enum { LEGACY = 1, STATELESS = 2, BOTH = 3 };
enum part { ALWAYS, TOOLS, PROMPTS, RESOURCES, COMPLETIONS };

static bool has_part(const struct mcp_catalog *o, enum part part)
{
	return part == ALWAYS	   ? true
	       : part == TOOLS	   ? o->tools && o->tools->name
	       : part == PROMPTS   ? o->prompts && o->prompts->name
	       : part == RESOURCES ? o->resources && o->resources->name
				   : o->complete != NULL;
}

static void declare_capability(struct json *o, const char *name)
{
	json_set(o, name, json_object());
}

static struct json list_capabilities(const struct mcp_request *q)
{
	struct json c = json_object();

	declare_capability(&c, "logging");
	if (has_part(q->catalog, TOOLS))
		declare_capability(&c, "tools");
	if (has_part(q->catalog, PROMPTS))
		declare_capability(&c, "prompts");
	if (has_part(q->catalog, RESOURCES))
		declare_capability(&c, "resources");
	if (has_part(q->catalog, COMPLETIONS) && q->revision->annotations)
		declare_capability(&c, "completions");
	return c;
}

static struct json server_info(const struct mcp_request *q)
{
	struct json info = json_object();

	json_set(&info, "name", json_text(q->catalog->name));
	if (q->catalog->title && q->revision->structured)
		json_set(&info, "title", json_text(q->catalog->title));
	json_set(&info, "version", json_text(q->catalog->version));
	return info;
}

static int answer_initialize(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	struct bytes wanted = mcp_get_text(q->params, "protocolVersion");
	struct mcp_request negotiated = *q;

	if (!wanted.p)
		return mcp_fault_set(f, MCP_INVALID_PARAMS,
				     "params need \"protocolVersion\", a text");
	negotiated.revision = mcp_revision_negotiate(wanted);
	q->outcome->negotiated = negotiated.revision;
	mcp_session_set_revision(q->session, negotiated.revision);
	*result = json_object();
	json_set(result, "protocolVersion", json_text(negotiated.revision->name));
	json_set(result, "capabilities", list_capabilities(&negotiated));
	json_set(result, "serverInfo", server_info(&negotiated));
	if (q->catalog->instructions)
		json_set(result, "instructions", json_text(q->catalog->instructions));
	return 0;
}

static int answer_discover(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	(void)f;
	*result = json_object();
	json_set(result, "supportedVersions", mcp_revision_names());
	json_set(result, "capabilities", list_capabilities(q));
	if (q->catalog->instructions)
		json_set(result, "instructions", json_text(q->catalog->instructions));
	return 0;
}

static int answer_ping(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	(void)q;
	(void)f;
	*result = json_object();
	return 0;
}

static int set_level(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	int level = mcp_level_parse(mcp_get_text(q->params, "level"));

	if (level < 0)
		return mcp_fault_set(f, MCP_INVALID_PARAMS,
				     "params need \"level\": debug, info, notice, warning, error, "
				     "critical, alert or emergency");
	mcp_session_set_level(q->session, level);
	*result = json_object();
	return 0;
}

static const struct row {
	const char *name;
	unsigned where; /* LEGACY, STATELESS */
	enum part part; /* that the catalog must have */
	bool slow;
	int keep_ms; /* how long a client may keep the result; -1: it may not */
	mcp_method *answer;
} methods[] = {
	{ "initialize", LEGACY, ALWAYS, false, -1, answer_initialize },
	{ "ping", LEGACY, ALWAYS, false, -1, answer_ping },
	{ "logging/setLevel", LEGACY, ALWAYS, false, -1, set_level },
	{ "server/discover", STATELESS, ALWAYS, false, KEEP_MS, answer_discover },
	{ "tools/list", BOTH, TOOLS, false, KEEP_MS, mcp_list_tools },
	{ "tools/call", BOTH, TOOLS, true, -1, mcp_call_tool },
	{ "prompts/list", BOTH, PROMPTS, false, KEEP_MS, mcp_list_prompts },
	{ "prompts/get", BOTH, PROMPTS, true, -1, mcp_get_prompt },
	{ "resources/list", BOTH, RESOURCES, false, KEEP_MS, mcp_list_resources },
	{ "resources/templates/list", BOTH, RESOURCES, false, KEEP_MS, mcp_list_templates },
	{ "resources/read", BOTH, RESOURCES, true, 0, mcp_read_resource },
	{ "completion/complete", BOTH, COMPLETIONS, true, -1, mcp_complete },
};

static const struct row *find_method(struct bytes method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (bytes_equal(method, bytes_of(methods[i].name)))
			return &methods[i];
	return NULL;
}

bool mcp_is_slow(struct bytes method)
{
	const struct row *r = find_method(method);

	return r && r->slow;
}

static void on_notification(struct mcp_session *s, const struct mcp_message *m)
{
	struct json id;

	if (!mcp_message_is(m, "notifications/cancelled"))
		return;
	id = json_get(m->params, "requestId");
	if (id.is)
		mcp_session_cancel(s, id);
	json_free(id);
}

/* Adds what every result has since revision 2026-07-28. */
static void add_result_meta(const struct mcp_request *q, const struct row *row, struct json *result)
{
	struct json meta;

	if (!q->revision->stateless)
		return;
	meta = json_object();
	json_set(result, "resultType", json_text("complete"));
	if (row->keep_ms >= 0) {
		json_set(result, "ttlMs", json_number(row->keep_ms));
		json_set(result, "cacheScope", json_text("private"));
	}
	json_set(&meta, MCP_META_SERVER, server_info(q));
	json_set(result, "_meta", meta);
}

static int answer_request(struct mcp_request *q, const struct mcp_message *m, struct json *result,
			  struct mcp_fault *f)
{
	const struct row *row = find_method(json_bytes(m->method));
	struct bytes name = json_bytes(m->method);
	int rc;

	if (!row || !(row->where & (q->revision->stateless ? STATELESS : LEGACY)) ||
	    !has_part(q->catalog, row->part)) {
		q->outcome->refused = true;
		return mcp_fault_set(f, MCP_NO_METHOD, "no method '%.*s' in revision %s",
				     (int)(name.n < 100 ? name.n : 100), name.p, q->revision->name);
	}
	if (row->slow && !q->running)
		q->running = mcp_running_begin(q->session, m->id);
	rc = row->answer(q, result, f);
	if (!rc)
		add_result_meta(q, row, result);
	return rc;
}

struct mcp_outcome mcp_answer(const struct mcp_catalog *catalog, struct mcp_session *s,
			      const struct mcp_transport *transport, const struct mcp_message *m,
			      const struct mcp_fault *unread, struct mcp_running *running,
			      struct buf *out)
{
	struct mcp_outcome outcome = { 0 };
	struct mcp_request q = { .catalog = catalog,
				 .session = s,
				 .transport = transport,
				 .params = m->params,
				 .running = running,
				 .outcome = &outcome };
	struct mcp_fault f = { 0 };
	struct json result = JSON_NONE;

	if (unread && unread->code) {
		mcp_write_fault(out, m->id, unread);
		return (struct mcp_outcome){ .code = unread->code, .refused = true };
	}
	if (m->kind == MCP_RESPONSE)
		return outcome; /* we never ask */
	if (mcp_revision_of_message(m, transport->version, mcp_session_revision(s), &q.revision,
				    &f)) {
		outcome.refused = outcome.stateless = true;
	} else {
		outcome.stateless = q.revision->stateless;
		if (m->kind == MCP_REQUEST)
			answer_request(&q, m, &result, &f);
		else
			on_notification(s, m);
	}
	outcome.code = f.code;
	if (m->kind == MCP_REQUEST && !mcp_running_cancelled(q.running)) {
		if (f.code)
			mcp_write_fault(out, m->id, &f);
		else
			mcp_write_result(out, m->id, result);
	}
	if (q.running != running)
		mcp_running_end(q.running);
	json_free(result);
	mcp_fault_free(&f);
	return outcome;
}

static struct mcp_outcome refuse_message(struct buf *out, enum mcp_code code, const char *text)
{
	struct mcp_fault f = { 0 };

	mcp_fault_set(&f, code, "%s", text);
	mcp_write_fault(out, JSON_NONE, &f);
	return (struct mcp_outcome){ .code = code, .refused = true };
}

static struct mcp_outcome answer_value(const struct mcp_catalog *catalog, struct mcp_session *s,
				       const struct mcp_transport *transport, struct json v,
				       struct buf *out)
{
	struct mcp_message m;
	struct mcp_fault f = { 0 };
	struct mcp_outcome outcome;

	mcp_message_read(&m, v, &f);
	outcome = mcp_answer(catalog, s, transport, &m, &f, NULL, out);
	mcp_message_free(&m);
	mcp_fault_free(&f);
	return outcome;
}

/* One after the other: who wants them at once sends them one by one. */
struct mcp_outcome mcp_answer_batch(const struct mcp_catalog *catalog, struct mcp_session *s,
				    const struct mcp_transport *transport, struct json batch,
				    struct buf *out)
{
	const struct mcp_revision *r = mcp_session_revision(s);
	size_t n = json_length(batch), begin = out->n;

	if (!r && transport->version.p)
		r = mcp_revision_find(transport->version);
	if (r && !r->batches)
		return refuse_message(
			out, MCP_INVALID_REQUEST,
			"this revision of the protocol has no batches: send messages one by one");
	if (!n)
		return refuse_message(out, MCP_INVALID_REQUEST, "an empty batch");
	if (n > MCP_BATCH_MAX)
		return refuse_message(out, MCP_INVALID_REQUEST, "a batch has 64 messages at most");
	buf_putc(out, '[');
	for (size_t i = 0; i < n && !(transport->gone && transport->gone(transport->ctx)); i++) {
		struct json one = json_at(batch, i);
		struct buf text = { 0 };

		answer_value(catalog, s, transport, one, &text);
		if (text.n) {
			if (out->n > begin + 1)
				buf_putc(out, ',');
			buf_add(out, text.p, text.n);
		}
		out->failed |= text.failed;
		buf_free(&text);
		json_free(one);
	}
	if (out->n == begin + 1)
		out->n = begin; /* notifications only */
	else
		buf_putc(out, ']');
	return (struct mcp_outcome){ 0 };
}

struct mcp_outcome mcp_answer_text(const struct mcp_catalog *catalog, struct mcp_session *s,
				   const struct mcp_transport *transport, struct bytes text,
				   struct buf *out)
{
	struct json v = JSON_NONE;
	struct mcp_fault f = { 0 };
	struct mcp_outcome outcome;

	if (mcp_parse(text, &v, &f)) {
		mcp_write_fault(out, JSON_NONE, &f);
		outcome = (struct mcp_outcome){ .code = f.code, .refused = true };
	} else if (json_type(v) == JSON_TYPE_ARRAY) {
		outcome = mcp_answer_batch(catalog, s, transport, v, out);
	} else {
		outcome = answer_value(catalog, s, transport, v, out);
	}
	json_free(v);
	mcp_fault_free(&f);
	return outcome;
}

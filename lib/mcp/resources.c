/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be read without asking a tool: the answers that most questions begin with, and one cause
 * or call by its name.
 */
#include <stdio.h>
#include <string.h>

#include "lib/query/select_chains.h"
#include "lib/report/call_text.h"
#include "lib/mcp/chain_rows.h"
#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/step_rows.h"
#include "lib/mcp/tool.h"

#define ID_MAX 128

static struct json make_contents(const char *uri, const char *mime, struct bytes text)
{
	struct json o = json_object(), list = json_array();

	json_set(&o, "uri", json_text(uri));
	json_set(&o, "mimeType", json_text(mime));
	json_set(&o, "text", json_string(text));
	json_append(&list, o);
	return list;
}

/* What a tool says without arguments. */
static int from_tool(void *ctx, const struct request_ctx *rctx, const struct mcp_tool *tool,
		     struct buf *text, struct err *e)
{
	struct mcp_reply answer = { 0 };
	struct json args = json_object();
	int rc = tool->call(ctx, rctx, args, &answer, e);

	if (!rc)
		buf_add(text, answer.text.p, answer.text.n);
	json_free(args);
	mcp_reply_free(&answer);
	return rc;
}

static int read_summary(void *ctx, const struct request_ctx *rctx, const char *uri,
			struct json *contents, struct err *e)
{
	struct mcp_tools *t = ctx;
	struct buf text = { 0 };
	unsigned n = 0;
	const char *const *names = t->opt.source ? store_source_names(t->opt.source, &n) : NULL;
	int rc;

	for (unsigned i = 0; i < n; i++) {
		const char *slash = strrchr(names[i], '/');

		sanitize_text(&text, bytes_of(slash ? slash + 1 : names[i]), CLEAN_MAX);
		buf_puts(&text, i + 1 < n ? ", " : "\n");
	}
	rc = from_tool(ctx, rctx, &tool_causal_chains, &text, e);
	buf_putc(&text, '\n');
	rc = rc ? rc : from_tool(ctx, rctx, &tool_trace_stats, &text, e);
	if (!rc)
		*contents = make_contents(uri, "text/plain", buf_bytes(&text));
	buf_free(&text);
	return rc;
}

/* ---- causes ---- */

struct wanted {
	const char *id; /* NULL: all */
	struct buf text;
	bool found;
};

static int write_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct chain_list *list = &c->answer->list;
	struct json rows = json_array(), clean;
	const struct report r = { .chains = list, .start_ns = c->answer->start_ns };
	struct wanted *want = ctx;

	for (size_t i = 0; i < list->v.n; i++) {
		const struct finding *chain = &list->v.v[i];
		struct json row;

		if (want->id && !bytes_equal(chain->id, bytes_of(want->id)))
			continue;
		want->found = true;
		row = chain_row_new(chain, want->id != NULL);
		step_rows_mark_outside(&row, &r, chain);
		json_append(&rows, row);
	}
	if (want->id) {
		struct json first = json_at(rows, 0);

		clean = sanitize_json(first);
		json_free(first);
	} else {
		struct json o = json_object();

		chain_rows_set_summary(&o, c->answer, list->v.n ? &list->v.v[0] : NULL);
		step_rows_set(&o, &r);
		json_set(&o, "chains", rows);
		clean = sanitize_json(o);
		json_free(o);
		rows = JSON_NONE;
	}
	json_dump(&want->text, clean, 0);
	json_free(clean);
	json_free(rows);
	return want->text.failed ? err_nomem(e) : 0;
}

static int read_chains(struct mcp_tools *t, const struct request_ctx *rctx, const char *uri,
		       const char *id, struct json *contents, struct err *e)
{
	const struct filter_words everything = { 0 };
	struct wanted want = { .id = id };
	int rc;

	if (!t->opt.source)
		return err_set(e, ERR_USAGE, "no recording is served");
	rc = store_source_chains(t->opt.source, rctx, &everything, false, write_chains, &want, e);
	if (!rc && id && !want.found)
		rc = err_set(e, ERR_USAGE,
			     "there is no cause of that id (ingero://chains lists them)");
	if (!rc)
		*contents = make_contents(uri, "application/json", buf_bytes(&want.text));
	buf_free(&want.text);
	return rc;
}

static int read_all_chains(void *ctx, const struct request_ctx *rctx, const char *uri,
			   struct json *contents, struct err *e)
{
	return read_chains(ctx, rctx, uri, NULL, contents, e);
}

/* What follows the last slash, with %XX read. False: too long, or no text. */
static bool id_of(const char *uri, const char *before, char id[ID_MAX])
{
	const char *p = uri + strlen(before);
	size_t n = 0;

	if (strncmp(uri, before, strlen(before)) != 0)
		return false;
	while (*p && n + 1 < ID_MAX) {
		unsigned hex;

		if (*p == '%' && sscanf(p, "%%%2x", &hex) == 1 && hex >= 0x20 && hex < 0x7f &&
		    p[1] && p[2]) {
			id[n++] = (char)hex;
			p += 3;
		} else {
			id[n++] = *p++;
		}
	}
	id[n] = 0;
	return n && !*p;
}

static int one_chain(void *ctx, const struct request_ctx *rctx, const char *uri,
		     struct json *contents, struct err *e)
{
	char id[ID_MAX];

	if (!id_of(uri, "ingero://chain/", id))
		return err_set(e, ERR_USAGE, "that is no id of a cause");
	return read_chains(ctx, rctx, uri, id, contents, e);
}

/* ---- one call ---- */

static int write_call(void *ctx, const struct store_call *c, struct err *e)
{
	struct buf text = { 0 };
	struct wanted *want = ctx;
	struct json v, clean;
	int rc;

	if (!c->found)
		return 0;
	want->found = true;
	call_json(&text, c->found, c->start_ns);
	rc = json_parse(buf_bytes(&text), &v, e);
	if (!rc) {
		clean = sanitize_json(v);
		json_dump(&want->text, clean, 0);
		json_free(clean);
		json_free(v);
	}
	buf_free(&text);
	return rc;
}

static int one_call(void *ctx, const struct request_ctx *rctx, const char *uri,
		    struct json *contents, struct err *e)
{
	struct mcp_tools *t = ctx;
	struct wanted want = { 0 };
	char id[ID_MAX];
	int rc;

	if (!t->opt.source)
		return err_set(e, ERR_USAGE, "no recording is served");
	if (!id_of(uri, "ingero://call/", id))
		return err_set(e, ERR_USAGE, "that is no call: THREAD@END, or an operation");
	rc = store_source_call(t->opt.source, rctx, id, write_call, &want, e);
	if (!rc && !want.found)
		rc = err_set(e, ERR_USAGE, "there is no such call in the recording");
	if (!rc)
		*contents = make_contents(uri, "application/json", buf_bytes(&want.text));
	buf_free(&want.text);
	return rc;
}

static int read_schema(void *ctx, const struct request_ctx *rctx, const char *uri,
		       struct json *contents, struct err *e)
{
#ifdef INGERO_HAVE_SQLITE
	*contents = make_contents(uri, "application/sql", bytes_of(archive_schema()));
	return 0;
#else
	return err_set(e, ERR_CANNOT, "this build answers no SQL");
#endif
}

const struct mcp_resource tool_resources[] = {
	{ .uri = "ingero://summary",
	  .name = "summary",
	  .title = "Summary of the recording",
	  .description = "Causes and statistics, as text",
	  .mime = "text/plain",
	  .read = read_summary },
	{ .uri = "ingero://chains",
	  .name = "chains",
	  .title = "Causes",
	  .description = "All causes found, as JSON",
	  .mime = "application/json",
	  .read = read_all_chains },
	{ .uri = "ingero://schema",
	  .name = "schema",
	  .title = "Tables for run_sql",
	  .description = "The archive's tables with what is in their columns",
	  .mime = "application/sql",
	  .read = read_schema },
	{ .uri = "ingero://chain/{id}",
	  .name = "chain",
	  .title = "One cause",
	  .description = "A cause by its id: timeline, stacks, evidence, as JSON",
	  .mime = "application/json",
	  .is_template = true,
	  .read = one_chain },
	{ .uri = "ingero://call/{id}",
	  .name = "call",
	  .title = "One call",
	  .description =
		  "A call by THREAD@END, or the longest of an operation, taken apart, as JSON",
	  .mime = "application/json",
	  .is_template = true,
	  .read = one_call },
	{ 0 },
};

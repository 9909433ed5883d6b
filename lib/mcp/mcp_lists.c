/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists tools, prompts and resources, page by page. Lists are built from the catalog's tables each
 * time: they are short, and JSON values must not be shared by threads. A cursor is the index that
 * comes next, valid as long as the server runs.
 */
#include "lib/mcp/mcp_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 100 /* entries, if the catalog's page is 0 */

struct page {
	size_t first, end; /* [first, end) of what is listed */
	size_t at;
};

static int begin_page(struct page *p, const struct mcp_request *q, struct mcp_fault *f)
{
	struct json cursor = json_get(q->params, "cursor");
	struct bytes text = json_bytes(cursor);
	int rc = 0;

	*p = (struct page){ 0 };
	if (cursor.is && (!text.n || text.n > 9 || strspn(text.p, "0123456789") != text.n))
		rc = mcp_fault_set(f, MCP_INVALID_PARAMS, "cursor is none that was given out");
	else if (text.n)
		p->first = strtoul(text.p, NULL, 10);
	p->end = p->first + (q->catalog->page ? q->catalog->page : PAGE);
	json_free(cursor);
	return rc;
}

/* The next entry is on this page. */
static bool is_here(struct page *p)
{
	size_t at = p->at++;

	return at >= p->first && at < p->end;
}

static int end_page(struct page *p, const char *key, struct json list, struct json *result,
		    struct mcp_fault *f)
{
	char next[24];

	if (p->first && p->first >= p->at) {
		json_free(list);
		return mcp_fault_set(f, MCP_INVALID_PARAMS, "cursor is none that was given out");
	}
	*result = json_object();
	json_set(result, key, list);
	if (p->at > p->end) {
		snprintf(next, sizeof(next), "%zu", p->end);
		json_set(result, "nextCursor", json_text(next));
	}
	return 0;
}

static void set_text(struct json *o, const char *key, const char *text)
{
	if (text)
		json_set(o, key, json_text(text));
}

/* Ours is right: a text that is no object would be noticed by the first test. */
static void set_schema(struct json *o, const char *key, const char *text)
{
	struct json schema;

	if (text && !json_parse(bytes_of(text), &schema, NULL))
		json_set(o, key, schema);
}

static struct json describe_tool(const struct mcp_request *q, const struct mcp_tool *t)
{
	struct json o = json_object(), hints = json_object();

	set_text(&o, "name", t->name);
	if (q->revision->structured)
		set_text(&o, "title", t->title);
	set_text(&o, "description", t->description);
	set_schema(&o, "inputSchema", t->input_schema);
	if (q->revision->structured)
		set_schema(&o, "outputSchema", t->output_schema);
	set_text(&hints, "title", t->title);
	json_set(&hints, "readOnlyHint", json_bool(true));
	json_set(&hints, "destructiveHint", json_bool(false));
	json_set(&hints, "idempotentHint", json_bool(true));
	json_set(&hints, "openWorldHint", json_bool(t->open_world));
	if (q->revision->annotations)
		json_set(&o, "annotations", hints);
	else
		json_free(hints);
	return o;
}

int mcp_list_tools(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	struct json list = json_array();
	struct page p;

	if (begin_page(&p, q, f)) {
		json_free(list);
		return f->code;
	}
	for (const struct mcp_tool *t = q->catalog->tools; t && t->name; t++)
		if (is_here(&p))
			json_append(&list, describe_tool(q, t));
	return end_page(&p, "tools", list, result, f);
}

static struct json describe_prompt(const struct mcp_request *q, const struct mcp_prompt *p)
{
	struct json o = json_object(), arguments = json_array();

	set_text(&o, "name", p->name);
	if (q->revision->structured)
		set_text(&o, "title", p->title);
	set_text(&o, "description", p->description);
	for (const struct mcp_argument *a = p->arguments; a && a->name; a++) {
		struct json one = json_object();

		set_text(&one, "name", a->name);
		set_text(&one, "description", a->description);
		json_set(&one, "required", json_bool(a->required));
		json_append(&arguments, one);
	}
	json_set(&o, "arguments", arguments);
	return o;
}

int mcp_list_prompts(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	struct json list = json_array();
	struct page page;

	if (begin_page(&page, q, f)) {
		json_free(list);
		return f->code;
	}
	for (const struct mcp_prompt *p = q->catalog->prompts; p && p->name; p++)
		if (is_here(&page))
			json_append(&list, describe_prompt(q, p));
	return end_page(&page, "prompts", list, result, f);
}

static int list_resources(const struct mcp_request *q, bool templates, struct json *result,
			  struct mcp_fault *f)
{
	struct json list = json_array();
	struct page p;

	if (begin_page(&p, q, f)) {
		json_free(list);
		return f->code;
	}
	for (const struct mcp_resource *r = q->catalog->resources; r && r->name; r++) {
		struct json o;

		if (r->is_template != templates || !is_here(&p))
			continue;
		o = json_object();
		set_text(&o, templates ? "uriTemplate" : "uri", r->uri);
		set_text(&o, "name", r->name);
		if (q->revision->structured)
			set_text(&o, "title", r->title);
		set_text(&o, "description", r->description);
		set_text(&o, "mimeType", r->mime);
		json_append(&list, o);
	}
	return end_page(&p, templates ? "resourceTemplates" : "resources", list, result, f);
}

int mcp_list_resources(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	return list_resources(q, false, result, f);
}

int mcp_list_templates(const struct mcp_request *q, struct json *result, struct mcp_fault *f)
{
	return list_resources(q, true, result, f);
}

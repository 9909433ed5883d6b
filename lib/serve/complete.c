/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand in an argument: operations, processes and machines of the recording, ids of its causes.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/serve/clean.h"
#include "lib/serve/tool.h"

#define VALUES_MAX 100 /* as the protocol has it */

struct choice {
	const char *value;
	struct json *values;
};

static void offer(const struct choice *c, struct bytes text)
{
	struct buf b = { 0 };

	clean_text(&b, text, CLEAN_MAX);
	if (b.n && !strncasecmp(buf_text(&b), c->value, strlen(c->value)) &&
	    json_length(*c->values) < VALUES_MAX)
		json_append(c->values, json_string(buf_bytes(&b)));
	buf_free(&b);
}

static int offer_ops(void *ctx, const struct serve_stat *st, struct err *e)
{
	for (size_t i = 0; i < st->ops->rows.n; i++)
		offer(ctx, bytes_of(st->ops->rows.v[i].op->name));
	return 0;
}

static int offer_pids(void *ctx, const struct serve_stat *st, struct err *e)
{
	for (uint32_t i = 1; i <= world_count(st->w, WORLD_PROCESS); i++) {
		const struct world_process *p = world_get_process(st->w, i);
		char text[16];

		snprintf(text, sizeof(text), "%u", p->tgid);
		if (p->tgid)
			offer(ctx, bytes_of(text));
	}
	return 0;
}

static int offer_nodes(void *ctx, const struct serve_stat *st, struct err *e)
{
	for (uint32_t i = 1; i <= world_count(st->w, WORLD_NODE); i++)
		offer(ctx, world_text(st->w, world_get_node(st->w, i)->name));
	return 0;
}

static int offer_chains(void *ctx, const struct serve_chains *c, struct err *e)
{
	for (size_t i = 0; i < c->answer->list.v.n; i++)
		offer(ctx, c->answer->list.v.v[i].id);
	return 0;
}

int tool_complete(void *ctx, const char *of, const char *argument, const char *value,
		  struct json context, struct json *values, struct err *e)
{
	static const struct serve_stat_want brief = { .brief = true };
	static const char *const since[] = { "10s", "1m", "5m", "30m", "1h" };
	const struct select_words everything = { 0 };
	struct choice c = { value, values };
	struct serve_tools *t = ctx;
	serve_use_stat *use = NULL;

	if (!strcmp(argument, "since")) {
		for (unsigned i = 0; i < sizeof(since) / sizeof(since[0]); i++)
			offer(&c, bytes_of(since[i]));
		return 0;
	}
	if (!t->opt.source)
		return 0;
	if (!strcmp(of, "ingero://chain/{id}"))
		return serve_source_chains(t->opt.source, NULL, &everything, false, offer_chains,
					   &c, e);
	if (!strcmp(of, "ingero://call/{id}") || !strcmp(argument, "op") ||
	    !strcmp(argument, "focus"))
		use = offer_ops;
	else if (!strcmp(argument, "pid"))
		use = offer_pids;
	else if (!strcmp(argument, "node"))
		use = offer_nodes;
	return use ? serve_source_stat(t->opt.source, NULL, &brief, use, &c, e) : 0;
}

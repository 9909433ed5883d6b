/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand in an argument: operations, processes and machines of the recording, ids of its
 * causes.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/tool.h"

/* All of them: whoever answers shows some and says how many there are. */
struct choice {
	const char *value;
	struct json *values;
	struct map seen; /* hashes of values: machines have processes of one number */
};

static void add_choice(struct choice *c, struct bytes text)
{
	struct buf b = { 0 };
	uint64_t key;

	sanitize_text(&b, text, CLEAN_MAX);
	key = hash_bytes(b.p, b.n, 0);
	if (b.n && !strncasecmp(buf_text(&b), c->value, strlen(c->value)) &&
	    !map_get(&c->seen, key, NULL) && map_put(&c->seen, key, 0))
		json_append(c->values, json_string(buf_bytes(&b)));
	buf_free(&b);
}

static int offer_ops(void *ctx, const struct store_stat *st, struct err *e)
{
	for (size_t i = 0; i < st->ops->rows.n; i++)
		add_choice(ctx, bytes_of(st->ops->rows.v[i].op->name));
	return 0;
}

static int offer_pids(void *ctx, const struct store_stat *st, struct err *e)
{
	for (uint32_t i = 1; i <= world_count(st->w, WORLD_PROCESS); i++) {
		const struct world_process *p = world_get_process(st->w, i);
		char text[16];

		snprintf(text, sizeof(text), "%u", p->tgid);
		if (p->tgid)
			add_choice(ctx, bytes_of(text));
	}
	return 0;
}

static int offer_nodes(void *ctx, const struct store_stat *st, struct err *e)
{
	for (uint32_t i = 1; i <= world_count(st->w, WORLD_NODE); i++)
		add_choice(ctx, world_text(st->w, world_get_node(st->w, i)->name));
	return 0;
}

static int offer_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	for (size_t i = 0; i < c->answer->list.v.n; i++)
		add_choice(ctx, c->answer->list.v.v[i].id);
	return 0;
}

int tool_complete(void *ctx, const char *of, const char *argument, const char *value,
		  struct json context, struct json *values, struct err *e)
{
	static const struct store_stat_request brief = { .brief = true };
	static const char *const since[] = { "10s", "1m", "5m", "30m", "1h" };
	const struct filter_words everything = { 0 };
	struct choice c = { value, values, { 0 } };
	struct mcp_tools *t = ctx;
	store_stat_fn *use = NULL;
	int rc = 0;

	if (!strcmp(argument, "since")) {
		for (unsigned i = 0; i < sizeof(since) / sizeof(since[0]); i++)
			add_choice(&c, bytes_of(since[i]));
	} else if (t->opt.source && !strcmp(of, "ingero://chain/{id}")) {
		rc = store_source_chains(t->opt.source, NULL, &everything, false, offer_chains, &c,
					 e);
	} else if (!strcmp(of, "ingero://call/{id}") || !strcmp(argument, "op") ||
		   !strcmp(argument, "focus")) {
		use = offer_ops;
	} else if (!strcmp(argument, "pid")) {
		use = offer_pids;
	} else if (!strcmp(argument, "node")) {
		use = offer_nodes;
	}
	if (use && t->opt.source)
		rc = store_source_stat(t->opt.source, NULL, &brief, use, &c, e);
	map_free(&c.seen);
	return rc;
}

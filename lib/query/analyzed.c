/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the analysis to a stream that has none of its own. Whether it has one shows only at its end:
 * until then the newest revision of each chain is kept, of those that it carries and of those that
 * are found.
 */
#include "lib/query/analyzed.h"

#include <stdlib.h>

#include "lib/query/chains.h"
#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/detect/analysis.h"

struct record_list {
	VEC(struct record) v;
	struct map chains; /* hash of id -> index + 1 */
};

struct analyzed {
	struct cause_sink sink; /* first: on_record casts it back */
	struct cause *cause;
	analyzed_item_fn *take;
	void *to;
	struct chain_list analysis; /* that it carries, no chains */
	uint64_t events;
	struct record_list carried, found;
	struct arena texts;
};

static bool copy_text(struct analyzed *z, struct bytes *text)
{
	char *copy = text->p ? arena_copy(&z->texts, text->p, text->n) : NULL;
	bool kept = copy || !text->p;

	text->p = copy;
	return kept;
}

static int store_record(struct analyzed *z, struct record_list *list, const struct record *r,
			struct err *e)
{
	const struct record_def *def = record_builtin(r->kind);
	struct record copy = *r;
	uint64_t id = 0, at;

	for (unsigned i = 0; def && i < def->nfields; i++) {
		struct bytes *text = (void *)((char *)&copy.u + def->fields[i].offset);

		if (def->fields[i].type == REC_TEXT && record_has(r, def->fields[i].number) &&
		    !copy_text(z, text))
			return err_nomem(e);
	}
	if (r->kind == RECORD_CHAIN) {
		id = hash_bytes(copy.u.CHAIN.id.p, copy.u.CHAIN.id.n, 0);
		if (map_get(&list->chains, id, &at)) {
			list->v.v[at - 1] = copy;
			return 0;
		}
	}
	if (!vec_push(&list->v, copy))
		return err_nomem(e);
	return r->kind != RECORD_CHAIN || map_put(&list->chains, id, list->v.n) ? 0 : err_nomem(e);
}

static int on_record(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct analyzed *z = (struct analyzed *)s;

	return store_record(z, &z->found, r, e);
}

struct analyzed *analyzed_new(struct world *w, analyzed_item_fn *take, void *to)
{
	struct analyzed *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->sink.record = on_record;
	z->take = take;
	z->to = to;
	z->cause = cause_new(w, NULL, &z->sink);
	if (z->cause)
		return z;
	free(z);
	return NULL;
}

int analyzed_item(struct analyzed *z, const struct stream_item *item, struct err *e)
{
	const struct record *r = item->kind == STREAM_RECORD ? item->record : NULL;
	int rc;

	if (r && r->kind == RECORD_ANALYSIS) {
		rc = chain_list_add(&z->analysis, r, e);
		return rc ? rc : store_record(z, &z->carried, r, e);
	}
	if (r && r->kind == RECORD_CHAIN)
		return store_record(z, &z->carried, r, e);
	rc = cause_item(z->cause, item, e);
	z->events += item->kind == STREAM_EVENTS ? item->n : 0;
	return rc ? rc : z->take(z->to, item, e);
}

int analyzed_end(struct analyzed *z, struct err *e)
{
	bool whole = query_chains_is_complete(&z->analysis, z->events);
	const struct record_list *list = whole ? &z->carried : &z->found;
	int rc = whole ? 0 : cause_finish(z->cause, e);

	for (size_t i = 0; i < list->v.n && !rc; i++) {
		struct stream_item item = { .kind = STREAM_RECORD,
					    .record = &list->v.v[i],
					    .watermark_ns = INT64_MIN,
					    .floor_ns = INT64_MIN };

		rc = z->take(z->to, &item, e);
	}
	return rc;
}

void analyzed_free(struct analyzed *z)
{
	if (!z)
		return;
	cause_free(z->cause);
	chain_list_free(&z->analysis);
	vec_free(&z->carried.v);
	vec_free(&z->found.v);
	map_free(&z->carried.chains);
	map_free(&z->found.chains);
	arena_free(&z->texts);
	free(z);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects CHAIN records of a stream and keeps the newest of each id. There are few of them: found
 * by walking the list.
 */
#include "lib/event/chain.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/jsoncheck.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"

#define CHAINS_MAX 100000

static int copy_text(struct chain_list *list, struct bytes *into, struct bytes text, struct err *e)
{
	into->p = arena_copy(&list->texts, text.p ? text.p : "", text.n);
	into->n = text.n;
	return into->p ? 0 : err_nomem(e);
}

static size_t room_left(const struct chain_list *list)
{
	return list->size < BODIES_SIZE_MAX ? BODIES_SIZE_MAX - list->size : 0;
}

/* In place of what stood there, as is evidence. */
static int read_analysis(struct chain_list *list, struct bytes text, struct err *e)
{
	int rc = 0;

	json_free(list->analysis);
	paths_free(&list->paths);
	list->size -= list->analysis_size;
	if (body_read(text, &list->analysis, room_left(list), &list->analysis_size))
		rc = paths_read_json(&list->paths, text, room_left(list), NULL);
	list->analysis_size += list->paths.memory.total / JSON_SIZE_BYTES;
	list->size += list->analysis_size;
	return rc == ERR_NOMEM ? err_nomem(e) : 0;
}

static int read_evidence(struct chain_list *list, struct finding *f, struct bytes json,
			 struct err *e)
{
	int rc;

	list->size -= f->memory.total / JSON_SIZE_BYTES;
	rc = finding_read_json(f, json, room_left(list), NULL);
	list->size += f->memory.total / JSON_SIZE_BYTES;
	return rc == ERR_NOMEM ? err_nomem(e) : 0;
}

static int chain_add(struct chain_list *list, const struct rec_CHAIN *r, struct err *e)
{
	struct finding fresh = { 0 }, *c = NULL;

	for (size_t i = 0; i < list->v.n && !c; i++) {
		if (bytes_equal(list->v.v[i].id, r->id))
			c = &list->v.v[i];
	}
	if (c && r->revision < c->revision)
		return 0;
	if (!c) {
		if (list->v.n >= CHAINS_MAX)
			return err_set(e, ERR_LIMIT, "more than %d chains in one stream",
				       CHAINS_MAX);
		if (copy_text(list, &fresh.id, r->id, e) < 0)
			return e ? e->code : ERR_NOMEM;
		if (!vec_push(&list->v, fresh))
			return err_nomem(e);
		c = &list->v.v[list->v.n - 1];
	}
	if (copy_text(list, &c->match, r->match, e) < 0 ||
	    copy_text(list, &c->kind, r->kind, e) < 0 ||
	    copy_text(list, &c->summary, r->summary, e) < 0)
		return ERR_NOMEM;
	c->revision = r->revision;
	c->severity = r->severity;
	c->time_ns = r->time_ns;
	c->first_ns = r->first_ns;
	c->last_ns = r->last_ns;
	c->count = r->count;
	c->lost_ns = r->lost_ns;
	return read_evidence(list, c, r->body, e);
}

int chain_list_add(struct chain_list *list, const struct record *r, struct err *e)
{
	if (r->kind == RECORD_CHAIN)
		return chain_add(list, &r->u.CHAIN, e);
	if (r->kind != RECORD_ANALYSIS)
		return 0;
	list->analyzed = true;
	return read_analysis(list, r->u.ANALYSIS.body, e);
}

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	return x->id.n == y->id.n ? memcmp(x->id.p, y->id.p, x->id.n) : x->id.n < y->id.n ? -1 : 1;
}

void chain_list_sort(struct chain_list *list)
{
	if (list->v.n)
		qsort(list->v.v, list->v.n, sizeof(*list->v.v), by_severity);
}

void chain_list_free(struct chain_list *list)
{
	for (size_t i = 0; i < list->v.n; i++)
		finding_free(&list->v.v[i]);
	vec_free(&list->v);
	json_free(list->analysis);
	paths_free(&list->paths);
	arena_free(&list->texts);
	*list = (struct chain_list){ 0 };
}

bool chain_count_record(struct map *ids, const struct record *r)
{
	const struct bytes *id = &r->u.CHAIN.id;

	return r->kind != RECORD_CHAIN || map_put(ids, hash_bytes(id->p ? id->p : "", id->n, 0), 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The newest revision of each chain is kept until the end: whether the stream has an analysis of its own shows only there. */
#include "lib/ask/analyzed.h"

#include <stdlib.h>

#include "lib/ask/chains.h"
#include "lib/base/arena.h"
#include "lib/base/vec.h"
#include "lib/detect/analysis.h"

struct analyzed {
	struct cause_sink sink; /* first: the analysis tells us */
	struct cause *cause;
	analyzed_take *take;
	void *to;
	struct chain_list carried; /* the analysis, no chains */
	uint64_t events;
	VEC(struct record) found;
	struct arena texts;
};

static bool keep_text(struct analyzed *z, struct bytes *text)
{
	char *copy = text->p ? arena_copy(&z->texts, text->p, text->n) : NULL;
	bool kept = copy || !text->p;

	text->p = copy;
	return kept;
}

static int told(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct analyzed *z = (struct analyzed *)s;
	const struct record_def *def = record_builtin(r->kind);
	struct record copy = *r;

	for (unsigned i = 0; def && i < def->nfields; i++) {
		struct bytes *text = (void *)((char *)&copy.u + def->fields[i].offset);

		if (def->fields[i].type == REC_TEXT && record_has(r, def->fields[i].number) &&
		    !keep_text(z, text))
			return err_nomem(e);
	}
	for (size_t i = 0; i < z->found.n && r->kind == RECORD_CHAIN; i++) {
		if (z->found.v[i].kind == RECORD_CHAIN &&
		    bytes_equal(z->found.v[i].u.CHAIN.id, copy.u.CHAIN.id)) {
			z->found.v[i] = copy;
			return 0;
		}
	}
	return vec_push(&z->found, copy) ? 0 : err_nomem(e);
}

struct analyzed *analyzed_new(struct world *w, analyzed_take *take, void *to)
{
	struct analyzed *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->sink.record = told;
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
	int rc = 0;

	if (item->kind == STREAM_RECORD && item->record->kind == RECORD_ANALYSIS)
		rc = chain_list_add(&z->carried, item->record, e);
	else if (item->kind != STREAM_RECORD || item->record->kind != RECORD_CHAIN)
		rc = cause_item(z->cause, item, e);
	z->events += item->kind == STREAM_EVENTS ? item->n : 0;
	return rc ? rc : z->take(z->to, item, e);
}

int analyzed_end(struct analyzed *z, struct err *e)
{
	bool whole = ask_chains_cover(&z->carried, z->events);
	int rc = whole ? 0 : cause_finish(z->cause, e);

	for (size_t i = 0; i < z->found.n && !whole && !rc; i++) {
		struct stream_item item = { .kind = STREAM_RECORD,
					    .record = &z->found.v[i],
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
	chain_list_free(&z->carried);
	vec_free(&z->found);
	arena_free(&z->texts);
	free(z);
}

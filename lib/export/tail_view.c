/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the newest events of a stream as JSON. Each event is formatted at once; the lines are kept
 * in a ring buffer.
 */
#include "lib/export/tail_view.h"

#include <stdlib.h>

#include "lib/export/format.h"

struct export_tail_view {
	struct export_ctx em;
	struct late_names told;
	struct buf text;
	void *state;
	const struct export_format *format;
	export_put *put;
	VEC(struct buf) lines; /* at most limit of them */
	uint64_t limit, n;     /* limit 0: each is put at once */
};

struct export_tail_view *export_tail_view_new(struct world *w, uint64_t limit, export_put *put)
{
	struct export_tail_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->em = (struct export_ctx){
		.w = w, .told = &v->told, .out = &v->text, .opt = { .stacks = true, .chosen = true }
	};
	v->format = export_format_named("json");
	v->state = v->format->open(&v->em);
	v->put = put;
	v->limit = limit;
	if (v->state)
		return v;
	export_tail_view_free(v);
	return NULL;
}

static int put_element(struct export_tail_view *v, const struct buf *text, bool first,
		       struct err *e)
{
	struct buf out = { 0 };
	int rc;

	buf_puts(&out, first ? "[\n" : ",\n");
	buf_add(&out, text->p, text->n);
	rc = v->put(&out, e);
	buf_free(&out);
	return rc;
}

static int keep_line(struct export_tail_view *v, struct err *e)
{
	struct buf *place, swap;

	while (v->text.n && v->text.p[v->text.n - 1] == '\n')
		v->text.n--;
	if (!v->text.n)
		return v->text.failed ? err_nomem(e) : 0;
	v->n++;
	if (!v->limit)
		return put_element(v, &v->text, v->n == 1, e);
	if (v->lines.n < v->limit && !vec_push(&v->lines, (struct buf){ 0 }))
		return err_nomem(e);
	place = &v->lines.v[(v->n - 1) % v->limit];
	swap = *place;
	*place = v->text;
	v->text = swap;
	return 0;
}

int export_tail_view_item(struct export_tail_view *v, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	if (item->kind == STREAM_RECORD) {
		if (!late_names_record(&v->told, v->em.w, item->record))
			return err_nomem(e);
		rc = v->format->item(v->state, item, e);
		buf_reset(&v->text);
		return rc;
	}
	for (size_t i = 0; i < item->n && !rc; i++) {
		struct stream_item one = *item;

		one.events = item->events + i;
		one.n = 1;
		buf_reset(&v->text);
		rc = v->format->item(v->state, &one, e);
		rc = rc ? rc : keep_line(v, e);
	}
	return rc;
}

int export_tail_view_end(struct export_tail_view *v, uint64_t *seen, struct err *e)
{
	uint64_t first = v->limit && v->n > v->limit ? v->n - v->limit : 0;
	struct buf end = { 0 };
	int rc = 0;

	for (uint64_t i = first; i < v->n && v->limit && !rc; i++)
		rc = put_element(v, &v->lines.v[i % v->limit], i == first, e);
	buf_puts(&end, v->n ? "\n]\n" : "[]\n");
	rc = rc ? rc : v->put(&end, e);
	buf_free(&end);
	*seen = v->n;
	return rc;
}

void export_tail_view_free(struct export_tail_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->lines.n; i++)
		buf_free(&v->lines.v[i]);
	vec_free(&v->lines);
	if (v->state)
		v->format->free(v->state);
	buf_free(&v->text);
	late_names_free(&v->told);
	free(v);
}

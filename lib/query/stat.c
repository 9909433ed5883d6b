/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted block by block is handed to the run before anybody looks. */
#include "lib/query/stat.h"

#include <string.h>

#include "lib/input/resolve.h"

static int check_want(struct query_stat *a, struct err *e)
{
	const struct query_stat_options *want = &a->want;
	int rc = filter_words(&a->sel, want->words, e);

	if (rc)
		return rc;
	if (want->brief && (want->words->npids || want->words->nnames || filter_needs_end(&a->sel)))
		return err_set(e, ERR_USAGE, "--brief is of everything: it goes with no selection");
	if (want->by && (want->brief || want->exact))
		return err_set(e, ERR_USAGE,
			       "--by tells own and lost time of every row, with quantiles within "
			       "0.4 %%: it goes neither with --brief nor with --exact");
	return 0;
}

static int want_more(struct query_stat *a, struct err *e)
{
	enum by_key key = BY_OP;

	if (a->want.exact) {
		a->exact = exact_new(a->want.exact_bytes);
		if (!a->exact)
			return err_nomem(e);
		query_ops_set_exact(a->run, a->exact);
	}
	if (a->want.by && by_key_find(a->want.by, &key)) {
		a->by = query_by_new(a->w, key, 0);
		if (!a->by)
			return err_nomem(e);
		query_ops_set_group_by(a->run, a->by);
	}
	if (a->want.sections) {
		a->view = query_view_new(a->w, &a->sel, a->want.sections);
		if (!a->view)
			return err_nomem(e);
		query_ops_set_sections(a->run, a->view);
	}
	a->brief = a->want.brief ? brief_new(a->w, a->run) : NULL;
	return a->want.brief && !a->brief ? err_nomem(e) : 0;
}

int query_stat_open(struct query_stat *a, const struct query_stat_options *want, struct err *e)
{
	int rc;

	memset(a, 0, sizeof(*a));
	a->want = *want;
	rc = check_want(a, e);
	if (rc)
		return rc;
	a->again.names = want->names;
	a->again.n = want->n;
	exact_source_init(&a->again);
	a->w = world_new();
	if (!a->w)
		return err_nomem(e);
	rc = input_open_within(&a->in, a->w, want->names, want->n, &a->sel, e);
	if (rc)
		return rc;
	a->run = query_ops_new(a->w, &a->sel);
	return a->run ? want_more(a, e) : err_nomem(e);
}

void query_stat_free(struct query_stat *a)
{
	brief_free(a->brief);
	query_ops_free(a->run);
	query_by_free(a->by);
	query_view_free(a->view);
	exact_free(a->exact);
	input_free(a->in);
	world_free(a->w);
	filter_free(&a->sel);
}

static int call_between(struct query_stat *a, struct err *e)
{
	return a->want.between ? a->want.between(a->want.ctx, e) : 0;
}

static int read_events(struct query_stat *a, struct err *e)
{
	struct event_stream *stream = input_stream(a->in);
	struct stream_item item;
	int rc;

	while ((rc = stream->next(stream, &item, e)) > 0) {
		rc = query_ops_item(a->run, &item, e);
		rc = rc ? rc : call_between(a, e);
		if (rc)
			break;
	}
	return rc;
}

/* Without events: see query/brief.h. Inputs one after another, since nothing depends on their
 * order. */
static int read_blocks(struct query_stat *a, struct err *e)
{
	struct ige_reader *r;
	int rc = 0;

	for (unsigned i = 0; !rc && (r = input_one(a->in, i)); i++) {
		struct ige_block block;

		ige_reader_want(r, BRIEF_WANTS);
		while ((rc = ige_reader_block(r, &block, e)) > 0) {
			const struct ige_arrays *arrays = ige_reader_arrays(r);
			struct stream_item item;

			rc = arrays ? brief_count_block(a->brief, arrays, ige_reader_dict(r), e)
				    : 0;
			while (!rc && ige_reader_items(r, &item, e) > 0)
				rc = query_ops_item(a->run, &item, e);
			rc = rc ? rc : call_between(a, e);
			if (rc)
				break;
		}
	}
	return rc;
}

int query_stat_read_on(struct query_stat *a, struct err *e)
{
	return read_events(a, e);
}

int query_stat_end(struct query_stat *a, struct err *e)
{
	return query_ops_end(a->run, e);
}

int query_stat_read(struct query_stat *a, struct err *e)
{
	int rc = a->brief ? read_blocks(a, e) : read_events(a, e);

	if (a->brief && (!rc || rc == ERR_TOO_NEW)) {
		struct err late;
		int flushed = brief_flush(a->brief, &late);

		if (flushed && !rc) {
			*e = late;
			rc = flushed;
		}
	}
	if (!rc || rc == ERR_TOO_NEW) {
		struct err late;
		int over = query_ops_end(a->run, &late);

		if (over && !rc) {
			*e = late;
			rc = over;
		}
	}
	return rc;
}

int query_stat_find_exact(struct query_stat *a, struct err *e)
{
	if (!a->exact)
		return EXACT_FOUND;
	a->again.world = a->w;
	a->again.sel = &a->sel;
	a->again.run = a->run;
	a->again.brief = a->brief;
	return exact_find(&a->again, e);
}

const struct ops_summary *query_stat_answer(struct query_stat *a, struct err *e)
{
	const struct ops_summary *s;

	if (a->brief && brief_flush(a->brief, e))
		return NULL;
	s = query_ops_answer(a->run);
	if (!s)
		err_nomem(e);
	return s;
}

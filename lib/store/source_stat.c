/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often and how long: of everything from blocks, of what is chosen event by event.
 */
#include <stdlib.h>

#include "lib/query/stat.h"
#include "lib/event/section_rows.h"
#include "lib/store/source_counting.h"

struct stat_value {
	struct query_stat ask;
	struct store_stat st;
	struct buf notes;
	struct source_counting *counting; /* instead of all that, of what is still written; NULL */
	/* while it is made */
	const struct request_ctx *rctx;
};

struct stat_ctx {
	struct store_source *source;
	const struct store_stat_request *want;
};

static void free_stat(void *value)
{
	struct stat_value *v = value;

	source_counting_release(v->counting);
	query_stat_free(&v->ask);
	buf_free(&v->notes);
	free(v);
}

static int report_progress(void *ctx, struct err *e)
{
	struct stat_value *v = ctx;

	return source_report_progress(v->rctx, v->ask.in, "counting", e);
}

/* All of it, from the beginning. */
static int read_all(struct stat_value *v, const struct stat_ctx *c, const struct request_ctx *rctx,
		    bool *growing, struct err *e)
{
	const struct store_stat_request *want = c->want;
	struct query_stat_options ask = { .words = &want->words,
					  .brief = want->brief &&
						   source_selects_all(&want->words) && !want->by,
					  .by = want->by,
					  .sections = want->by ? 0 : want->sections,
					  .between = report_progress,
					  .ctx = v };
	int rc;

	v->rctx = rctx;
	ask.names = store_source_names(c->source, &ask.n);
	rc = query_stat_open(&v->ask, &ask, e);
	rc = rc ? rc : query_stat_read(&v->ask, e);
	if (rc == ERR_TOO_NEW)
		rc = 0;
	/* Whether a wait goes on only events tell. */
	if (!rc && ask.brief && query_ops_has_ongoing(v->ask.run)) {
		ask.brief = false;
		query_stat_free(&v->ask);
		rc = query_stat_open(&v->ask, &ask, e);
		rc = rc ? rc : query_stat_read(&v->ask, e);
		rc = rc == ERR_TOO_NEW ? 0 : rc;
	}
	if (!rc && !(v->st.ops = query_stat_answer(&v->ask, e)))
		rc = e->code;
	if (rc)
		return rc;
	v->st.w = v->ask.w;
	v->st.quality.input = source_input_quality(v->ask.in, &v->notes);
	v->st.quality.notes = buf_text(&v->notes);
	*growing = v->st.quality.input.growing;
	/* The words were the client's, and go with the question. */
	v->rctx = NULL;
	return 0;
}

static int make_stat(void *ctx, const struct request_ctx *rctx, void **value, bool *growing,
		     struct err *e)
{
	const struct stat_ctx *c = ctx;
	struct stat_value *v = calloc(1, sizeof(*v));
	bool whole = !c->want->by && !c->want->brief && c->want->sections == VIEW_ALL &&
		     source_selects_all(&c->want->words);
	int rc = 0;

	if (!v)
		return err_nomem(e);
	if (whole)
		rc = source_counting_acquire(&v->counting, c->source, rctx, growing, e);
	if (!rc && !v->counting)
		rc = read_all(v, c, rctx, growing, e);
	if (rc)
		free_stat(v);
	else
		*value = v;
	return rc;
}

int store_source_stat(struct store_source *s, const struct request_ctx *rctx,
		      const struct store_stat_request *want, store_stat_fn *use, void *ctx,
		      struct err *e)
{
	struct stat_ctx c = { s, want };
	struct buf question = { 0 };
	struct cached_answer *answer = NULL;
	int rc;

	buf_printf(&question, "stat%s by=%s sections=%x", want->brief ? " brief" : "",
		   want->by ? want->by : "", want->sections);
	source_append_words(&question, &want->words);
	rc = question.failed ? err_nomem(e)
			     : source_get_answer(s, s->cache, question.p, make_stat, &c, free_stat,
						 rctx, &answer, e);
	if (!rc) {
		struct stat_value *v = cached_answer_value(answer);

		v->st.quality.took_ns = cached_answer_compute_ns(answer);
		v->st.quality.age_ns = cached_answer_age_ns(answer);
		rc = v->counting ? source_counting_answer(v->counting, v->st.quality, rctx,
							  want->into, use, ctx, e)
				 : use(ctx, &v->st, e);
	}
	answer_cache_release(s->cache, answer);
	buf_free(&question);
	return rc;
}

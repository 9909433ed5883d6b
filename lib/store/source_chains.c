/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers what went wrong: with the findings stored in the recording, with those that an earlier
 * server saved to disk, or by an analysis.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/query/stored_findings.h"
#include "lib/query/report_query.h"
#include "lib/filter/cut.h"
#include "lib/store/disk_cache.h"
#include "lib/store/source_growing.h"
#include "lib/store/source_state.h"

struct chains_value {
	struct store_chains c;
	struct world *w;
	struct report_query *query;
	struct query_chains carried;
	struct growing_answer grown;
	struct buf notes;
};

struct chains_ctx {
	struct store_source *source;
	const struct filter_words *words;
	bool complete;
};

static void free_chains(void *value)
{
	struct chains_value *v = value;

	report_query_free(v->query);
	query_chains_clear(&v->carried);
	growing_answer_free(&v->grown);
	world_free(v->w);
	buf_free(&v->notes);
	free(v);
}

static int report_progress(void *rctx, struct input *in, struct err *e)
{
	return source_report_progress(rctx, in, "looking for causes", e);
}

/* Sets *is if the findings are stored in the recording, *grows if it is still written. */
static int try_carried(struct chains_value *v, struct store_source *s,
		       const struct request_ctx *rctx, bool *is, bool *grows, struct err *e)
{
	const struct query_stored_findings_options want = { report_progress, (void *)rctx };
	struct input *in = NULL;
	int rc;

	*is = *grows = false;
	v->w = world_new();
	rc = v->w ? source_open_input(s, &in, v->w, NULL, e) : err_nomem(e);
	rc = rc ? rc : query_chains_read_stored(in, v->w, &want, &v->carried, is, e);
	if (!rc && *is) {
		v->c.answer = &v->carried;
		v->c.quality.input = source_input_quality(in, &v->notes);
	}
	*grows = !rc && !*is && input_report(in).growing;
	input_free(in);
	if (!*is) {
		world_free(v->w);
		v->w = NULL;
	}
	/* Its defects are found again by the analysis, which reads all of it. */
	return rc == ERR_TOO_NEW || rc == ERR_DAMAGED ? 0 : rc;
}

static int read_chains(struct chains_value *v, struct input *in, const struct filter *sel,
		       const struct request_ctx *rctx, struct err *e)
{
	struct event_stream *stream = input_stream(in);
	struct filter_cut cut = { 0 };
	struct stream_item item;
	bool began = false;
	int rc = 0;

	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		bool left = true;

		if (!began && item.kind == STREAM_RECORD && item.record->kind == RECORD_SESSION) {
			began = true;
			if (sel->resolved && sel->since_ns > item.record->u.SESSION.start_ns)
				v->c.ahead_ns = sel->since_ns - item.record->u.SESSION.start_ns;
		}
		rc = sel->resolved ? filter_cut_item(&cut, sel, v->w, &item, &left, e) : 0;
		if (rc >= 0 && left)
			rc = report_query_item(v->query, &item, e);
		rc = rc < 0 ? rc : source_report_progress(rctx, in, "looking for causes", e);
	}
	filter_cut_free(&cut);
	return rc == ERR_TOO_NEW ? 0 : rc;
}

static int find_chains(struct chains_value *v, const struct chains_ctx *c,
		       const struct request_ctx *rctx, struct err *e)
{
	struct filter sel = { .calls = true };
	struct input *in = NULL;
	struct report_answer answer;
	int rc = filter_words(&sel, c->words, e);

	v->w = world_new();
	v->query = v->w ? report_query_new(v->w, c->complete) : NULL;
	if (!rc && !v->query)
		rc = err_nomem(e);
	rc = rc ? rc : source_open_input(c->source, &in, v->w, &sel, e);
	rc = rc ? rc : read_chains(v, in, &sel, rctx, e);
	rc = rc ? rc : report_query_end(v->query, &answer, e);
	if (!rc) {
		v->c.answer = answer.chains;
		v->c.failures = answer.failures;
		v->c.oncpu = answer.oncpu;
		v->c.quality.input = source_input_quality(in, &v->notes);
	}
	input_free(in);
	filter_free(&sel);
	return rc;
}

/* Whether it is one that is read on. */
static int try_growing(struct chains_value *v, struct store_source *s, bool begin,
		       const struct request_ctx *rctx, bool *is, struct err *e)
{
	int rc = source_growing_answer(s, begin, rctx, &v->grown, &v->notes, e);

	*is = !rc && v->grown.answer;
	if (*is && !(v->w = world_new()))
		rc = err_nomem(e);
	v->c.answer = v->grown.answer;
	v->c.failures = v->grown.failures;
	v->c.oncpu = v->grown.oncpu;
	v->c.quality.input = v->grown.input;
	if (!*is)
		buf_reset(&v->notes);
	return rc;
}

/* Whether an earlier server saved the answer to disk. */
static bool try_disk_cache(struct chains_value *v, const char *folder,
			   const struct source_state *st)
{
	if (!folder || !(v->w = world_new()))
		return false;
	if (disk_cache_read(folder, buf_text(&st->state), &v->carried)) {
		v->c.answer = &v->carried;
		return true;
	}
	world_free(v->w);
	v->w = NULL;
	return false;
}

/* Saves findings to disk: of whole files only, and only if these have not changed since. */
static void save_to_disk(const struct chains_value *v, struct store_source *s,
			 const struct source_state *before)
{
	struct source_state now = { 0 };
	struct err e;

	if (!v->notes.n && !v->c.answer->unfinished && !source_state_init(s, &now, &e) &&
	    !strcmp(buf_text(&now.state), buf_text(&before->state)))
		disk_cache_write(s->opt.disk_cache, buf_text(&now.state), v->c.answer);
	source_state_free(&now);
}

/* With what only events tell. */
static int whole_story(struct chains_value *v, const struct chains_ctx *c,
		       const struct request_ctx *rctx, struct err *e)
{
	bool is;
	int rc = try_growing(v, c->source, source_is_growing(c->source), rctx, &is, e);

	return rc || is ? rc : find_chains(v, c, rctx, e);
}

/* All of it, as cheaply as it can be had. */
static int whole_chains(struct chains_value *v, const struct chains_ctx *c,
			const struct request_ctx *rctx, struct err *e)
{
	struct source_state st;
	int rc = source_state_init(c->source, &st, e);
	bool is = !rc && try_disk_cache(v, c->source->opt.disk_cache, &st), grows = false;

	if (!rc && !is)
		rc = try_growing(v, c->source, false, rctx, &is, e);
	if (!rc && !is)
		rc = try_carried(v, c->source, rctx, &is, &grows, e);
	if (!rc && grows)
		rc = try_growing(v, c->source, true, rctx, &is, e);
	if (!rc && !is) {
		int64_t from = answer_cache_now_ns();

		rc = find_chains(v, c, rctx, e);
		if (!rc && c->source->opt.disk_cache &&
		    answer_cache_now_ns() - from >= (int64_t)c->source->opt.disk_cache_min_ns)
			save_to_disk(v, c->source, &st);
	}
	source_state_free(&st);
	return rc;
}

static int make_chains(void *ctx, const struct request_ctx *rctx, void **value, bool *growing,
		       struct err *e)
{
	const struct chains_ctx *c = ctx;
	struct chains_value *v = calloc(1, sizeof(*v));
	int rc = v ? 0 : err_nomem(e);

	if (!rc && source_selects_all(c->words))
		rc = c->complete ? whole_story(v, c, rctx, e) : whole_chains(v, c, rctx, e);
	else if (!rc)
		rc = find_chains(v, c, rctx, e);
	if (rc) {
		if (v)
			free_chains(v);
		return rc;
	}
	v->c.w = v->w;
	v->c.quality.notes = buf_text(&v->notes);
	*growing = v->c.quality.input.growing;
	*value = v;
	return 0;
}

int store_source_chains(struct store_source *s, const struct request_ctx *rctx,
			const struct filter_words *words, bool complete, store_chains_fn *use,
			void *ctx, struct err *e)
{
	struct chains_ctx c = { s, words, complete };
	struct buf question = { 0 };
	struct cached_answer *answer = NULL;
	int rc;

	buf_printf(&question, "chains%s", complete ? " complete" : "");
	source_append_words(&question, words);
	rc = question.failed ? err_nomem(e)
			     : source_get_answer(s, s->cache, question.p, make_chains, &c,
						 free_chains, rctx, &answer, e);
	if (!rc) {
		struct chains_value *v = cached_answer_value(answer);

		v->c.quality.took_ns = cached_answer_compute_ns(answer);
		v->c.quality.age_ns = cached_answer_age_ns(answer);
		rc = use(ctx, &v->c, e);
	}
	answer_cache_release(s->cache, answer);
	buf_free(&question);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyzes a recording that is still written. An analysis reports what it found when it is
 * finished, and cannot go on then, so that a forked child finishes it. Where fork fails, each
 * question reads the whole recording.
 */
#include "lib/store/source_growing.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/store/chains_json.h"
#include "lib/store/source_child.h"

struct source_growing {
	struct source_fingerprint fingerprint;
	struct world *w;
	struct input *in;
	struct report_query *query;
};

void source_growing_free(struct source_growing *g)
{
	if (!g)
		return;
	report_query_free(g->query);
	input_free(g->in);
	world_free(g->w);
	source_fingerprint_free(&g->fingerprint);
	free(g);
}

void growing_answer_free(struct growing_answer *g)
{
	query_chains_clear(&g->parsed_chains);
	report_answer_json_free(&g->parsed);
	source_growing_free(g->ended);
	g->ended = NULL;
}

static int start_reading(struct store_source *s, const struct source_state *now, struct err *e)
{
	struct source_growing *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return err_nomem(e);
	g->w = world_new();
	g->query = g->w ? report_query_new(g->w, true) : NULL;
	rc = g->query ? source_fingerprint_init(&g->fingerprint, s, now, e) : err_nomem(e);
	rc = rc ? rc : source_open_input(s, &g->in, g->w, NULL, e);
	if (!rc && input_follow(g->in))
		s->growing = g;
	else
		source_growing_free(g);
	return rc;
}

static int read_on(struct source_growing *g, const struct request_ctx *rctx, struct err *e)
{
	struct event_stream *stream = input_stream(g->in);
	struct stream_item item;
	int rc = 0;

	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		rc = report_query_item(g->query, &item, e);
		rc = rc ? rc : source_report_progress(rctx, g->in, "looking for causes", e);
	}
	return rc == ERR_TOO_NEW ? 0 : rc;
}

/* ---- what it has found so far ---- */

static bool write_findings(void *growing, struct buf *found)
{
	struct source_growing *g = growing;
	struct report_answer answer;
	struct jsonw j;
	struct err e;

	if (report_query_end(g->query, &answer, &e))
		return false;
	jsonw_init(&j, found, false);
	jsonw_object_begin(&j);
	chains_json_write(&j, answer.chains);
	report_answer_json_write(&j, answer.failures, answer.oncpu);
	jsonw_object_end(&j);
	return true;
}

static void answer_by_child(struct source_growing *g, const struct request_ctx *rctx,
			    struct growing_answer *out)
{
	struct json o = JSON_NONE;
	struct buf text = { 0 };

	if (source_run_child(write_findings, g, rctx, &text) &&
	    !json_parse(buf_bytes(&text), &o, NULL) && chains_json_read(o, &out->parsed_chains) &&
	    report_answer_json_read(o, &out->parsed)) {
		out->parsed_chains.unfinished = true;
		out->answer = &out->parsed_chains;
		out->failures = &out->parsed.failures;
		out->oncpu = &out->parsed.oncpu;
	} else {
		if (!out->parsed.text.is)
			json_free(o);
		growing_answer_free(out);
	}
	buf_free(&text);
}

static int answer_now(struct store_source *s, const struct source_state *now,
		      const struct request_ctx *rctx, struct growing_answer *out, struct buf *notes,
		      struct err *e)
{
	struct source_growing *g = s->growing;
	struct report_answer answer;
	int rc = read_on(g, rctx, e);

	/* After a cancelled request the next one reads on from the same place. */
	if (rc == ERR_INTERRUPTED)
		return rc;
	if (!rc) {
		g->fingerprint.size = now->size;
		out->input = source_input_quality(g->in, notes);
		if (out->input.growing) {
			answer_by_child(g, rctx, out);
			return 0;
		}
		rc = report_query_end(g->query, &answer, e);
	}
	s->growing = NULL;
	if (rc) {
		source_growing_free(g);
		return rc;
	}
	out->ended = g;
	out->answer = answer.chains;
	out->failures = answer.failures;
	out->oncpu = answer.oncpu;
	return 0;
}

int source_growing_answer(struct store_source *s, bool begin, const struct request_ctx *rctx,
			  struct growing_answer *out, struct buf *notes, struct err *e)
{
	struct source_state now;
	int rc;

	*out = (struct growing_answer){ 0 };
	pthread_mutex_lock(&s->lock);
	/* Under the lock: while this thread waited for it, others may have read further than a
	 * state taken before. */
	rc = source_state_init(s, &now, e);
	if (!rc && s->growing && !source_fingerprint_matches(&s->growing->fingerprint, s, &now)) {
		source_growing_free(s->growing);
		s->growing = NULL;
	}
	if (!rc && !s->growing && begin)
		rc = start_reading(s, &now, e);
	if (!rc && s->growing)
		rc = answer_now(s, &now, rctx, out, notes, e);
	pthread_mutex_unlock(&s->lock);
	source_state_free(&now);
	return rc;
}

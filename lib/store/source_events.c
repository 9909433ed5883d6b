/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers queries about single events, by reading the recording: no answer is cached.
 */
#include "lib/query/call_query.h"
#include "lib/filter/pick.h"
#include "lib/store/source_state.h"

/* ---- one call ---- */

int store_source_call(struct store_source *s, const struct request_ctx *rctx, const char *id,
		      store_call_fn *use, void *ctx, struct err *e)
{
	struct store_call answer = { .quality.notes = "" };
	struct world *w = world_new();
	struct event_stream *stream;
	struct query_call *call = NULL;
	struct buf notes = { 0 };
	struct stream_item item;
	struct input *in = NULL;
	bool started = false;
	int rc = w ? query_call_new(&call, w, id, e) : err_nomem(e);

	rc = rc ? rc : source_open_input(s, &in, w, NULL, e);
	stream = rc ? NULL : input_stream(in);
	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		if (!started && item.kind == STREAM_RECORD && item.record->kind == RECORD_SESSION) {
			started = true;
			answer.start_ns = item.record->u.SESSION.start_ns;
		}
		rc = query_call_item(call, &item, e);
		rc = rc ? rc : source_report_progress(rctx, in, "looking for the call", e);
	}
	if (rc == ERR_TOO_NEW)
		rc = 0;
	rc = rc ? rc : query_call_end(call, &answer.found, e);
	if (!rc) {
		answer.quality.input = source_input_quality(in, &notes);
		answer.quality.notes = buf_text(&notes);
		rc = use(ctx, &answer, e);
	}
	buf_free(&notes);
	input_free(in);
	query_call_free(call);
	world_free(w);
	return rc;
}

/* ---- item by item ---- */

static int read_items(struct input *in, struct store_items *from, struct late_names *late_names,
		      struct buf *notes, const struct request_ctx *rctx, store_item_fn *take,
		      void *ctx, struct err *e)
{
	struct filter_pick pick = { .select = from->select, .w = from->w, .told = late_names };
	struct event_stream *stream = input_stream(in);
	struct stream_item item;
	bool left;
	int rc = 0;

	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		if (item.kind == STREAM_RECORD &&
		    !late_names_record(late_names, from->w, item.record)) {
			rc = err_nomem(e);
			break;
		}
		rc = filter_pick_item(&pick, &item, &left, e);
		if (!rc && left)
			rc = take(ctx, from, &item, e);
		rc = rc ? rc : source_report_progress(rctx, in, "reading", e);
	}
	/* The quality of an input is unknown if reading stopped before its end. */
	if (!rc || rc == ERR_TOO_NEW)
		from->quality.input = source_input_quality(in, notes);
	from->quality.notes = buf_text(notes);
	rc = rc > 0 || rc == ERR_TOO_NEW ? 0 : rc;
	rc = rc ? rc : take(ctx, from, NULL, e);
	filter_pick_free(&pick);
	return rc > 0 ? 0 : rc;
}

int store_source_each_item(struct store_source *s, const struct request_ctx *rctx,
			   const struct filter_words *words, store_item_fn *take, void *ctx,
			   struct err *e)
{
	struct filter sel = { 0 };
	struct late_names late_names = { 0 };
	struct store_items from = { .w = world_new(), .late_names = &late_names, .select = &sel };
	struct buf notes = { 0 };
	struct input *in = NULL;
	int rc = from.w ? filter_words(&sel, words, e) : err_nomem(e);

	rc = rc ? rc : source_open_input(s, &in, from.w, &sel, e);
	rc = rc ? rc : read_items(in, &from, &late_names, &notes, rctx, take, ctx, e);
	buf_free(&notes);
	input_free(in);
	late_names_free(&late_names);
	filter_free(&sel);
	world_free(from.w);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics: the recording in Prometheus' text form, causes with it. What was counted is kept: of a
 * recording that grows only what is new is read, as long as it is the same recording; causes are
 * those that its other answers have, too.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/export/prometheus.h"
#include "lib/api/api_state.h"
#include "lib/store/source_state.h"

struct api_counter {
	struct export_ctx em;
	struct late_names told;
	struct meters meters;
	struct input *in;
	struct source_fingerprint fingerprint;
	bool may_grow;	/* the recording is still written */
	bool cancelled; /* the last request was cancelled… */
	bool ended;	/* …though all was read: causes were not found yet */
};

void api_counter_free(struct api_counter *t)
{
	if (!t)
		return;
	meters_free(&t->meters);
	input_free(t->in);
	late_names_free(&t->told);
	world_free(t->em.w);
	source_fingerprint_free(&t->fingerprint);
	free(t);
}

static int begin_counter(struct api_counter **out, struct store_source *s,
			 const struct source_state *now, struct err *e)
{
	struct api_counter *t = calloc(1, sizeof(*t));
	int rc = 0;

	*out = NULL;
	if (!t)
		return err_nomem(e);
	t->em = (struct export_ctx){ .w = world_new(), .told = &t->told };
	if (!t->em.w || !meters_begin(&t->meters, &t->em))
		rc = err_nomem(e);
	rc = rc ? rc : source_fingerprint_init(&t->fingerprint, s, now, e);
	rc = rc ? rc : source_open_input(s, &t->in, t->em.w, NULL, e);
	if (rc)
		api_counter_free(t);
	else
		*out = t;
	t = rc ? NULL : t;
	if (t)
		t->may_grow = input_follow(t->in);
	return rc;
}

static int read_on(struct api_counter *t, const struct request_ctx *rctx, struct err *e)
{
	struct event_stream *stream = input_stream(t->in);
	struct stream_item item;
	int rc = 0;

	while (!rc && !t->ended && (rc = stream->next(stream, &item, e)) > 0) {
		if (item.kind == STREAM_RECORD &&
		    !late_names_record(&t->told, t->em.w, item.record))
			return err_nomem(e);
		rc = meters_item(&t->meters, &item, e);
		rc = rc ? rc : source_report_progress(rctx, t->in, "counting", e);
	}
	t->may_grow = t->may_grow && input_report(t->in).growing;
	rc = rc == ERR_TOO_NEW ? 0 : rc;
	t->ended = !rc && !t->may_grow;
	return rc;
}

static int use_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	struct api *a = ctx;
	struct meters *m = &a->counter->meters;

	if (!meters_chains(m, &c->answer->list) || !meters_settle(m))
		return err_nomem(e);
	buf_reset(&a->metrics);
	prometheus_text(&a->metrics, m, false);
	return a->metrics.failed ? err_nomem(e) : 0;
}

static int update_counter(struct api_request *q, const struct source_state *now, struct err *e)
{
	const struct filter_words all = { 0 };
	struct api *a = q->api;
	int rc = 0;

	if (a->counter && ((!a->counter->may_grow && !a->counter->cancelled) ||
			   !source_fingerprint_matches(&a->counter->fingerprint, a->source, now))) {
		api_counter_free(a->counter);
		a->counter = NULL;
	}
	if (!a->counter)
		rc = begin_counter(&a->counter, a->source, now, e);
	rc = rc ? rc : read_on(a->counter, &q->rctx, e);
	if (!rc)
		a->counter->fingerprint.size = now->size;
	rc = rc ? rc : store_source_chains(a->source, &q->rctx, &all, false, use_chains, a, e);
	if (a->counter)
		a->counter->cancelled = rc == ERR_INTERRUPTED;
	/* After a cancelled request the next one continues with the same counter. Otherwise, a
	 * counter that failed or cannot grow is freed. */
	if (!a->counter || a->counter->cancelled)
		return rc;
	if (rc || !a->counter->may_grow) {
		api_counter_free(a->counter);
		a->counter = NULL;
	}
	return rc;
}

int api_metrics(struct api_request *q, struct err *e)
{
	struct api *a = q->api;
	struct source_state st;
	int rc = source_state_init(a->source, &st, e);

	pthread_mutex_lock(&a->lock);
	if (!rc && (!a->metrics_state || strcmp(a->metrics_state, buf_text(&st.state)) != 0)) {
		free(a->metrics_state);
		a->metrics_state = NULL;
		rc = update_counter(q, &st, e);
		if (!rc && !(a->metrics_state = strdup(buf_text(&st.state))))
			rc = err_nomem(e);
	}
	if (!rc)
		buf_add(&q->reply->body, a->metrics.p, a->metrics.n);
	pthread_mutex_unlock(&a->lock);
	source_state_free(&st);
	return rc;
}

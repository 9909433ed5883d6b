/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /metrics: the recording in Prometheus' text form, causes with it. Made once for each state of the files; of what grows
 * anew for each who asks, one at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/ask/analyzed.h"
#include "lib/emit/prometheus.h"
#include "lib/serve/api_state.h"
#include "lib/serve/source_state.h"

struct making {
	struct api_request *q;
	struct emit em;
	struct meters meters;
	struct analyzed *analyzed; /* NULL: nothing came yet */
};

static int count(void *to, const struct stream_item *item, struct err *e)
{
	return meters_item(to, item, e);
}

static int take(void *ctx, const struct serve_items *from, const struct stream_item *item,
		struct err *e)
{
	struct making *m = ctx;

	if (!m->analyzed) {
		m->em = (struct emit){ .w = from->w, .told = from->told };
		if (!meters_begin(&m->meters, &m->em) ||
		    !(m->analyzed = analyzed_new(from->w, count, &m->meters)))
			return err_nomem(e);
	}
	if (item)
		return analyzed_item(m->analyzed, item, e);
	if (analyzed_end(m->analyzed, e))
		return e->code;
	if (!meters_settle(&m->meters))
		return err_nomem(e);
	prometheus_text(&m->q->api->metrics, &m->meters, false);
	return m->q->api->metrics.failed ? err_nomem(e) : 0;
}

static int make(struct api_request *q, struct err *e)
{
	const struct select_words all = { 0 };
	struct making m = { .q = q };
	int rc;

	buf_reset(&q->api->metrics);
	rc = serve_source_each(q->api->source, &q->asker, &all, take, &m, e);
	if (m.analyzed)
		meters_free(&m.meters);
	analyzed_free(m.analyzed);
	return rc;
}

int api_metrics(struct api_request *q, struct err *e)
{
	struct serve_api *a = q->api;
	struct source_state st;
	int rc = source_state_of(a->source, &st, e);

	pthread_mutex_lock(&a->lock);
	if (!rc && (!a->metrics_state || strcmp(a->metrics_state, buf_text(&st.state)) != 0)) {
		free(a->metrics_state);
		a->metrics_state = NULL;
		rc = make(q, e);
		if (!rc && !(a->metrics_state = strdup(buf_text(&st.state))))
			rc = err_nomem(e);
	}
	if (!rc)
		buf_add(&q->reply->body, a->metrics.p, a->metrics.n);
	pthread_mutex_unlock(&a->lock);
	source_state_free(&st);
	return rc;
}

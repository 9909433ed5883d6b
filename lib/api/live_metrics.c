/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes metrics of a stream and serves them at /metrics. While the stream runs a push is tried
 * once: a pipe that is not read fills, and then its recorder loses events. The last one is retried.
 * /metrics serves the latest text, made at most once a second and when the stream pauses.
 */
#include "lib/api/live_metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/json.h"
#include "lib/base/jsoncheck.h"
#include "lib/export/otlp.h"
#include "lib/export/prometheus.h"
#include "lib/net/push.h"
#include "lib/net/server.h"

#define RENDER_NS    1000000000 /* how old what is asked for may be */
#define ANSWER_DEPTH 20		/* of a receiver's JSON: what is asked of it lies two deep */

struct live {
	struct export_ctx em;
	const struct live_metrics_options *opt;
	struct meters meters;
	struct net_client *client;
	struct net_server *server;
	bool missed, warned, stale; /* stale: the text is older than what was read */
	int64_t pushed_ns;	    /* event time of the last push */
	int64_t rendered_ns;	    /* CLOCK_MONOTONIC */
	pthread_mutex_t lock;
	struct buf text; /* under the lock */
};

static int64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *open_live(const struct export_ctx *em)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->em = *em;
	l->opt = em->opt.live;
	l->pushed_ns = INT64_MIN;
	pthread_mutex_init(&l->lock, NULL);
	if (meters_begin(&l->meters, &l->em))
		return l;
	meters_free(&l->meters);
	free(l);
	return NULL;
}

static void answer_request(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	struct live *l = ctx;

	if (strcmp(call->path, "/metrics") != 0) {
		reply->status = 404;
		buf_puts(&reply->body, "/metrics is here\n");
	} else if (net_call_allowed(call, "GET, HEAD", reply)) {
		reply->type = "text/plain; version=0.0.4; charset=utf-8";
		pthread_mutex_lock(&l->lock);
		buf_add(&reply->body, l->text.p, l->text.n);
		pthread_mutex_unlock(&l->lock);
	}
}

/* Starts the server before there are metrics, so that a scraper sees that it is up. */
static int begin_metrics(void *state, struct err *e)
{
	struct live *l = state;
	struct net_server_options listen = { .address = l->opt->listen };
	int rc = 0;

	if (l->opt->push_url)
		rc = net_client_new(&l->client, &l->opt->client, e);
	if (!rc && l->opt->listen)
		rc = net_server_start(&l->server, &listen, answer_request, l, e);
	if (!rc && l->server && l->opt->listening)
		l->opt->listening(net_server_address(l->server));
	return rc;
}

/* Parses OTLP's partialSuccess: a receiver may accept a part only (an error), or all with a
 * warning. Other bodies are ignored. */
static int on_accepted(void *ctx, struct bytes body, struct err *e)
{
	struct json answer = JSON_NONE, part, rejected, text;
	struct live *l = ctx;
	struct buf what = { 0 };
	double points;
	int rc = 0;

	if (!body.n || json_check(body, ANSWER_DEPTH, NULL) || json_parse(body, &answer, NULL))
		return 0;
	part = json_get(answer, "partialSuccess");
	rejected = json_get(part, "rejectedDataPoints");
	text = json_get(part, "errorMessage");
	points = json_type(rejected) == JSON_TYPE_STRING ? strtod(json_bytes(rejected).p, NULL)
							 : json_double(rejected, 0);
	buf_add(&what, json_bytes(text).p, json_bytes(text).n);
	if (points > 0) {
		rc = err_set(e, ERR_CANNOT, "%s: it did not take %.0f of the values%s%.200s",
			     l->opt->push_url, points, what.n ? ": " : "", buf_text(&what));
	} else if (what.n && !l->warned && l->opt->warned) {
		l->warned = true;
		l->opt->warned(buf_text(&what));
	}
	buf_free(&what);
	json_free(text);
	json_free(rejected);
	json_free(part);
	json_free(answer);
	return rc;
}

static int push_metrics(struct live *l, unsigned tries, struct err *e)
{
	const struct net_push_options how = { .tries = tries,
					      .interrupted = l->opt->interrupted,
					      .waiting = l->opt->waiting,
					      .taken = on_accepted,
					      .ctx = l };
	struct buf body = { 0 };
	int rc;

	if (!meters_settle(&l->meters))
		return err_nomem(e);
	otlp_metrics(&body, &l->meters);
	rc = body.failed ? err_nomem(e)
			 : net_push(l->client, &how, l->opt->push_url, "application/json",
				    buf_bytes(&body), e);
	buf_free(&body);
	return rc;
}

static int render_text(struct live *l, struct err *e)
{
	struct buf text = { 0 }, old;

	if (!meters_settle(&l->meters))
		return err_nomem(e);
	prometheus_text(&text, &l->meters, false);
	if (text.failed) {
		buf_free(&text);
		return err_nomem(e);
	}
	pthread_mutex_lock(&l->lock);
	old = l->text;
	l->text = text;
	pthread_mutex_unlock(&l->lock);
	buf_free(&old);
	l->rendered_ns = monotonic_ns();
	l->stale = false;
	return 0;
}

static bool push_due(struct live *l)
{
	if (!l->client || !l->opt->interval_ns || l->meters.newest_ns == INT64_MIN)
		return false;
	if (l->pushed_ns == INT64_MIN)
		l->pushed_ns = l->meters.newest_ns;
	return l->meters.newest_ns - l->pushed_ns >= (int64_t)l->opt->interval_ns;
}

static int add_item(void *state, const struct stream_item *it, struct err *e)
{
	struct live *l = state;
	int rc;

	rc = meters_item(&l->meters, it, e);
	if (!rc && push_due(l)) {
		l->pushed_ns = l->meters.newest_ns;
		rc = push_metrics(l, 1, e);
		if (rc == ERR_CANNOT) {
			if (!l->missed && l->opt->missed)
				l->opt->missed(e->text);
			l->missed = true;
			rc = 0;
		}
	}
	l->stale = true;
	if (!rc && l->server && monotonic_ns() - l->rendered_ns >= RENDER_NS)
		rc = render_text(l, e);
	return rc;
}

static int on_idle(void *state, struct err *e)
{
	struct live *l = state;

	return l->server && l->stale ? render_text(l, e) : 0;
}

static int finish_metrics(void *state, struct err *e)
{
	const struct timespec slice = { 0, 50000000 };
	struct live *l = state;
	int rc = l->server ? render_text(l, e) : 0;

	if (!rc && l->client)
		rc = push_metrics(l, 0, e);
	while (!rc && l->server && l->opt->stay && !l->opt->interrupted())
		nanosleep(&slice, NULL);
	return rc;
}

static void free_state(void *state)
{
	struct live *l = state;

	net_server_stop(l->server);
	net_client_free(l->client);
	meters_free(&l->meters);
	buf_free(&l->text);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

const struct export_format live_metrics = {
	.name = "metrics",
	.endings = "",
	.help = "metrics, pushed or asked for",
	.findings = true,
	.flows = true,
	.open = open_live,
	.begin = begin_metrics,
	.item = add_item,
	.idle = on_idle,
	.finish = finish_metrics,
	.free = free_state,
};

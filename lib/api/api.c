/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes HTTP requests of the dashboard's API to the function that answers each path. A browser may
 * show the answers: headers forbid it to load from other servers, to guess types and to show them
 * in a frame.
 */
#include "lib/api/api.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/api/api_state.h"

#define POLICY                                                                                  \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " \
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                 \
	"require-trusted-types-"                                                                \
	"for 'script'"

static const struct api_route routes[] = {
	{ "/api/v1/about", "GET, HEAD", api_about, NULL },
	{ "/api/v1/capabilities", "GET, HEAD", api_capabilities, NULL },
	{ "/api/v1/time", "GET, HEAD", api_time, NULL },
	{ "/api/v1/nodes", "GET, HEAD", api_nodes, NULL },
	{ "/api/v1/query", "POST", api_query, NULL },
	{ "/api/v1/stat", "GET, HEAD", api_stat_whole, NULL },
	{ "/api/v1/report", "GET, HEAD", api_report, NULL },
	{ "/api/v1/call", "GET, HEAD", api_call, NULL },
	{ "/api/v1/recording", "GET", api_recording, "application/octet-stream" },
	{ "/api/v1/live", "GET", api_live, "text/event-stream" },
	{ "/metrics", "GET, HEAD", api_metrics, "text/plain; version=0.0.4; charset=utf-8" },
	{ 0 },
};

static const struct api_route *find_route(const struct api_route *r, const char *path)
{
	while (r->path && strcmp(path, r->path) != 0)
		r++;
	return r->path ? r : NULL;
}

void api_set_machine(struct api *a, const uint8_t uuid[16], uint64_t boot)
{
	store_machine_text(a->machine, uuid, boot);
}

struct api *api_new(struct store_source *source, const char *version, const struct api_route *more)
{
	struct api *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->source = source;
	a->version = version;
	a->more = more;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void api_free(struct api *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a->metrics_state);
	buf_free(&a->metrics);
	api_counter_free(a->counter);
	free(a);
}

static bool is_stopped(const struct request_ctx *rctx)
{
	return net_call_gone(((const struct api_request *)rctx)->call);
}

static unsigned status_of(int rc)
{
	switch (rc) {
	case ERR_USAGE:
		return 400;
	case ERR_CANNOT:
		return 404;
	case ERR_LIMIT:
	case ERR_INTERRUPTED:
	case ERR_SYS:
		return 503;
	default:
		return 500;
	}
}

static void reply_error(struct net_reply *reply, unsigned status, const char *text)
{
	struct jsonw j;

	buf_reset(&reply->body);
	reply->status = status;
	reply->type = "application/json";
	jsonw_init(&j, &reply->body, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "error", text);
	jsonw_object_end(&j);
}

static void answer_endpoint(struct api *a, const struct api_route *p, const struct net_call *call,
			    struct net_reply *reply)
{
	struct api_request q = {
		.rctx = { .should_stop = is_stopped }, .api = a, .call = call, .reply = reply
	};
	const char *last = net_call_query(call, "last");
	struct err e = { 0 };
	int rc = 0;

	if (!net_call_allowed(call, p->methods, reply)) {
		if (reply->status == 405)
			reply_error(reply, 405, "this path does not take that method");
		return;
	}
	reply->type = p->type ? p->type : "application/json";
	net_reply_header(reply, "Cache-Control", "no-store");
	q.words.since = net_call_query(call, "since");
	q.words.until = net_call_query(call, "until");
	/* An empty one is what forms send when nothing was chosen. */
	q.words.since = q.words.since && *q.words.since ? q.words.since : NULL;
	q.words.until = q.words.until && *q.words.until ? q.words.until : NULL;
	q.words.last_given = last && *last;
	if (q.words.last_given)
		rc = duration_parse(bytes_of(last), &q.words.last_ns, &e);
	jsonw_init(&q.j, &reply->body, false);
	rc = rc ? rc : p->answer(&q, &e);
	if (!rc && reply->body.failed)
		rc = err_nomem(&e);
	if (rc && !q.streamed)
		reply_error(reply, status_of(rc), e.text[0] ? e.text : "out of memory");
}

static void answer_file(const struct page_file *f, const struct net_call *call,
			struct net_reply *reply)
{
	if (!net_call_allowed(call, "GET, HEAD", reply))
		return;
	reply->type = f->type;
	net_reply_header(reply, "Cache-Control", "no-cache");
	buf_add(&reply->body, f->bytes, f->n);
}

void api_answer(void *ctx, const struct net_call *call, struct net_reply *reply)
{
	const struct page_file *f = page_find_file(call->path);
	const struct api_route *r = find_route(routes, call->path);

	net_reply_header(reply, "Content-Security-Policy", POLICY);
	net_reply_header(reply, "X-Frame-Options", "DENY");
	net_reply_header(reply, "Referrer-Policy", "no-referrer");
	net_reply_header(reply, "Cross-Origin-Resource-Policy", "same-origin");
	if (!r)
		r = find_route(((const struct api *)ctx)->more, call->path);
	if (f)
		answer_file(f, call, reply);
	else if (r)
		answer_endpoint(ctx, r, call, reply);
	else
		reply_error(
			reply, 404,
			"there is nothing of that name; the page is at /, the data under /api/v1/");
}

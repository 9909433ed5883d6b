/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer begins as a stream only when there is something to say before its end; until then it
 * may still become plain JSON with a status of its own. Handlers run in several threads, each with
 * a JSON of its own.
 */
#include "lib/mcp/mcp_http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/mcp/mcp.h"
#include "lib/mcp/mcp_internal.h"

#define JSON_TYPE   "application/json"
#define EVENTS_TYPE "text/event-stream"

struct mcp_http {
	const struct mcp_catalog *catalog;
	uint64_t time_max_ns;
	struct mcp_sessions *sessions;
};

/* One POST. */
struct post {
	const struct net_call *call;
	struct net_reply *reply;
	pthread_mutex_t lock; /* of what follows */
	bool takes_events, streams;
	atomic_bool closed; /* the client takes no more */
};

int mcp_http_new(struct mcp_http **out, const struct mcp_catalog *catalog, uint64_t time_max_ns,
		 struct err *e)
{
	struct mcp_http *h = calloc(1, sizeof(*h));

	*out = NULL;
	if (!h)
		return err_nomem(e);
	h->catalog = catalog;
	h->time_max_ns = time_max_ns;
	h->sessions = mcp_sessions_new();
	if (!h->sessions) {
		free(h);
		return err_nomem(e);
	}
	*out = h;
	return 0;
}

void mcp_http_free(struct mcp_http *h)
{
	if (h)
		mcp_sessions_free(h->sessions);
	free(h);
}

/* ---- a stream of events ---- */

static void begin_events(struct post *p)
{
	struct err e = { 0 };

	p->reply->type = EVENTS_TYPE;
	net_reply_header(p->reply, "Cache-Control", "no-cache");
	net_reply_header(p->reply, "X-Accel-Buffering", "no");
	p->streams = !net_stream_begin(p->call, p->reply, &e);
	p->takes_events = p->streams; /* too many stream already: this one is answered at its end */
}

static void send_event(void *ctx, struct bytes message)
{
	struct post *p = ctx;
	struct buf event = { 0 };
	struct err e = { 0 };

	pthread_mutex_lock(&p->lock);
	if (p->takes_events && !p->streams)
		begin_events(p);
	buf_puts(&event, "event: message\ndata: ");
	buf_add(&event, message.p, message.n); /* JSON in one line: no newline is in it */
	buf_puts(&event, "\n\n");
	if (p->streams && !p->closed && !event.failed)
		p->closed = net_stream_write(p->call, event.p, event.n, &e) != 0;
	pthread_mutex_unlock(&p->lock);
	buf_free(&event);
}

static bool is_gone(void *ctx)
{
	const struct post *p = ctx;

	return p->closed || net_call_gone(p->call);
}

/* ---- a plain answer ---- */

static unsigned status_of(const struct mcp_outcome *o)
{
	if (!o->code || !o->refused)
		return 200;
	if (o->code == MCP_NO_METHOD)
		return o->stateless ? 404 : 200;
	return 400;
}

static void reply_error(struct net_reply *reply, unsigned status, const char *text)
{
	struct mcp_fault f = { 0 };

	mcp_fault_set(&f, MCP_INVALID_REQUEST, "%s", text);
	mcp_write_fault(&reply->body, JSON_NONE, &f);
	reply->status = status;
	reply->type = JSON_TYPE;
}

static bool is_json(const char *type)
{
	size_t n = strlen(JSON_TYPE);

	return type && !strncasecmp(type, JSON_TYPE, n) && strchr("; \t", type[n]);
}

/* Sends what has been answered; answer empty: a notification, or one that was cancelled. */
static void reply_answer(struct post *p, const struct mcp_outcome *o, struct buf *answer)
{
	if (p->streams) {
		if (answer->n)
			send_event(p, buf_bytes(answer));
		buf_free(answer);
		return;
	}
	p->reply->status = answer->n ? status_of(o) : 202;
	p->reply->type = JSON_TYPE;
	p->reply->body = *answer;
}

static void put_session(struct mcp_http *h, struct mcp_session *s, struct net_reply *reply)
{
	char id[MCP_SESSION_ID_SIZE];
	struct err e = { 0 };

	if (!mcp_sessions_add(h->sessions, s, id, &e))
		net_reply_header(reply, "Mcp-Session-Id", id);
}

/* What a request of a stateless revision has to say in its headers, too. */
static void check_headers(const struct mcp_transport *transport, const struct net_call *call,
			  struct mcp_session *s, const struct mcp_message *m, struct mcp_fault *f)
{
	const struct mcp_revision *r;

	if (m->kind == MCP_REQUEST &&
	    !mcp_revision_of_message(m, transport->version, mcp_session_revision(s), &r, f) &&
	    r->stateless)
		mcp_headers_check(call, m, f);
}

static void answer_message(struct mcp_http *h, struct post *p,
			   const struct mcp_transport *transport, struct mcp_session *s,
			   struct json v)
{
	struct mcp_fault f = { 0 };
	struct mcp_outcome outcome;
	struct mcp_message m = { 0 };
	struct buf answer = { 0 };

	if (json_type(v) == JSON_TYPE_ARRAY) {
		outcome = mcp_answer_batch(h->catalog, s, transport, v, &answer);
	} else {
		if (!mcp_message_read(&m, v, &f))
			check_headers(transport, p->call, s, &m, &f);
		outcome = mcp_answer(h->catalog, s, transport, &m, &f, NULL, &answer);
		if (!answer.n && m.kind == MCP_REQUEST && !p->streams) {
			mcp_fault_set(&f, MCP_STOPPED, "cancelled");
			mcp_write_fault(&answer, m.id, &f);
		}
	}
	if (outcome.negotiated && !net_call_header(p->call, "Mcp-Session-Id"))
		put_session(h, s, p->reply);
	reply_answer(p, &outcome, &answer);
	mcp_message_free(&m);
	mcp_fault_free(&f);
}

static void handle_post(struct mcp_http *h, const struct net_call *call, struct net_reply *reply)
{
	const char *accept = net_call_header(call, "Accept");
	struct bytes id = mcp_get_header(call, "Mcp-Session-Id");
	struct post p = { .call = call, .reply = reply };
	struct mcp_transport transport = { .send = send_event,
					   .gone = is_gone,
					   .ctx = &p,
					   .time_max_ns = h->time_max_ns,
					   .version =
						   mcp_get_header(call, "MCP-Protocol-Version") };
	struct mcp_session *s;
	struct mcp_fault f = { 0 };
	struct json v = JSON_NONE;

	if (!is_json(net_call_header(call, "Content-Type"))) {
		reply_error(reply, 415, "Content-Type has to be application/json");
		return;
	}
	s = id.p ? mcp_sessions_find(h->sessions, id) : mcp_session_new();
	if (!s) {
		reply_error(reply, id.p ? 404 : 500,
			    id.p ? "no such session: initialize again" : "no memory");
		return;
	}
	p.takes_events = accept && strcasestr(accept, EVENTS_TYPE);
	pthread_mutex_init(&p.lock, NULL);
	if (mcp_parse(call->body, &v, &f)) {
		mcp_write_fault(&reply->body, JSON_NONE, &f);
		reply->status = 400;
		reply->type = JSON_TYPE;
	} else {
		answer_message(h, &p, &transport, s, v);
	}
	json_free(v);
	mcp_fault_free(&f);
	pthread_mutex_destroy(&p.lock);
	mcp_session_unref(s);
}

static void end_session(struct mcp_http *h, const struct net_call *call, struct net_reply *reply)
{
	struct bytes id = mcp_get_header(call, "Mcp-Session-Id");

	if (!id.p)
		reply_error(reply, 400, "the header Mcp-Session-Id says which session ends");
	else if (!mcp_sessions_end(h->sessions, id))
		reply_error(reply, 404, "no such session");
	else
		reply->status = 204;
}

void mcp_http_answer(struct mcp_http *h, const struct net_call *call, struct net_reply *reply)
{
	if (!net_call_allowed(call, "POST, DELETE", reply))
		return;
	if (!strcmp(call->method, "POST"))
		handle_post(h, call, reply);
	else
		end_session(h, call, reply);
}

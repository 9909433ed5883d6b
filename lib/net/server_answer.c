/* SPDX-License-Identifier: Apache-2.0 */
/* Sends answers to libmicrohttpd: complete ones, and those streamed in pieces. */
#include "lib/net/server_internal.h"

#define SLOWEST	     4096 /* bytes a second in which an answer has to be taken at least */
#define STREAM_PIECE 16384

struct net_watched *net_answer_watched(struct MHD_Connection *m)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(m, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

static ssize_t on_read(void *cls, uint64_t pos, char *to, size_t max)
{
	int64_t n = net_request_take(cls, to, max);

	(void)pos;
	return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static struct MHD_Response *response_of(struct net_request *q, bool streams, struct net_reply *r)
{
	struct MHD_Response *a;

	if (streams)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, on_read, q,
							 NULL);
	if (r->body.failed || r->headers.failed) {
		buf_free(&r->body);
		buf_free(&r->headers);
		r->status = 500;
	}
	/* libmicrohttpd frees the body with free(), as buf_free would. */
	a = MHD_create_response_from_buffer(r->body.n, r->body.n ? r->body.p : "",
					    r->body.n ? MHD_RESPMEM_MUST_FREE
						      : MHD_RESPMEM_PERSISTENT);
	if (a && r->body.n)
		r->body = (struct buf){ 0 };
	return a;
}

static void add_headers(struct MHD_Response *a, const struct net_reply *r)
{
	const char *p = r->headers.p, *end = p ? p + r->headers.n : NULL;

	if (r->status != 204 && r->status != 304)
		MHD_add_response_header(a, "Content-Type",
					r->type ? r->type : "text/plain; charset=utf-8");
	MHD_add_response_header(a, "X-Content-Type-Options", "nosniff");
	while (p && p < end) {
		const char *value = p + strlen(p) + 1;

		MHD_add_response_header(a, p, value);
		p = value + strlen(value) + 1;
	}
}

/* libmicrohttpd has a lock in each response, which it holds while it takes pieces from us: ours
 * must not be held while we call it. */
enum MHD_Result net_answer_send(struct net_server *s, struct MHD_Connection *m,
				struct net_request *q)
{
	struct MHD_Response *a;
	enum MHD_Result done = MHD_NO;
	struct net_reply r;
	bool streams;
	size_t n;

	pthread_mutex_lock(&q->lock);
	streams = q->state == NET_STREAMING;
	r = q->reply;
	q->reply = (struct net_reply){ 0 };
	pthread_mutex_unlock(&q->lock);
	n = r.body.n;
	a = response_of(q, streams, &r);
	if (a) {
		add_headers(a, &r);
		done = MHD_queue_response(m, r.status, a);
		MHD_destroy_response(a);
		net_watch_until(s->watch, net_answer_watched(m),
				streams ? INT64_MAX
					: net_now() + s->all.timeout_ns +
						  (int64_t)(n / SLOWEST) * INT64_C(1000000000));
	}
	buf_free(&r.body);
	buf_free(&r.headers);
	return done;
}

enum MHD_Result net_answer_refuse(struct net_server *s, struct MHD_Connection *m,
				  struct net_request *q, unsigned status, const char *why)
{
	struct net_reply *r = &q->reply;

	*r = (struct net_reply){ .status = status, .type = "application/json" };
	buf_printf(&r->body, "{\"error\":\"%s\"}\n", why);
	if (status == 401)
		net_reply_header(r, "WWW-Authenticate", "Bearer");
	if (status == 503)
		net_reply_header(r, "Retry-After", "1");
	return net_answer_send(s, m, q);
}

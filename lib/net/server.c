/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place that knows libmicrohttpd, whose one thread reads requests and writes answers. A request that is whole lies suspended
 * until a thread of the pool has answered it, or has begun to.
 */
#include "lib/net/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/net/cert_tls.h"
#include "lib/net/guard.h"
#include "lib/net/pool.h"
#include "lib/net/request.h"
#include "lib/net/watch.h"

#define SLOWEST	     4096    /* bytes a second in which an answer has to be taken at least */
#define REFUSED_MAX  1048576 /* of a refused request's body that is read before it is told so */
#define STOP_NS	     INT64_C(3000000000) /* for answers that stand to be taken when the server stops */
#define HEADERS_MAX  32768		 /* bytes of a request's line and headers; more: 431 */
#define STREAM_PIECE 16384

struct net_server {
	struct net_server_options opt;
	struct net_requests all;
	struct MHD_Daemon *daemon;
	struct net_pool *pool;
	struct net_watch *watch;
	net_handler *handler;
	void *ctx;
	char address[64];
	pthread_mutex_t lock;
	unsigned answering; /* requests that are whole and not over; under the lock */
};

/* What a request is while it comes in, and until it is over. */
struct coming {
	struct net_request *q;
	const char *why; /* it is refused, or NULL */
	unsigned status;
	size_t dropped; /* bytes of a refused one's body */
	bool counted;
};

static struct net_watched *watched(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

static int socket_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? i->connect_fd : -1;
}

static void sleep_request(struct net_request *q)
{
	MHD_suspend_connection(q->connection);
}

static void resume_request(struct net_request *q)
{
	MHD_resume_connection(q->connection);
}

/* ---- what a request says ---- */

static bool valid(const char *text)
{
	size_t n = strlen(text), k;

	for (; n; text += k, n -= k)
		if (!(k = utf8_length((const unsigned char *)text, n)))
			return false;
	return true;
}

static enum MHD_Result keep_field(void *cls, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct coming *c = cls;
	bool query = kind == MHD_GET_ARGUMENT_KIND;

	if (query && (!valid(name) || (value && !valid(value)))) {
		c->status = 400;
		c->why = "the query is not UTF-8";
	}
	return net_request_field(c->q, query, name, value) ? MHD_YES : MHD_NO;
}

static void numeric(const struct sockaddr *a, socklen_t n, char *out, socklen_t size)
{
	if (getnameinfo(a, n, out, size, NULL, 0, NI_NUMERICHOST))
		*out = 0;
}

static const char *single(const struct net_call *call, const char *name)
{
	return net_call_header(call, name);
}

/* Whether it is let in. */
static void guard(struct net_server *s, struct coming *c)
{
	const struct net_request *q = c->q;
	struct net_call call = { .request = c->q };
	struct net_asking a = { .path = q->path,
				.host = single(&call, "Host"),
				.origin = single(&call, "Origin"),
				.site = single(&call, "Sec-Fetch-Site"),
				.mode = single(&call, "Sec-Fetch-Mode"),
				.authorization = single(&call, "Authorization") };
	struct sockaddr_storage here;
	socklen_t n = sizeof(here);
	char address[64] = "";

	if (!s->opt.guard || c->why)
		return;
	for (size_t i = 0; i < q->headers.n; i++)
		a.nhosts += !strcasecmp(q->headers.v[i].name, "Host");
	if (getsockname(q->fd, (struct sockaddr *)&here, &n) == 0)
		numeric((struct sockaddr *)&here, n, address, sizeof(address));
	a.here = address;
	c->status = net_guard_ask(s->opt.guard, &a, &c->why);
}

static void too_long(struct net_server *s, struct coming *c, uint64_t length)
{
	if (!c->why && length > s->opt.body_max) {
		c->status = 413;
		c->why = "the request's body is too long";
	}
}

static struct coming *begin(struct net_server *s, struct MHD_Connection *m, const char *url,
			    const char *method)
{
	const union MHD_ConnectionInfo *peer =
		MHD_get_connection_info(m, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct coming *c = calloc(1, sizeof(*c));
	struct net_call call;
	const char *length;

	if (!c || !(c->q = net_request_new(&s->all, socket_of(m), method, url))) {
		free(c);
		return NULL;
	}
	c->q->connection = m;
	c->q->suspend = sleep_request;
	c->q->resume = resume_request;
	if (peer && peer->client_addr)
		numeric(peer->client_addr,
			peer->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								 : sizeof(struct sockaddr_in),
			c->q->peer, sizeof(c->q->peer));
	MHD_get_connection_values(m, MHD_HEADER_KIND, keep_field, c);
	MHD_get_connection_values(m, MHD_GET_ARGUMENT_KIND, keep_field, c);
	if (!valid(url)) {
		c->status = 400;
		c->why = "the path is not UTF-8";
	}
	guard(s, c);
	call.request = c->q;
	length = single(&call, "Content-Length");
	too_long(s, c, length ? strtoull(length, NULL, 10) : 0);
	return c;
}

/* ---- answers ---- */

static ssize_t take(void *cls, uint64_t pos, char *to, size_t max)
{
	int64_t n = net_request_take(cls, to, max);

	(void)pos;
	return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static struct MHD_Response *response_of(struct net_request *q)
{
	struct net_reply *r = &q->reply;
	struct MHD_Response *a;

	if (q->state == NET_STREAMING)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, take, q,
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
	const char *p = r->headers.p, *end = p + r->headers.n;

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

/* Under the request's lock, but for what no handler has seen. */
static enum MHD_Result send_answer(struct net_server *s, struct MHD_Connection *m,
				   struct net_request *q)
{
	size_t n = q->reply.body.n;
	struct MHD_Response *a = response_of(q);
	enum MHD_Result done;

	if (!a)
		return MHD_NO;
	add_headers(a, &q->reply);
	done = MHD_queue_response(m, q->reply.status, a);
	MHD_destroy_response(a);
	net_watch_until(s->watch, watched(m),
			q->state == NET_STREAMING
				? INT64_MAX
				: net_now() + s->all.timeout_ns +
					  (int64_t)(n / SLOWEST) * INT64_C(1000000000));
	return done;
}

/* Answered by ourselves, as the dashboard's API says what is wrong. */
static enum MHD_Result refuse(struct net_server *s, struct MHD_Connection *m, struct net_request *q,
			      unsigned status, const char *why)
{
	struct net_reply *r = &q->reply;

	*r = (struct net_reply){ .status = status, .type = "application/json" };
	buf_printf(&r->body, "{\"error\":\"%s\"}\n", why);
	if (status == 401)
		net_reply_header(r, "WWW-Authenticate", "Bearer");
	if (status == 503)
		net_reply_header(r, "Retry-After", "1");
	return send_answer(s, m, q);
}

static void handle(void *ctx, struct net_job *job)
{
	struct net_request *q = (struct net_request *)job;
	struct net_server *s = ctx;
	struct net_call call = { .method = q->method,
				 .path = q->path,
				 .head = q->head,
				 .body = buf_bytes(&q->body),
				 .peer = q->peer,
				 .request = q };

	q->reply.status = 200;
	if (atomic_load(&s->all.stopping)) {
		q->reply.status = 503;
		buf_puts(&q->reply.body, "the server is being stopped\n");
	} else {
		s->handler(s->ctx, &call, &q->reply);
	}
	net_request_done(q);
}

/* It is whole: somebody else answers. */
static enum MHD_Result ask(struct net_server *s, struct MHD_Connection *m, struct coming *c)
{
	struct net_request *q = c->q;

	c->counted = true;
	pthread_mutex_lock(&s->lock);
	s->answering++;
	pthread_mutex_unlock(&s->lock);
	net_watch_until(s->watch, watched(m), INT64_MAX);
	q->state = NET_ASKED;
	q->refs++;
	MHD_suspend_connection(m);
	if (net_pool_add(s->pool, &q->job))
		return MHD_YES;
	q->refs--;
	q->reply.status = 503;
	q->state = NET_ANSWERED;
	MHD_resume_connection(m);
	return MHD_YES;
}

static enum MHD_Result access_handler(void *cls, struct MHD_Connection *m, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **state)
{
	struct net_server *s = cls;
	struct coming *c = *state;
	enum MHD_Result done;

	(void)version;
	if (!c) {
		*state = c = begin(s, m, url, method);
		if (!c)
			return MHD_NO;
		/* What is refused anyway is not asked for. */
		if (c->why && net_call_header(&(struct net_call){ .request = c->q }, "Expect"))
			return refuse(s, m, c->q, c->status, c->why);
		return MHD_YES;
	}
	if (*upload_size) {
		too_long(s, c, c->q->body.n + *upload_size);
		if (!c->why)
			buf_add(&c->q->body, upload, *upload_size);
		else
			c->dropped += *upload_size;
		*upload_size = 0;
		return c->dropped > REFUSED_MAX + 2 * s->opt.body_max ? MHD_NO : MHD_YES;
	}
	if (c->why)
		return refuse(s, m, c->q, c->status, c->why);
	if (c->q->body.failed)
		return refuse(s, m, c->q, 500, "out of memory");
	if (c->q->state == NET_READING)
		return ask(s, m, c);
	pthread_mutex_lock(&c->q->lock);
	done = send_answer(s, m, c->q);
	pthread_mutex_unlock(&c->q->lock);
	return done;
}

static void completed(void *cls, struct MHD_Connection *m, void **state,
		      enum MHD_RequestTerminationCode code)
{
	struct net_server *s = cls;
	struct coming *c = *state;

	(void)code;
	net_watch_until(s->watch, watched(m), net_now() + s->all.timeout_ns);
	if (!c)
		return;
	if (c->counted) {
		pthread_mutex_lock(&s->lock);
		s->answering--;
		pthread_mutex_unlock(&s->lock);
	}
	net_request_gone(c->q);
	free(c);
	*state = NULL;
}

static void connection(void *cls, struct MHD_Connection *m, void **socket_context,
		       enum MHD_ConnectionNotificationCode code)
{
	struct net_server *s = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = net_watch_add(s->watch, socket_of(m));
		net_watch_until(s->watch, *socket_context, net_now() + s->all.timeout_ns);
	} else {
		net_watch_end(s->watch, *socket_context);
		*socket_context = NULL;
	}
}

/* ---- where ---- */

/* "host:port", ":port" or "port" in two parts; host is loopback when it is not said. */
static int split(const char *address, char *host, size_t size, const char **port, struct err *e)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	*port = colon ? colon + 1 : address;
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n >= size || !**port || strspn(*port, "0123456789") != strlen(*port) ||
	    strlen(*port) > 5)
		return err_set(e, ERR_USAGE, "'%s' is no address to listen on: HOST:PORT is wanted",
			       address);
	snprintf(host, size, "%.*s", (int)n, address);
	if (!n)
		snprintf(host, size, "127.0.0.1");
	return 0;
}

static int bound_address(struct net_server *s, int family, struct err *e)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	struct sockaddr_storage at;
	socklen_t n = sizeof(at);
	char host[INET6_ADDRSTRLEN], port[8];

	if (!info || getsockname(info->listen_fd, (struct sockaddr *)&at, &n) < 0 ||
	    getnameinfo((struct sockaddr *)&at, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return err_sys(e, "cannot listen on %s", s->opt.address);
	snprintf(s->address, sizeof(s->address), family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		 port);
	return 0;
}

/* What libmicrohttpd would print about the connections of others is nobody's business. */
static void quiet(void *cls, const char *fmt, va_list ap)
{
	(void)cls;
	(void)fmt;
	(void)ap;
}

static int start(struct net_server *s, const struct addrinfo *at, struct err *e)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME |
			 MHD_USE_ERROR_LOG | (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)NET_TLS_PRIORITIES },
		{ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)net_cert_callback() },
		{ MHD_OPTION_END, 0, NULL }
	};

	if (s->opt.cert)
		flags |= MHD_USE_TLS;
	else
		tls[0].option = MHD_OPTION_END;
	errno = 0;
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, access_handler, s,
				     MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL, MHD_OPTION_ARRAY, tls,
				     MHD_OPTION_SOCK_ADDR, at->ai_addr, MHD_OPTION_NOTIFY_COMPLETED,
				     completed, s, MHD_OPTION_NOTIFY_CONNECTION, connection, s,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
				     MHD_OPTION_CONNECTION_LIMIT, s->opt.connections_max,
				     MHD_OPTION_CONNECTION_TIMEOUT, s->opt.timeout_s,
				     MHD_OPTION_STRICT_FOR_CLIENT, s->opt.guard ? 1 : 0,
				     MHD_OPTION_END);
	if (!s->daemon)
		return errno ? err_sys(e, "cannot listen on %s", s->opt.address)
			     : err_set(e, ERR_CANNOT, "cannot listen on %s", s->opt.address);
	return bound_address(s, at->ai_family, e);
}

static int prepare(struct net_server *s, const struct net_server_options *opt, struct err *e)
{
	int rc;

	s->opt = *opt;
	s->opt.connections_max = opt->connections_max ? opt->connections_max : 64;
	s->opt.timeout_s = opt->timeout_s ? opt->timeout_s : 30;
	s->opt.threads_max = opt->threads_max ? opt->threads_max : 1;
	s->all.timeout_ns = s->opt.timeout_s * INT64_C(1000000000);
	s->all.streams_max = opt->streams_max	      ? opt->streams_max
			     : s->opt.threads_max > 1 ? s->opt.threads_max - 1
						      : 1;
	if (opt->cert && MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK) != MHD_YES)
		return err_set(e, ERR_CANNOT, "this machine's libmicrohttpd has no TLS");
	rc = opt->cert ? net_cert_show(opt->cert, e) : 0;
	rc = rc ? rc : net_watch_new(&s->watch, e);
	return rc ? rc : net_pool_new(&s->pool, s->opt.threads_max, handle, s, e);
}

int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e)
{
	struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
				   .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL, *at;
	struct net_server *s;
	const char *port;
	char host[256];
	int rc;

	*out = NULL;
	rc = split(opt->address, host, sizeof(host), &port, e);
	if (rc)
		return rc;
	rc = getaddrinfo(host, port, &wanted, &found);
	if (rc)
		return err_set(e, ERR_CANNOT, "cannot listen on %s: %s", opt->address,
			       gai_strerror(rc));
	s = calloc(1, sizeof(*s));
	rc = s ? 0 : err_nomem(e);
	if (!rc) {
		pthread_mutex_init(&s->lock, NULL);
		s->handler = handler;
		s->ctx = ctx;
		rc = prepare(s, opt, e);
	}
	/* A name may have both; the older family is what people type. */
	for (at = found; at->ai_next && at->ai_family != AF_INET;)
		at = at->ai_next;
	if (!rc)
		rc = start(s, at, e);
	freeaddrinfo(found);
	if (rc)
		net_server_stop(s);
	else
		*out = s;
	return rc;
}

const char *net_server_address(const struct net_server *s)
{
	return s->address;
}

/* Answers that stand are sent. */
static void let_finish(struct net_server *s)
{
	const struct timespec slice = { 0, 5000000 };
	int64_t until = net_now() + STOP_NS;
	unsigned left = 1;

	while (left && net_now() < until) {
		pthread_mutex_lock(&s->lock);
		left = s->answering;
		pthread_mutex_unlock(&s->lock);
		if (left)
			nanosleep(&slice, NULL);
	}
}

void net_server_stop(struct net_server *s)
{
	if (!s)
		return;
	atomic_store(&s->all.stopping, true);
	if (s->daemon) {
		int fd = MHD_quiesce_daemon(s->daemon);

		net_pool_close(s->pool);
		let_finish(s);
		MHD_stop_daemon(s->daemon);
		if (fd >= 0)
			close(fd);
	}
	if (s->opt.cert)
		net_cert_hide(s->opt.cert);
	net_pool_free(s->pool);
	net_watch_free(s->watch);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

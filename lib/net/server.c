/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, runs and stops an HTTP server on libmicrohttpd. */
#include "lib/net/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/cert_tls.h"
#include "lib/net/server_internal.h"
#include "lib/base/err.h"

/* Opens the socket that a server listens on. Ports must be numbers: names of services differ
 * between machines. They are checked here, since getaddrinfo truncates one that is too large. */

struct addrinfo;

/* Splits "host:port", ":port" or "port" in two parts; without a host it is loopback. */
static int split_address(const char *address, char *host, size_t size, const char **port,
			 struct err *e)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	*port = colon ? colon + 1 : address;
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n >= size || !**port || strspn(*port, "0123456789") != strlen(*port) ||
	    strlen(*port) > 5 || strtoul(*port, NULL, 10) > 65535)
		return err_set(e, ERR_USAGE, "'%s' is no address to listen on: HOST:PORT is wanted",
			       address);
	snprintf(host, size, "%.*s", (int)n, address);
	if (!n)
		snprintf(host, size, "127.0.0.1");
	return 0;
}

/* "host:port", ":port" and "port", which are on loopback. *all is the caller's: freeaddrinfo; *at
 * is one of it. ERR_USAGE: it is no address; ERR_CANNOT: none of this machine. */
static int net_listen_find(const char *address, struct addrinfo **all, const struct addrinfo **at,
			   struct err *e)
{
	const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
					 .ai_socktype = SOCK_STREAM };
	const char *port;
	char host[256];
	int rc = split_address(address, host, sizeof(host), &port, e);

	*all = NULL;
	*at = NULL;
	if (rc)
		return rc;
	rc = getaddrinfo(host, port, &wanted, all);
	if (rc)
		return err_set(e, ERR_CANNOT, "cannot listen on %s: %s", address, gai_strerror(rc));
	/* A name may have both; the older family is what people type. */
	for (*at = *all; (*at)->ai_next && (*at)->ai_family != AF_INET;)
		*at = (*at)->ai_next;
	return 0;
}

/* "127.0.0.1:9464", of a socket that listens; address: as it was asked for. */
static int net_listen_text(int fd, const char *address, char *out, size_t size, struct err *e)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 ||
	    getnameinfo((struct sockaddr *)&at, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return err_sys(e, "cannot listen on %s", address);
	snprintf(out, size, at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return 0;
}

/* A socket that listens there, the caller's; address: as it was asked for. Our own call, since
 * libmicrohttpd 1.0 does not say why it cannot. ERR_SYS: it is taken, say. */
static int net_listen_open(const struct addrinfo *at, const char *address, int *fd, struct err *e)
{
	const int on = 1;
	int rc;

	*fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return err_sys(e, "cannot listen on %s", address);
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ai_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, SOMAXCONN) == 0)
		return 0;
	rc = err_sys(e, "cannot listen on %s", address);
	close(*fd);
	return rc;
}

#define REFUSED_MAX 1048576 /* bytes of a refused request's body that are read before the answer */
#define STOP_NS	    INT64_C(3000000000) /* to send finished answers when the server stops */
#define HEADERS_MAX 32768		/* bytes of a request's line and headers; more: 431 */

static void handle_request(void *ctx, struct net_job *job)
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

/* The request is complete: a thread of the pool answers it. */
static enum MHD_Result queue_request(struct net_server *s, struct MHD_Connection *m,
				     struct net_coming *c)
{
	struct net_request *q = c->q;

	c->counted = true;
	pthread_mutex_lock(&s->lock);
	s->answering++;
	pthread_mutex_unlock(&s->lock);
	net_watch_until(s->watch, net_answer_watched(m), INT64_MAX);
	net_watch_known(s->watch, net_answer_watched(m));
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
	struct net_coming *c = *state;

	(void)version;
	if (!c) {
		*state = c = net_coming_begin(s, m, url, method);
		if (!c)
			return MHD_NO;
		/* A persistent connection may have been idle until now: each request has a
		 * deadline of its own. */
		net_watch_until(s->watch, net_answer_watched(m), net_now() + s->all.timeout_ns);
		/* A body that is refused anyway is not requested. */
		if (c->why && net_call_header(&(struct net_call){ .request = c->q }, "Expect"))
			return net_answer_refuse(s, m, c->q, c->status, c->why);
		return MHD_YES;
	}
	if (*upload_size) {
		net_coming_too_long(s, c, c->q->body.n + *upload_size);
		if (!c->why)
			buf_add(&c->q->body, upload, *upload_size);
		else
			c->dropped += *upload_size;
		*upload_size = 0;
		return c->dropped > REFUSED_MAX + 2 * s->opt.body_max ? MHD_NO : MHD_YES;
	}
	if (c->why)
		return net_answer_refuse(s, m, c->q, c->status, c->why);
	if (c->q->body.failed)
		return net_answer_refuse(s, m, c->q, 500, "out of memory");
	if (c->q->state == NET_READING)
		return queue_request(s, m, c);
	return net_answer_send(s, m, c->q);
}

static void on_completed(void *cls, struct MHD_Connection *m, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct net_server *s = cls;
	struct net_coming *c = *state;

	(void)code;
	net_watch_until(s->watch, net_answer_watched(m), net_now() + s->all.timeout_ns);
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

static void on_connection(void *cls, struct MHD_Connection *m, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct net_server *s = cls;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = net_watch_add(s->watch, net_coming_socket(m));
		net_watch_until(s->watch, *socket_context, net_now() + s->all.timeout_ns);
		/* Slow or silent peers could otherwise hold all connections for as long as a
		 * request may take. */
		net_watch_make_room(s->watch, s->opt.connections_max);
	} else {
		net_watch_end(s->watch, *socket_context);
		*socket_context = NULL;
	}
}

/* Drops what libmicrohttpd would print about connections of peers. */
static void ignore_log(void *cls, const char *fmt, va_list ap)
{
	(void)cls;
	(void)fmt;
	(void)ap;
}

static int start_daemon(struct net_server *s, const struct addrinfo *at, struct err *e)
{
	const union MHD_DaemonInfo *info;
	/* With epoll a peer that has closed its own side alone is still answered; with poll
	 * libmicrohttpd ends it. */
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			 (MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES ? MHD_USE_EPOLL
										 : MHD_USE_POLL) |
			 MHD_USE_ERROR_LOG | (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)NET_TLS_PRIORITIES },
		{ MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)net_cert_callback() },
		{ MHD_OPTION_END, 0, NULL }
	};
	int fd, rc = net_listen_open(at, s->opt.address, &fd, e);

	if (rc)
		return rc;
	if (s->opt.cert)
		flags |= MHD_USE_TLS;
	else
		tls[0].option = MHD_OPTION_END;
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, access_handler, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_log,
		NULL, MHD_OPTION_ARRAY, tls, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_CONNECTION_LIMIT, (NET_WATCH_SPARE + 1) * s->opt.connections_max,
		MHD_OPTION_CONNECTION_TIMEOUT, s->opt.timeout_s, MHD_OPTION_STRICT_FOR_CLIENT,
		s->opt.guard ? 1 : 0, MHD_OPTION_END);
	if (!s->daemon)
		return err_set(e, ERR_CANNOT, "cannot serve on %s", s->opt.address);
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	if (!info)
		return err_set(e, ERR_CANNOT, "cannot listen on %s", s->opt.address);
	return net_listen_text(info->listen_fd, s->opt.address, s->address, sizeof(s->address), e);
}

static int prepare_server(struct net_server *s, const struct net_server_options *opt, struct err *e)
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
	return rc ? rc : net_pool_new(&s->pool, s->opt.threads_max, handle_request, s, e);
}

int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e)
{
	const struct addrinfo *at;
	struct addrinfo *found;
	struct net_server *s;
	int rc;

	*out = NULL;
	rc = net_listen_find(opt->address, &found, &at, e);
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	rc = s ? 0 : err_nomem(e);
	if (!rc) {
		pthread_mutex_init(&s->lock, NULL);
		s->handler = handler;
		s->ctx = ctx;
		rc = prepare_server(s, opt, e);
	}
	if (!rc)
		rc = start_daemon(s, at, e);
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

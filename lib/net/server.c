/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that knows libmicrohttpd. */
#include "lib/net/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct net_server {
	struct net_server_options opt;
	struct MHD_Daemon *daemon;
	net_handler *handler;
	void *ctx;
	char address[64];
};

/* A request as its body comes in. */
struct request {
	struct buf body;
	bool too_long;
};

const char *net_call_header(const struct net_call *call, const char *name)
{
	return MHD_lookup_connection_value((struct MHD_Connection *)call->request, MHD_HEADER_KIND,
					   name);
}

static enum MHD_Result queue(struct MHD_Connection *c, struct net_reply *r)
{
	struct MHD_Response *answer;
	enum MHD_Result done;

	if (r->body.failed) {
		buf_free(&r->body);
		r->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
	/* libmicrohttpd frees the body with free(), as buf_free would. */
	answer = MHD_create_response_from_buffer(r->body.n, r->body.n ? r->body.p : "",
						 r->body.n ? MHD_RESPMEM_MUST_FREE
							   : MHD_RESPMEM_PERSISTENT);
	if (!answer) {
		buf_free(&r->body);
		return MHD_NO;
	}
	if (!r->body.n)
		buf_free(&r->body);
	MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE,
				r->type ? r->type : "text/plain; charset=utf-8");
	MHD_add_response_header(answer, "X-Content-Type-Options", "nosniff");
	done = MHD_queue_response(c, r->status, answer);
	MHD_destroy_response(answer);
	return done;
}

static enum MHD_Result access_handler(void *cls, struct MHD_Connection *connection, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **state)
{
	struct net_server *s = cls;
	struct request *q = *state;
	struct net_reply reply = { .status = MHD_HTTP_OK };
	struct net_call call = { .method = method,
				 .path = url,
				 .request = (struct net_request *)connection };

	(void)version;
	if (!q) {
		*state = calloc(1, sizeof(*q));
		return *state ? MHD_YES : MHD_NO;
	}
	if (*upload_size) {
		q->too_long |= q->body.n + *upload_size > s->opt.body_max;
		if (!q->too_long)
			buf_add(&q->body, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	call.body = buf_bytes(&q->body);
	if (q->too_long)
		reply.status = 413;
	else if (q->body.failed)
		reply.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	else
		s->handler(s->ctx, &call, &reply);
	return queue(connection, &reply);
}

static void completed(void *cls, struct MHD_Connection *connection, void **state,
		      enum MHD_RequestTerminationCode code)
{
	struct request *q = *state;

	(void)cls;
	(void)connection;
	(void)code;
	if (q)
		buf_free(&q->body);
	free(q);
	*state = NULL;
}

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

static int start(struct net_server *s, const struct addrinfo *at, struct err *e)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;

	if (at->ai_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, access_handler, s, MHD_OPTION_SOCK_ADDR,
				     at->ai_addr, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
				     MHD_OPTION_CONNECTION_LIMIT,
				     s->opt.connections_max ? s->opt.connections_max : 64u,
				     MHD_OPTION_CONNECTION_TIMEOUT,
				     s->opt.timeout_s ? s->opt.timeout_s : 30u,
				     MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
	if (!s->daemon)
		return errno ? err_sys(e, "cannot listen on %s", s->opt.address)
			     : err_set(e, ERR_CANNOT, "cannot listen on %s", s->opt.address);
	return bound_address(s, at->ai_family, e);
}

int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e)
{
	struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
				   .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
			*found = NULL;
	struct net_server *s = NULL;
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
		s->opt = *opt;
		s->handler = handler;
		s->ctx = ctx;
		rc = start(s, found, e);
	}
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

void net_server_stop(struct net_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	free(s);
}

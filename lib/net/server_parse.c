/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the headers and query of a request, and checks its access. */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/utf8.h"
#include "lib/net/server_internal.h"

int net_coming_socket(struct MHD_Connection *m)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(m, MHD_CONNECTION_INFO_CONNECTION_FD);

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

static bool is_valid_utf8(const char *text)
{
	size_t n = strlen(text), k;

	for (; n; text += k, n -= k)
		if (!(k = utf8_length((const unsigned char *)text, n)))
			return false;
	return true;
}

static enum MHD_Result store_field(void *cls, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct net_coming *c = cls;
	bool query = kind == MHD_GET_ARGUMENT_KIND;

	if (query && (!is_valid_utf8(name) || (value && !is_valid_utf8(value)))) {
		c->status = 400;
		c->why = "the query is not UTF-8";
	}
	return net_request_field(c->q, query, name, value) ? MHD_YES : MHD_NO;
}

static void format_address(const struct sockaddr *a, socklen_t n, char *out, socklen_t size)
{
	if (getnameinfo(a, n, out, size, NULL, 0, NI_NUMERICHOST))
		*out = 0;
}

static const char *header_of(const struct net_call *call, const char *name)
{
	return net_call_header(call, name);
}

/* Refuses the request if the access check does. */
static void check_access(struct net_server *s, struct net_coming *c)
{
	const struct net_request *q = c->q;
	struct net_call call = { .request = c->q };
	struct net_asking a = { .path = q->path,
				.host = header_of(&call, "Host"),
				.origin = header_of(&call, "Origin"),
				.site = header_of(&call, "Sec-Fetch-Site"),
				.mode = header_of(&call, "Sec-Fetch-Mode"),
				.authorization = header_of(&call, "Authorization") };
	struct sockaddr_storage here;
	socklen_t n = sizeof(here);
	char address[64] = "";

	if (!s->opt.guard || c->why)
		return;
	for (size_t i = 0; i < q->headers.n; i++)
		a.nhosts += !strcasecmp(q->headers.v[i].name, "Host");
	if (getsockname(q->fd, (struct sockaddr *)&here, &n) == 0)
		format_address((struct sockaddr *)&here, n, address, sizeof(address));
	a.here = address;
	c->status = net_access_check_ask(s->opt.guard, &a, &c->why);
}

void net_coming_too_long(struct net_server *s, struct net_coming *c, uint64_t length)
{
	if (!c->why && length > s->opt.body_max) {
		c->status = 413;
		c->why = "the request's body is too long";
	}
}

struct net_coming *net_coming_begin(struct net_server *s, struct MHD_Connection *m, const char *url,
				    const char *method)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);
	struct net_coming *c = calloc(1, sizeof(*c));
	struct net_call call;
	const char *length;

	if (!c || !(c->q = net_request_new(&s->all, net_coming_socket(m), method, url))) {
		free(c);
		return NULL;
	}
	c->q->connection = m;
	c->q->suspend = sleep_request;
	c->q->resume = resume_request;
	/* Asked of the socket: libmicrohttpd 1.0.0 (Ubuntu 24.04) gives an address that is none. */
	if (getpeername(c->q->fd, (struct sockaddr *)&peer, &n) == 0)
		format_address((struct sockaddr *)&peer, n, c->q->peer, sizeof(c->q->peer));
	MHD_get_connection_values(m, MHD_HEADER_KIND, store_field, c);
	MHD_get_connection_values(m, MHD_GET_ARGUMENT_KIND, store_field, c);
	if (!is_valid_utf8(url)) {
		c->status = 400;
		c->why = "the path is not UTF-8";
	}
	check_access(s, c);
	call.request = c->q;
	length = header_of(&call, "Content-Length");
	net_coming_too_long(s, c, length ? strtoull(length, NULL, 10) : 0);
	return c;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes gRPC calls over HTTP/2 to a daemon of this machine. A call is one stream: headers, the
 * message behind five bytes (compressed or not, its length), trailers with a status
 * (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md).
 */
#include "lib/host/grpc.h"

#include <dlfcn.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/buf.h"

#define LIBRARY		"libnghttp2.so.14"
#define FRAME_HEADER	5
#define READ_AT_ONCE	16384
#define READS_IN_A_STEP 64
#define STATUS_MAX	200 /* letters kept of what a daemon says is wrong */

/* Behind "nghttp2_". */
#define FUNCTIONS(X)                                         \
	X(session_callbacks_new)                             \
	X(session_callbacks_del)                             \
	X(session_callbacks_set_on_header_callback)          \
	X(session_callbacks_set_on_data_chunk_recv_callback) \
	X(session_callbacks_set_on_stream_close_callback)    \
	X(session_client_new)                                \
	X(session_del)                                       \
	X(submit_settings)                                   \
	X(submit_request)                                    \
	X(session_mem_send)                                  \
	X(session_mem_recv)                                  \
	X(session_want_read)                                 \
	X(strerror)

struct library {
#define X(function) __typeof__(nghttp2_##function) *function;
	FUNCTIONS(X)
#undef X
};

struct host_grpc {
	struct library lib;
	nghttp2_session *session;
	int fd;
	size_t max;
	char method[128];
	const uint8_t *out; /* of the library's, to be sent */
	size_t out_len;
	int32_t stream; /* that is waited for; 0 none */
	size_t sent;	/* bytes of the request */
	bool closed;	/* the stream is over */
	struct buf body;
	int status; /* grpc-status; -1 not told */
	char http[8], said[STATUS_MAX];
	struct err error; /* of a callback */
};

static int load_library(struct library *lib, struct err *e)
{
	static const struct {
		const char *name;
		size_t at;
	} functions[] = {
#define X(function) { "nghttp2_" #function, offsetof(struct library, function) },
		FUNCTIONS(X)
#undef X
	};
	/* Never closed: opening it again finds it. */
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *f = handle ? dlsym(handle, functions[i].name) : NULL;

		if (!f)
			return err_set(e, ERR_CANNOT,
				       "asking takes libnghttp2, which is not on this machine "
				       "(" LIBRARY "; Debian: libnghttp2-14)");
		memcpy((char *)lib + functions[i].at, &f, sizeof(f));
	}
	return 0;
}

/* ---- what the library calls
 * ------------------------------------------------------------------------ */

static ssize_t request_body(nghttp2_session *s, int32_t stream, uint8_t *to, size_t n,
			    uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct host_grpc *g = user;
	size_t left = FRAME_HEADER - g->sent;

	(void)s;
	(void)stream;
	(void)source;
	/* An empty message: not compressed, of length 0. */
	n = n < left ? n : left;
	memset(to, 0, n);
	g->sent += n;
	if (g->sent == FRAME_HEADER)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static bool is_equal(const uint8_t *p, size_t n, const char *text)
{
	return bytes_equal((struct bytes){ (const char *)p, n }, bytes_of(text));
}

static void copy_printable(char *to, size_t size, const uint8_t *p, size_t n)
{
	n = n < size - 1 ? n : size - 1;
	for (size_t i = 0; i < n; i++)
		to[i] = p[i] < ' ' || p[i] > '~' ? '?' : (char)p[i];
	to[n] = '\0';
}

static int on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *user)
{
	struct host_grpc *g = user;
	char number[8];

	(void)s;
	(void)flags;
	if (f->hd.stream_id != g->stream)
		return 0;
	if (is_equal(name, name_len, ":status")) {
		copy_printable(g->http, sizeof(g->http), value, value_len);
	} else if (is_equal(name, name_len, "grpc-status")) {
		copy_printable(number, sizeof(number), value, value_len);
		g->status =
			number[0] >= '0' && number[0] <= '9' ? (int)strtoul(number, NULL, 10) : -1;
	} else if (is_equal(name, name_len, "grpc-message")) {
		copy_printable(g->said, sizeof(g->said), value, value_len);
	}
	return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream, const uint8_t *p, size_t n,
		   void *user)
{
	struct host_grpc *g = user;

	(void)s;
	(void)flags;
	if (stream != g->stream || g->error.code)
		return 0;
	if (g->body.n + n > g->max + FRAME_HEADER)
		err_set(&g->error, ERR_LIMIT, "an answer of more than %zu bytes", g->max);
	else
		buf_add(&g->body, p, n);
	if (g->body.failed)
		err_nomem(&g->error);
	return 0;
}

static int on_close(nghttp2_session *s, int32_t stream, uint32_t code, void *user)
{
	struct host_grpc *g = user;

	(void)s;
	if (stream == g->stream) {
		g->closed = true;
		if (code && !g->error.code)
			err_set(&g->error, ERR_CANNOT, "it ended the call with HTTP/2 error %u",
				(unsigned)code);
	}
	return 0;
}

/* ---- a connection
 * ---------------------------------------------------------------------------------- */

static int open_session(struct host_grpc *g, struct err *e)
{
	nghttp2_session_callbacks *c;
	int rc;

	if (g->lib.session_callbacks_new(&c))
		return err_nomem(e);
	g->lib.session_callbacks_set_on_header_callback(c, on_header);
	g->lib.session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	g->lib.session_callbacks_set_on_stream_close_callback(c, on_close);
	rc = g->lib.session_client_new(&g->session, c, g);
	g->lib.session_callbacks_del(c);
	if (rc == 0)
		rc = g->lib.submit_settings(g->session, 0, NULL, 0);
	return rc ? err_nomem(e) : 0;
}

static int open_socket(struct host_grpc *g, const char *path, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(to.sun_path))
		return err_set(e, ERR_CANNOT, "%s: the path of a socket has at most %zu letters",
			       path, sizeof(to.sun_path) - 1);
	memcpy(to.sun_path, path, strlen(path));
	g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* A queue that is full (EAGAIN) is as good as a daemon that does not answer. */
	if (g->fd < 0 || connect(g->fd, (struct sockaddr *)&to, sizeof(to)))
		return err_sys(e, "cannot connect to %s", path);
	return 0;
}

int host_grpc_open(struct host_grpc **out, const char *socket_path, const char *method, size_t max,
		   struct err *e)
{
	struct host_grpc *g = calloc(1, sizeof(*g));
	int rc;

	*out = NULL;
	if (!g)
		return err_nomem(e);
	g->fd = -1;
	g->max = max;
	if (strlen(method) >= sizeof(g->method))
		rc = err_set(e, ERR_USAGE, "the name of a method is too long");
	else
		rc = load_library(&g->lib, e);
	if (rc == 0) {
		memcpy(g->method, method, strlen(method));
		rc = open_socket(g, socket_path, e);
	}
	if (rc == 0)
		rc = open_session(g, e);
	if (rc == 0)
		rc = host_grpc_ask(g, e);
	if (rc) {
		host_grpc_free(g);
		return rc;
	}
	*out = g;
	return 0;
}

void host_grpc_free(struct host_grpc *g)
{
	if (!g)
		return;
	if (g->session)
		g->lib.session_del(g->session);
	if (g->fd >= 0)
		close(g->fd);
	buf_free(&g->body);
	free(g);
}

int host_grpc_ask(struct host_grpc *g, struct err *e)
{
	nghttp2_data_provider body = { .read_callback = request_body };
	const char *fields[][2] = { { ":method", "POST" },
				    { ":scheme", "http" },
				    { ":path", g->method },
				    { ":authority", "localhost" },
				    { "te", "trailers" },
				    { "content-type", "application/grpc" },
				    { "grpc-accept-encoding", "identity" },
				    { "user-agent", "ingero" } };
	nghttp2_nv headers[sizeof(fields) / sizeof(fields[0])];
	int32_t stream;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		headers[i] = (nghttp2_nv){ (uint8_t *)fields[i][0], (uint8_t *)fields[i][1],
					   strlen(fields[i][0]), strlen(fields[i][1]), 0 };
	g->sent = 0;
	g->closed = false;
	g->status = -1;
	g->http[0] = g->said[0] = '\0';
	buf_reset(&g->body);
	stream = g->lib.submit_request(g->session, NULL, headers,
				       sizeof(fields) / sizeof(fields[0]), &body, NULL);
	if (stream < 0)
		return err_set(e, ERR_CANNOT, "cannot ask: %s", g->lib.strerror(stream));
	g->stream = stream;
	return 0;
}

/* Whatever the library has to say goes out; what does not fit waits. */
static int send_all(struct host_grpc *g, struct err *e)
{
	for (;;) {
		ssize_t n;

		if (g->out_len == 0) {
			n = g->lib.session_mem_send(g->session, &g->out);
			if (n < 0)
				return err_set(e, ERR_CANNOT, "%s", g->lib.strerror((int)n));
			g->out_len = (size_t)n;
		}
		if (g->out_len == 0)
			return 0;
		n = send(g->fd, g->out, g->out_len, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : err_sys(e, "cannot ask");
		g->out += n;
		g->out_len -= (size_t)n;
	}
}

static int receive_data(struct host_grpc *g, struct err *e)
{
	uint8_t p[READ_AT_ONCE];

	for (unsigned i = 0; i < READS_IN_A_STEP && !g->closed; i++) {
		ssize_t n = recv(g->fd, p, sizeof(p), 0), used;

		if (n < 0)
			return errno == EAGAIN || errno == EINTR
				       ? 0
				       : err_sys(e, "cannot hear the answer");
		if (n == 0)
			return err_set(e, ERR_CLOSED, "the connection was closed");
		used = g->lib.session_mem_recv(g->session, p, (size_t)n);
		if (used < 0)
			return err_set(e, ERR_DAMAGED, "that is no HTTP/2: %s",
				       g->lib.strerror((int)used));
		if (g->error.code)
			return *e = g->error, e->code;
		/* It allows more to be sent as it has taken what came. */
		if (send_all(g, e))
			return e->code;
		if (!g->closed && !g->lib.session_want_read(g->session))
			return err_set(e, ERR_DAMAGED, "that is no HTTP/2");
	}
	return 0;
}

/* Checks the answer once its stream has ended. */
static int read_answer(struct host_grpc *g, struct bytes *message, struct err *e)
{
	const unsigned char *p = (const unsigned char *)g->body.p;
	size_t n;

	g->stream = 0;
	if (strcmp(g->http, "200") != 0)
		return err_set(e, ERR_CANNOT, "it answers HTTP status %s",
			       *g->http ? g->http : "none");
	if (g->status != 0)
		return err_set(e, ERR_CANNOT, "it refuses: gRPC status %d%s%s", g->status,
			       *g->said ? ", " : "", g->said);
	n = g->body.n < FRAME_HEADER
		    ? 0
		    : (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (g->body.n < FRAME_HEADER || p[0] || n != g->body.n - FRAME_HEADER)
		return err_set(e, ERR_DAMAGED, "an answer that is no gRPC message");
	*message = (struct bytes){ g->body.p + FRAME_HEADER, n };
	return 1;
}

int host_grpc_step(struct host_grpc *g, struct bytes *message, struct err *e)
{
	struct err ignored;
	int rc;

	e = e ? e : &ignored;
	rc = send_all(g, e);
	if (rc == 0)
		rc = receive_data(g, e);
	if (rc == 0 && g->stream && g->closed)
		return read_answer(g, message, e);
	return rc;
}

int host_grpc_fd(const struct host_grpc *g, short *events)
{
	*events = (short)(POLLIN | (g->out_len ? POLLOUT : 0));
	return g->fd;
}

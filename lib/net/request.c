/* SPDX-License-Identifier: Apache-2.0 */
/* A request that two threads share: the server's connection and the handler. Neither waits for the
 * other, except a handler whose stream is not read fast enough. */
#include "lib/net/request.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define SLICE_NS       100000000	   /* how late a peer that left is noticed */
#define HALF_CLOSED_NS INT64_C(5000000000) /* for an answer to somebody who sends no more */
#define LOOK_NS	       10000000		   /* the same by who does not wait for it */

int64_t net_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct net_request *net_request_new(struct net_requests *all, int fd, const char *method,
				    const char *path)
{
	struct net_request *q = calloc(1, sizeof(*q));
	pthread_condattr_t monotonic;

	if (!q)
		return NULL;
	q->all = all;
	q->fd = fd;
	q->refs = 1;
	q->head = !strcmp(method, "HEAD");
	q->method = strdup(q->head ? "GET" : method);
	q->path = strdup(path);
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (q->method && q->path)
		return q;
	net_request_drop(q);
	return NULL;
}

static void free_fields(struct net_field *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].name);
		free(v[i].value);
	}
}

void net_request_drop(struct net_request *q)
{
	bool last;

	pthread_mutex_lock(&q->lock);
	last = --q->refs == 0;
	pthread_mutex_unlock(&q->lock);
	if (!last)
		return;
	free_fields(q->headers.v, q->headers.n);
	free_fields(q->query.v, q->query.n);
	vec_free(&q->headers);
	vec_free(&q->query);
	buf_free(&q->body);
	buf_free(&q->reply.body);
	buf_free(&q->reply.headers);
	buf_free(&q->pieces);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->method);
	free(q->path);
	free(q);
}

bool net_request_field(struct net_request *q, bool of_query, const char *name, const char *value)
{
	struct net_field f = { strdup(name), strdup(value ? value : "") };

	if (f.name && f.value && (of_query ? vec_push(&q->query, f) : vec_push(&q->headers, f)))
		return true;
	free_fields(&f, 1);
	return false;
}

const char *net_call_header(const struct net_call *call, const char *name)
{
	const struct net_request *q = call->request;

	for (size_t i = 0; i < q->headers.n; i++)
		if (!strcasecmp(q->headers.v[i].name, name))
			return q->headers.v[i].value;
	return NULL;
}

const char *net_call_query(const struct net_call *call, const char *name)
{
	const struct net_request *q = call->request;

	for (size_t i = 0; i < q->query.n; i++)
		if (!strcmp(q->query.v[i].name, name))
			return q->query.v[i].value;
	return NULL;
}

/* Both under the lock. */
static bool is_over(const struct net_request *q)
{
	return q->fd < 0 || atomic_load(&q->all->stopping);
}

static bool is_gone(struct net_request *q)
{
	struct pollfd peer = { .fd = q->fd, .events = POLLRDHUP };

	if (is_over(q))
		return true;
	if (poll(&peer, 1, 0) <= 0)
		return false;
	if (peer.revents & (POLLHUP | POLLERR))
		return true;
	if (!(peer.revents & POLLRDHUP))
		return false;
	/* It has closed its side alone, or both: which one shows only when something is sent. */
	if (!q->half_ns)
		q->half_ns = net_now();
	return net_now() - q->half_ns >= HALF_CLOSED_NS;
}

/* Under the lock: until something changes, at most a slice. */
static void wait_slice(struct net_request *q, int64_t until)
{
	int64_t now = net_now(), at = until - now < SLICE_NS ? until : now + SLICE_NS;
	struct timespec t = { at / 1000000000, at % 1000000000 };

	pthread_cond_timedwait(&q->changed, &q->lock, &t);
}

bool net_call_gone(const struct net_call *call)
{
	struct net_request *q = call->request;
	int64_t now = net_now();
	bool is;

	/* Who works on an answer asks behind every step of it, and to look at the peer is a system
	 * call. */
	pthread_mutex_lock(&q->lock);
	if (!q->left && now - q->looked_ns >= LOOK_NS) {
		q->looked_ns = now;
		q->left = is_gone(q);
	}
	is = q->left || is_over(q);
	pthread_mutex_unlock(&q->lock);
	return is;
}

bool net_call_wait(const struct net_call *call, uint64_t ns)
{
	struct net_request *q = call->request;
	int64_t until = net_now() + (int64_t)(ns < INT64_MAX / 2 ? ns : INT64_MAX / 2);
	bool is;

	pthread_mutex_lock(&q->lock);
	while (!(is = is_gone(q)) && net_now() < until)
		wait_slice(q, until);
	pthread_mutex_unlock(&q->lock);
	return is;
}

void net_reply_header(struct net_reply *reply, const char *name, const char *value)
{
	buf_puts(&reply->headers, name);
	buf_putc(&reply->headers, 0);
	for (; *value; value++)
		if ((unsigned char)*value >= ' ' || *value == '\t')
			buf_putc(&reply->headers, *value);
	buf_putc(&reply->headers, 0);
}

bool net_call_allowed(const struct net_call *call, const char *methods, struct net_reply *reply)
{
	size_t n = strlen(call->method);

	for (const char *p = methods; (p = strstr(p, call->method)); p += n)
		if ((p == methods || p[-1] == ' ') && (!p[n] || p[n] == ','))
			return true;
	reply->status = strcmp(call->method, "OPTIONS") ? 405 : 204;
	net_reply_header(reply, "Allow", methods);
	return false;
}

/* Under the lock. */
static void wake_connection(struct net_request *q)
{
	if (q->asleep && q->fd >= 0) {
		q->asleep = false;
		q->resume(q);
	}
}

/* Under the lock. */
static void discard_sent(struct net_request *q)
{
	if (!q->taken || q->taken < q->pieces.n / 2)
		return;
	q->pieces.n -= q->taken;
	memmove(q->pieces.p, q->pieces.p + q->taken, q->pieces.n);
	q->taken = 0;
}

int net_stream_begin(const struct net_call *call, struct net_reply *reply, struct err *e)
{
	struct net_request *q = call->request;
	unsigned open = atomic_fetch_add(&q->all->streams, 1);

	if (open >= q->all->streams_max) {
		atomic_fetch_sub(&q->all->streams, 1);
		return err_set(e, ERR_LIMIT, "too many streams at once");
	}
	pthread_mutex_lock(&q->lock);
	q->pieces = reply->body;
	reply->body = (struct buf){ 0 };
	if (reply != &q->reply)
		q->reply = *reply;
	q->state = NET_STREAMING;
	q->taken_ns = net_now();
	q->resume(q);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

int net_stream_write(const struct net_call *call, const void *p, size_t n, struct err *e)
{
	struct net_request *q = call->request;
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	while (q->pieces.n - q->taken > NET_STREAM_HELD && !is_gone(q)) {
		int64_t until = q->taken_ns + q->all->timeout_ns;

		if (net_now() >= until) {
			shutdown(q->fd, SHUT_RDWR);
			break;
		}
		wait_slice(q, until);
	}
	if (q->state != NET_STREAMING || is_gone(q) || q->pieces.n - q->taken > NET_STREAM_HELD) {
		rc = err_set(e, ERR_CLOSED, "nobody takes the answer");
	} else {
		discard_sent(q);
		buf_add(&q->pieces, p, n);
		rc = q->pieces.failed ? err_nomem(e) : 0;
		wake_connection(q);
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

int64_t net_request_take(struct net_request *q, char *to, size_t max)
{
	int64_t n;

	pthread_mutex_lock(&q->lock);
	n = (int64_t)(q->pieces.n - q->taken);
	if (n > 0) {
		n = n < (int64_t)max ? n : (int64_t)max;
		memcpy(to, q->pieces.p + q->taken, (size_t)n);
		q->taken += (size_t)n;
		q->taken_ns = net_now();
		if (q->taken == q->pieces.n) {
			buf_reset(&q->pieces);
			q->taken = 0;
		}
		pthread_cond_broadcast(&q->changed);
	} else if (q->ended) {
		n = -1;
	} else {
		q->asleep = true;
		q->suspend(q);
	}
	pthread_mutex_unlock(&q->lock);
	return n;
}

void net_request_done(struct net_request *q)
{
	pthread_mutex_lock(&q->lock);
	q->handled = true;
	if (q->state == NET_STREAMING) {
		atomic_fetch_sub(&q->all->streams, 1);
		q->ended = true;
		wake_connection(q);
	} else {
		q->state = NET_ANSWERED;
		q->resume(q);
	}
	pthread_mutex_unlock(&q->lock);
	net_request_drop(q);
}

void net_request_gone(struct net_request *q)
{
	pthread_mutex_lock(&q->lock);
	q->fd = -1;
	q->asleep = false;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	net_request_drop(q);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread reads and answers what is quick; what is slow waits in a queue for one of a few
 * workers, which are started when they are needed. A job is handed over whole: its JSON values are
 * touched by one thread at a time.
 */
#include "lib/mcp/mcp_stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/mcp/mcp.h"

#define CALLS	8
#define WAITING 256
#define CHUNK	65536
#define LAST_MS 300 /* for a client to read what is being written when the server stops */

struct job {
	struct job *next;
	struct mcp_message m;
	struct json batch; /* instead of m */
	struct mcp_running *running;
};

struct stdio {
	const struct mcp_catalog *catalog;
	const struct mcp_stdio *io;
	struct mcp_session *session;
	struct mcp_transport transport;

	pthread_mutex_t writing;
	atomic_bool gone; /* the client has closed its end, or io->stop asks the server to stop */
	bool cut; /* under writing: a line was not written whole, and nothing may follow it… */
	struct err broken; /* …because writing failed; code 0: because the server stops */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake, idle;
	struct job *first, **last;
	unsigned waiting, busy, workers, workers_max;
	pthread_t *worker;
	bool ending;
};

/* Writes no more at once than a writable pipe takes without blocking: a client that does not read
 * must not delay the end of the server. After a stop request it has LAST_MS for each piece. */
static int write_line(struct stdio *s, const char *p, size_t n, struct err *e)
{
	struct pollfd fds[2] = { { .fd = s->io->out, .events = POLLOUT },
				 { .fd = s->io->stop, .events = POLLIN } };
	bool stopping = false;

	while (n) {
		size_t piece = n < PIPE_BUF ? n : PIPE_BUF;
		int ready = poll(fds, stopping ? 1 : 2, stopping ? LAST_MS : -1);

		if (ready < 0 && errno != EINTR)
			return err_sys(e, "cannot write to the client");
		if (ready < 0)
			continue;
		if (fds[0].revents) {
			int rc = write_all(s->io->out, p, piece, e);

			if (rc)
				return rc;
			p += piece;
			n -= piece;
		} else if (stopping) {
			return ERR_CLOSED;
		}
		stopping = stopping || fds[1].revents;
	}
	return 0;
}

static void send_line(struct stdio *s, struct buf *line)
{
	struct err e = { 0 };

	if (!line->n || line->failed)
		return;
	buf_putc(line, '\n');
	pthread_mutex_lock(&s->writing);
	if (!s->cut && write_line(s, line->p, line->n, &e)) {
		s->cut = true;
		s->broken = e;
		atomic_store(&s->gone, true);
	}
	pthread_mutex_unlock(&s->writing);
}

static void send_message(void *ctx, struct bytes message)
{
	struct buf line = { 0 };

	buf_add(&line, message.p, message.n);
	send_line(ctx, &line);
	buf_free(&line);
}

static bool is_gone(void *ctx)
{
	struct stdio *s = ctx;

	return atomic_load(&s->gone);
}

static void job_free(struct job *j)
{
	mcp_running_end(j->running);
	mcp_message_free(&j->m);
	json_free(j->batch);
	free(j);
}

static void do_job(struct stdio *s, struct job *j)
{
	struct buf out = { 0 };

	if (j->batch.is)
		mcp_answer_batch(s->catalog, s->session, &s->transport, j->batch, &out);
	else if (!mcp_running_cancelled(j->running))
		mcp_answer(s->catalog, s->session, &s->transport, &j->m, NULL, j->running, &out);
	send_line(s, &out);
	buf_free(&out);
}

static void *run_worker(void *arg)
{
	struct stdio *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct job *j;

		while (!s->first && !s->ending)
			pthread_cond_wait(&s->wake, &s->lock);
		if (!s->first)
			break;
		j = s->first;
		s->first = j->next;
		if (!s->first)
			s->last = &s->first;
		s->waiting--;
		s->busy++;
		pthread_mutex_unlock(&s->lock);
		do_job(s, j);
		job_free(j);
		pthread_mutex_lock(&s->lock);
		s->busy--;
		if (!s->busy && !s->first)
			pthread_cond_signal(&s->idle);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* False: too many wait already. */
static bool queue_job(struct stdio *s, struct job *j)
{
	unsigned waiting_max = s->io->waiting_max ? s->io->waiting_max : WAITING;
	bool fits;

	pthread_mutex_lock(&s->lock);
	if (s->waiting + s->busy >= s->workers && s->workers < s->workers_max &&
	    !pthread_create(&s->worker[s->workers], NULL, run_worker, s))
		s->workers++;
	fits = s->waiting < waiting_max && s->workers;
	if (fits) {
		*s->last = j;
		s->last = &j->next;
		s->waiting++;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return fits;
}

static void send_error(struct stdio *s, struct json id, enum mcp_code code, const char *text)
{
	struct mcp_fault f = { 0 };
	struct buf out = { 0 };

	mcp_fault_set(&f, code, "%s", text);
	mcp_write_fault(&out, id, &f);
	send_line(s, &out);
	buf_free(&out);
}

/* Takes ownership of m and batch. */
static void queue_message(struct stdio *s, struct mcp_message *m, struct json batch)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j) {
		mcp_message_free(m);
		json_free(batch);
		return;
	}
	j->m = *m;
	j->batch = batch;
	if (!batch.is)
		j->running = mcp_running_begin(s->session, j->m.id);
	if (!queue_job(s, j)) {
		send_error(s, j->m.id, MCP_STOPPED, "too many calls wait already");
		job_free(j);
	}
}

static void handle_line(struct stdio *s, struct bytes line)
{
	struct mcp_message m = { 0 };
	struct mcp_fault f = { 0 };
	struct json v = JSON_NONE;
	struct buf out = { 0 };

	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	if (!line.n)
		return;
	if (!mcp_parse(line, &v, &f) && json_type(v) == JSON_TYPE_ARRAY) {
		queue_message(s, &m, v);
		return;
	}
	if (!f.code)
		mcp_message_read(&m, v, &f);
	json_free(v);
	if (!f.code && m.kind == MCP_REQUEST && mcp_is_slow(json_bytes(m.method))) {
		queue_message(s, &m, JSON_NONE);
		return;
	}
	mcp_answer(s->catalog, s->session, &s->transport, &m, &f, NULL, &out);
	send_line(s, &out);
	buf_free(&out);
	mcp_message_free(&m);
	mcp_fault_free(&f);
}

struct lines {
	struct buf text;
	bool skipping; /* the rest of a line that is too long */
};

/* Handles complete lines; an incomplete last one stays in the buffer until its rest comes. */
static void handle_lines(struct stdio *s, struct lines *l, bool end)
{
	char *p = l->text.p, *stop = p + l->text.n, *newline;

	while (p < stop && ((newline = memchr(p, '\n', (size_t)(stop - p))) || end)) {
		size_t n = newline ? (size_t)(newline - p) : (size_t)(stop - p);

		if (!l->skipping)
			handle_line(s, (struct bytes){ p, n });
		l->skipping = false;
		p = newline ? newline + 1 : stop;
	}
	l->text.n = (size_t)(stop - p);
	if (l->text.n)
		memmove(l->text.p, p, l->text.n);
	if (l->text.n > MCP_MESSAGE_MAX) {
		if (!l->skipping)
			send_error(s, JSON_NONE, MCP_INVALID_REQUEST,
				   "the message is longer than 4 MiB");
		l->skipping = true;
		l->text.n = 0;
	}
}

/* Waits until there is something to read; false: the server is to stop. */
static bool wait_for_input(struct stdio *s)
{
	struct pollfd fds[2] = { { .fd = s->io->in, .events = POLLIN },
				 { .fd = s->io->stop, .events = POLLIN } };

	for (;;) {
		int n = poll(fds, 2, 500);

		if (fds[1].revents || atomic_load(&s->gone))
			return false;
		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
	}
}

static int read_all(struct stdio *s, struct err *e)
{
	struct lines l = { 0 };
	ssize_t n = 1;
	int rc = 0;

	while (n > 0 && wait_for_input(s)) {
		char *p = buf_reserve(&l.text, CHUNK);

		if (!p) {
			rc = err_nomem(e);
			break;
		}
		do
			n = read(s->io->in, p, CHUNK);
		while (n < 0 && errno == EINTR);
		if (n < 0 && errno == EAGAIN) {
			n = 1;
			continue;
		}
		if (n < 0)
			rc = err_sys(e, "cannot read from the client");
		buf_added(&l.text, n > 0 ? (size_t)n : 0);
		handle_lines(s, &l, n == 0);
	}
	buf_free(&l.text);
	return rc;
}

/* Waits until all queued requests are answered; a stop request cancels them. */
static void drain_jobs(struct stdio *s)
{
	struct pollfd fd = { .fd = s->io->stop, .events = POLLIN };

	pthread_mutex_lock(&s->lock);
	while (s->busy || s->first) {
		struct timespec t;

		if (poll(&fd, 1, 0) > 0)
			atomic_store(&s->gone, true);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 50000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&s->idle, &s->lock, &t);
		if (atomic_load(&s->gone))
			mcp_session_cancel_all(s->session);
	}
	s->ending = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->workers; i++)
		pthread_join(s->worker[i], NULL);
}

int mcp_stdio_serve(const struct mcp_catalog *catalog, const struct mcp_stdio *io, struct err *e)
{
	struct stdio s = { .catalog = catalog,
			   .io = io,
			   .session = mcp_session_new(),
			   .workers_max = io->calls_max ? io->calls_max : CALLS };
	int rc;

	s.worker = calloc(s.workers_max, sizeof(*s.worker));
	if (!s.session || !s.worker) {
		mcp_session_unref(s.session);
		free(s.worker);
		return err_nomem(e);
	}
	s.last = &s.first;
	s.transport = (struct mcp_transport){ .send = send_message, .gone = is_gone, .ctx = &s };
	pthread_mutex_init(&s.writing, NULL);
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.wake, NULL);
	pthread_cond_init(&s.idle, NULL);
	rc = read_all(&s, e);
	drain_jobs(&s);
	if (!rc && s.broken.code) {
		*e = s.broken;
		rc = e->code;
	}
	pthread_cond_destroy(&s.wake);
	pthread_cond_destroy(&s.idle);
	pthread_mutex_destroy(&s.writing);
	pthread_mutex_destroy(&s.lock);
	mcp_session_unref(s.session);
	free(s.worker);
	return rc;
}

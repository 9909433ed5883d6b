/* SPDX-License-Identifier: Apache-2.0 */
/* A session is a handful of words behind a lock; ids are compared as their JSON text ("1" is not
 * 1). */
#include "lib/mcp/mcp_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct mcp_running {
	struct mcp_session *session; /* kept */
	struct mcp_running *next, **at;
	struct buf id;
	atomic_bool cancelled;
};

struct mcp_session {
	pthread_mutex_t lock;
	atomic_uint held;
	const struct mcp_revision *revision;
	int level;
	struct mcp_running *running;
};

struct mcp_session *mcp_session_new(void)
{
	struct mcp_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	atomic_init(&s->held, 1);
	s->level = mcp_level_parse(bytes_of("warning"));
	return s;
}

struct mcp_session *mcp_session_ref(struct mcp_session *s)
{
	atomic_fetch_add(&s->held, 1);
	return s;
}

void mcp_session_unref(struct mcp_session *s)
{
	if (!s || atomic_fetch_sub(&s->held, 1) != 1)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const struct mcp_revision *mcp_session_revision(struct mcp_session *s)
{
	const struct mcp_revision *r;

	pthread_mutex_lock(&s->lock);
	r = s->revision;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void mcp_session_set_revision(struct mcp_session *s, const struct mcp_revision *r)
{
	pthread_mutex_lock(&s->lock);
	s->revision = r;
	pthread_mutex_unlock(&s->lock);
}

int mcp_session_level(struct mcp_session *s)
{
	int level;

	pthread_mutex_lock(&s->lock);
	level = s->level;
	pthread_mutex_unlock(&s->lock);
	return level;
}

void mcp_session_set_level(struct mcp_session *s, int level)
{
	pthread_mutex_lock(&s->lock);
	s->level = level;
	pthread_mutex_unlock(&s->lock);
}

struct mcp_running *mcp_running_begin(struct mcp_session *s, struct json id)
{
	struct mcp_running *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	json_dump(&r->id, id, 0);
	atomic_init(&r->cancelled, false);
	r->session = mcp_session_ref(s);
	pthread_mutex_lock(&s->lock);
	r->next = s->running;
	if (r->next)
		r->next->at = &r->next;
	s->running = r;
	r->at = &s->running;
	pthread_mutex_unlock(&s->lock);
	return r;
}

bool mcp_running_cancelled(const struct mcp_running *r)
{
	return r && atomic_load(&r->cancelled);
}

void mcp_running_end(struct mcp_running *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->session->lock);
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
	pthread_mutex_unlock(&r->session->lock);
	mcp_session_unref(r->session);
	buf_free(&r->id);
	free(r);
}

void mcp_session_cancel(struct mcp_session *s, struct json id)
{
	struct buf text = { 0 };

	json_dump(&text, id, 0);
	pthread_mutex_lock(&s->lock);
	for (struct mcp_running *r = s->running; r; r = r->next)
		if (bytes_equal(buf_bytes(&r->id), buf_bytes(&text)))
			atomic_store(&r->cancelled, true);
	pthread_mutex_unlock(&s->lock);
	buf_free(&text);
}

void mcp_session_cancel_all(struct mcp_session *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct mcp_running *r = s->running; r; r = r->next)
		atomic_store(&r->cancelled, true);
	pthread_mutex_unlock(&s->lock);
}

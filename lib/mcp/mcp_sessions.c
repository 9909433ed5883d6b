/* SPDX-License-Identifier: Apache-2.0 */
/* A table that is searched from its front: a thousand short ids are compared sooner than a request
 * is parsed. */
#include "lib/mcp/mcp_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct row {
	char id[MCP_SESSION_ID_SIZE];
	struct mcp_session *session;
	uint64_t used; /* when it was asked for last, in asks */
};

struct mcp_sessions {
	pthread_mutex_t lock;
	uint64_t asks;
	size_t n;
	struct row rows[MCP_SESSIONS_MAX];
};

struct mcp_sessions *mcp_sessions_new(void)
{
	struct mcp_sessions *t = calloc(1, sizeof(*t));

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void mcp_sessions_free(struct mcp_sessions *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		mcp_session_unref(t->rows[i].session);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct row *find_row(struct mcp_sessions *t, struct bytes id)
{
	for (size_t i = 0; i < t->n; i++)
		if (bytes_equal(bytes_of(t->rows[i].id), id))
			return &t->rows[i];
	return NULL;
}

static void drop_row(struct mcp_sessions *t, struct row *r)
{
	mcp_session_unref(r->session);
	*r = t->rows[--t->n];
}

int mcp_sessions_add(struct mcp_sessions *t, struct mcp_session *s, char id[MCP_SESSION_ID_SIZE],
		     struct err *e)
{
	unsigned char bits[16];
	struct row *oldest;

	if (getrandom(bits, sizeof(bits), 0) != sizeof(bits))
		return err_sys(e, "cannot get random numbers");
	for (size_t i = 0; i < sizeof(bits); i++)
		snprintf(id + 2 * i, 3, "%02x", bits[i]);
	pthread_mutex_lock(&t->lock);
	oldest = &t->rows[0];
	for (size_t i = 1; i < t->n; i++)
		if (t->rows[i].used < oldest->used)
			oldest = &t->rows[i];
	if (t->n == MCP_SESSIONS_MAX)
		drop_row(t, oldest);
	t->rows[t->n] = (struct row){ .session = mcp_session_ref(s), .used = ++t->asks };
	memcpy(t->rows[t->n++].id, id, MCP_SESSION_ID_SIZE);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

struct mcp_session *mcp_sessions_find(struct mcp_sessions *t, struct bytes id)
{
	struct mcp_session *s = NULL;
	struct row *r;

	pthread_mutex_lock(&t->lock);
	r = find_row(t, id);
	if (r) {
		r->used = ++t->asks;
		s = mcp_session_ref(r->session);
	}
	pthread_mutex_unlock(&t->lock);
	return s;
}

bool mcp_sessions_end(struct mcp_sessions *t, struct bytes id)
{
	struct row *r;

	pthread_mutex_lock(&t->lock);
	r = find_row(t, id);
	if (r) {
		mcp_session_cancel_all(r->session);
		drop_row(t, r);
	}
	pthread_mutex_unlock(&t->lock);
	return r != NULL;
}

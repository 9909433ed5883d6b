/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a few times a second while there are connections, and sleeps when there are none. */
#include "lib/net/connection_deadlines.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "lib/net/request.h"

#define LOOK_NS 200000000

struct net_watched {
	struct net_watched *next, **back;
	int fd;
	int64_t until_ns;
	bool closing; /* shut down by us; its owner is yet to notice */
};

struct net_watch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct net_watched *first; /* the newest */
	unsigned open;		   /* of those, how many are not closing */
	bool over;
};

/* Under the lock. */
static void cut_off(struct net_watch *w, struct net_watched *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->until_ns = INT64_MAX;
	w->open -= !c->closing;
	c->closing = true;
}

/* Under the lock. */
static void look(struct net_watch *w)
{
	int64_t now = net_now();

	for (struct net_watched *c = w->first; c; c = c->next)
		if (c->until_ns <= now)
			cut_off(w, c);
}

static void *watching(void *arg)
{
	struct net_watch *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		int64_t at = net_now() + LOOK_NS;
		struct timespec t = { at / 1000000000, at % 1000000000 };

		look(w);
		if (w->first)
			pthread_cond_timedwait(&w->changed, &w->lock, &t);
		else
			pthread_cond_wait(&w->changed, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int net_watch_new(struct net_watch **out, struct err *e)
{
	struct net_watch *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	sigset_t all, before;
	int failed;

	*out = NULL;
	if (!w)
		return err_nomem(e);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&w->thread, NULL, watching, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		free(w);
		return err_set(e, ERR_CANNOT, "no thread can be had");
	}
	*out = w;
	return 0;
}

struct net_watched *net_watch_add(struct net_watch *w, int fd)
{
	struct net_watched *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->until_ns = INT64_MAX;
	pthread_mutex_lock(&w->lock);
	c->next = w->first;
	c->back = &w->first;
	if (c->next)
		c->next->back = &c->next;
	else
		pthread_cond_signal(&w->changed);
	w->first = c;
	w->open++;
	pthread_mutex_unlock(&w->lock);
	return c;
}

void net_watch_make_room(struct net_watch *w, unsigned most)
{
	struct net_watched *oldest = NULL;

	pthread_mutex_lock(&w->lock);
	for (struct net_watched *c = w->first; w->open > most && c; c = c->next)
		if (c->until_ns != INT64_MAX)
			oldest = c;
	if (oldest)
		cut_off(w, oldest);
	pthread_mutex_unlock(&w->lock);
}

void net_watch_until(struct net_watch *w, struct net_watched *c, int64_t until_ns)
{
	if (!c)
		return;
	pthread_mutex_lock(&w->lock);
	if (!c->closing)
		c->until_ns = until_ns;
	pthread_mutex_unlock(&w->lock);
}

void net_watch_end(struct net_watch *w, struct net_watched *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&w->lock);
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	w->open -= !c->closing;
	pthread_mutex_unlock(&w->lock);
	free(c);
}

void net_watch_free(struct net_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

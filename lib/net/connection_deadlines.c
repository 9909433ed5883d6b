/* SPDX-License-Identifier: Apache-2.0 */
/* Closes connections at their deadlines, and those of strangers when there are too many: a thread
 * checks five times a second while there are connections, and sleeps when there are none. */
#include "lib/net/connection_deadlines.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "lib/net/request.h"

#define LOOK_NS	    200000000
#define GREETING_NS 1000000000 /* for a handshake and a request over any network */
#define CROWD	    4	       /* a part of so many of all that may stay */

struct net_watched {
	struct net_watched *next, **back;
	int fd;
	uint64_t network; /* of the peer: its address, of IPv6 the first 64 bits; 0: this machine */
	int64_t since_ns, until_ns;
	bool known;   /* sent a request that is answered */
	bool closing; /* shut down by us; its owner is yet to notice */
};

struct net_watch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct net_watched *first; /* the newest */
	unsigned open;		   /* of those, how many are not closing */
	unsigned most;		   /* that may stay; 0: as many as there are */
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

static bool is_stranger(const struct net_watched *c)
{
	return c->until_ns != INT64_MAX && !c->known;
}

static unsigned count_strangers(const struct net_watch *w, uint64_t network)
{
	unsigned n = 0;

	for (const struct net_watched *c = w->first; c; c = c->next)
		n += is_stranger(c) && c->network == network;
	return n;
}

/* The network that most strangers come from, if that is a crowd; else 0. */
static uint64_t find_crowd(const struct net_watch *w)
{
	uint64_t crowd = 0, counted = 0;
	unsigned most = w->most / CROWD;

	for (const struct net_watched *c = w->first; c; c = c->next) {
		unsigned n;

		if (!c->network || c->network == counted || !is_stranger(c))
			continue;
		counted = c->network;
		n = count_strangers(w, counted);
		if (n > most) {
			most = n;
			crowd = counted;
		}
	}
	return crowd;
}

/* Under the lock. NULL: nobody has to. */
static struct net_watched *find_who_makes_room(const struct net_watch *w, int64_t now)
{
	struct net_watched *of_crowd = NULL, *late = NULL, *stranger = NULL, *known = NULL;
	uint64_t crowd = find_crowd(w);

	for (struct net_watched *c = w->first; c; c = c->next) {
		if (c->until_ns == INT64_MAX)
			continue;
		if (c->known) {
			known = c;
			continue;
		}
		stranger = c;
		if (c->since_ns <= now - GREETING_NS)
			late = c;
		if (crowd && c->network == crowd)
			of_crowd = c;
	}
	if (of_crowd || late)
		return of_crowd ? of_crowd : late;
	return w->open > w->most * NET_WATCH_SPARE && stranger ? stranger
	       : !stranger				       ? known
							       : NULL;
}

/* Under the lock. */
static void make_room(struct net_watch *w, int64_t now)
{
	struct net_watched *c;

	while (w->most && w->open > w->most && (c = find_who_makes_room(w, now)))
		cut_off(w, c);
}

/* Under the lock. */
static void check_deadlines(struct net_watch *w)
{
	int64_t now = net_now();

	for (struct net_watched *c = w->first; c; c = c->next)
		if (c->until_ns <= now)
			cut_off(w, c);
	make_room(w, now);
}

static void *run_watcher(void *arg)
{
	struct net_watch *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		int64_t at = net_now() + LOOK_NS;
		struct timespec t = { at / 1000000000, at % 1000000000 };

		check_deadlines(w);
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
	failed = pthread_create(&w->thread, NULL, run_watcher, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		free(w);
		return err_set(e, ERR_CANNOT, "no thread can be had");
	}
	*out = w;
	return 0;
}

static uint64_t network_of(int fd)
{
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);
	const struct in6_addr *six = &((struct sockaddr_in6 *)&peer)->sin6_addr;
	uint32_t four;
	uint64_t prefix;

	memset(&peer, 0, sizeof(peer));
	if (getpeername(fd, (struct sockaddr *)&peer, &n) ||
	    (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
		return 0;
	if (peer.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(six)) {
		memcpy(&prefix, six, sizeof(prefix));
		return IN6_IS_ADDR_LOOPBACK(six) ? 0 : prefix;
	}
	if (peer.ss_family == AF_INET6)
		memcpy(&four, (const char *)six + 12, sizeof(four));
	else
		four = ((struct sockaddr_in *)&peer)->sin_addr.s_addr;
	return ntohl(four) >> 24 == IN_LOOPBACKNET ? 0 : four;
}

struct net_watched *net_watch_add(struct net_watch *w, int fd)
{
	struct net_watched *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->network = network_of(fd);
	c->since_ns = net_now();
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
	pthread_mutex_lock(&w->lock);
	w->most = most;
	make_room(w, net_now());
	pthread_mutex_unlock(&w->lock);
}

void net_watch_known(struct net_watch *w, struct net_watched *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&w->lock);
	c->known = true;
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

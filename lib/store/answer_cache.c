/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A least-recently-used cache of answers, one list under one lock. An answer is on the list while
 * it is computed, so that it is computed once; if that fails, its entry is removed and the clients
 * that wait for it start again. Computing goes on until the last client that waits for it has gone,
 * whichever of them started it.
 */
#include "lib/store/answer_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS	 50000000   /* how often a waiting client checks whether it is cancelled */
#define FRESH_NS 1000000000 /* an answer about a growing file is used up to this age… */
#define SHARE	 4	    /* …or up to so many times the time that it takes to compute */

struct held {
	struct held *next;
	char *question, *state, *thing;
	uint64_t size;
	void (*free)(void *value);
	void *value;
	bool ready, growing;
	unsigned users;	  /* clients that use it, wait for it or compute it */
	bool taken, gone; /* off the list: the last user frees it */
	atomic_uint waiting;
	double done, total; /* progress, for the waiting clients */
	char doing[64];
	uint64_t used; /* number of its last use */
	int64_t made_ns;
	uint64_t took_ns;
};

struct held_shelf {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct held *first;
	unsigned most;
	uint64_t uses;
};

int64_t held_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct held_shelf *held_shelf_new(unsigned most)
{
	struct held_shelf *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	s->most = most;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	return s;
}

static void free_entry(struct held *h)
{
	if (h->ready)
		h->free(h->value);
	free(h->question);
	free(h->state);
	free(h->thing);
	free(h);
}

void held_shelf_free(struct held_shelf *s)
{
	struct held *h, *next;

	if (!s)
		return;
	for (h = s->first; h; h = next) {
		next = h->next;
		free_entry(h);
	}
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void unlink_held(struct held_shelf *s, struct held *h)
{
	struct held **at = &s->first;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
}

/* Under the lock: what nobody uses goes, the least recently used first, and at once what a newer
 * one of the same question replaces. */
static void make_room(struct held_shelf *s, const struct held *newest)
{
	struct held *h, *next;

	for (h = s->first; h; h = next) {
		next = h->next;
		if (h != newest && !h->users && !strcmp(h->question, newest->question)) {
			unlink_held(s, h);
			free_entry(h);
		}
	}
	for (;;) {
		struct held *oldest = NULL;
		unsigned idle = 0;

		for (h = s->first; h; h = h->next) {
			idle += !h->users;
			if (!h->users && (!oldest || h->used < oldest->used))
				oldest = h;
		}
		if (idle <= s->most)
			return;
		unlink_held(s, oldest);
		free_entry(oldest);
	}
}

static bool is_match(const struct held *h, const struct held_want *want)
{
	uint64_t age, allowed;

	if (strcmp(h->question, want->question) != 0)
		return false;
	if (!strcmp(h->state, want->state))
		return true;
	if (!want->grows || !h->ready || !h->growing || strcmp(h->thing, want->thing) != 0 ||
	    want->size < h->size)
		return false;
	age = (uint64_t)(held_now_ns() - h->made_ns);
	allowed = h->took_ns * SHARE > FRESH_NS ? h->took_ns * SHARE : FRESH_NS;
	return age <= allowed;
}

static struct held *find_entry(struct held_shelf *s, const struct held_want *want)
{
	for (struct held *h = s->first; h; h = h->next)
		if (is_match(h, want))
			return h;
	return NULL;
}

static struct held *add_entry(struct held_shelf *s, const struct held_want *want)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->question = strdup(want->question);
	h->state = strdup(want->state);
	h->thing = strdup(want->thing);
	h->size = want->size;
	h->free = want->free;
	h->users = 1;
	h->taken = true;
	if (!h->question || !h->state || !h->thing) {
		free_entry(h);
		return NULL;
	}
	h->next = s->first;
	s->first = h;
	return h;
}

/* Under the lock. */
static void release_entry(struct held *h)
{
	if (!--h->users && h->gone)
		free_entry(h);
}

/* The first client computes for those that wait, too: it stops only when none is left. */
struct making {
	struct mcp_ctx asker; /* first: the callbacks cast it back */
	const struct mcp_ctx *by;
	struct held_shelf *shelf;
	struct held *h;
};

static bool making_stops(const struct mcp_ctx *a)
{
	const struct making *m = (const struct making *)a;
	bool stops = mcp_ctx_stops(m->by) && !atomic_load(&m->h->waiting);

	/* A client that reads the progress counts as waiting again before it unlocks. */
	if (stops) {
		pthread_mutex_lock(&m->shelf->lock);
		stops = !atomic_load(&m->h->waiting);
		pthread_mutex_unlock(&m->shelf->lock);
	}
	return stops;
}

static void making_progress(const struct mcp_ctx *a, double done, double total, const char *message)
{
	const struct making *m = (const struct making *)a;

	mcp_ctx_progress(m->by, done, total, message);
	/* No other thread writes these members. */
	if (!atomic_load(&m->h->waiting) || m->h->done == done)
		return;
	pthread_mutex_lock(&m->shelf->lock);
	m->h->done = done;
	m->h->total = total;
	snprintf(m->h->doing, sizeof(m->h->doing), "%s", message ? message : "");
	pthread_mutex_unlock(&m->shelf->lock);
}

static void making_log(const struct mcp_ctx *a, enum mcp_log_level level, const char *message)
{
	mcp_ctx_log(((const struct making *)a)->by, level, message);
}

/* Called with the lock held, which is released while the answer is computed. */
static int make_answer(struct held_shelf *s, const struct held_want *want,
		       const struct mcp_ctx *asker, struct held **out, struct err *e)
{
	struct held *h = add_entry(s, want);
	const struct making m = { { making_stops, making_progress, making_log }, asker, s, h };
	int64_t from = held_now_ns();
	int rc;

	if (!h)
		return err_nomem(e);
	pthread_mutex_unlock(&s->lock);
	rc = want->make(want->ctx, &m.asker, &h->value, &h->growing, e);
	pthread_mutex_lock(&s->lock);
	pthread_cond_broadcast(&s->changed);
	if (rc) {
		/* Waiting clients search the list again; they do not read the entry. */
		unlink_held(s, h);
		h->gone = true;
		release_entry(h);
		return rc;
	}
	h->ready = true;
	h->made_ns = held_now_ns();
	h->took_ns = (uint64_t)(h->made_ns - from);
	h->used = ++s->uses;
	make_room(s, h);
	if (mcp_ctx_stops(asker)) {
		h->taken = false;
		release_entry(h);
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	*out = h;
	return 0;
}

/* For h; under the lock, which is let go meanwhile. */
static int wait_a_little(struct held_shelf *s, struct held *h, const struct mcp_ctx *asker,
			 struct err *e)
{
	int64_t until = held_now_ns() + LOOK_NS;
	struct timespec t = { until / 1000000000, until % 1000000000 };
	char doing[sizeof(h->doing)];
	double done, total;

	h->users++;
	atomic_fetch_add(&h->waiting, 1);
	pthread_cond_timedwait(&s->changed, &s->lock, &t);
	done = h->ready ? 0 : h->done;
	total = h->total;
	memcpy(doing, h->doing, sizeof(doing));
	pthread_mutex_unlock(&s->lock);
	if (done > 0)
		mcp_ctx_progress(asker, done, total, doing);
	pthread_mutex_lock(&s->lock);
	atomic_fetch_sub(&h->waiting, 1);
	release_entry(h);
	return mcp_ctx_stops(asker) ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0;
}

int held_take(struct held_shelf *s, const struct held_want *want, const struct mcp_ctx *asker,
	      struct held **out, struct err *e)
{
	int64_t ready_ns = 0; /* since when it only waits for others */
	int rc = 0;

	*out = NULL;
	pthread_mutex_lock(&s->lock);
	while (!rc && !*out) {
		struct held *h = find_entry(s, want);

		if (!h) {
			rc = make_answer(s, want, asker, out, e);
		} else if (h->ready && !h->taken) {
			h->taken = true;
			h->users++;
			h->used = ++s->uses;
			*out = h;
		} else {
			if (h->ready && !ready_ns)
				ready_ns = held_now_ns();
			if (ready_ns && want->wait_ns &&
			    held_now_ns() - ready_ns >= (int64_t)want->wait_ns)
				rc = err_set(e, ERR_LIMIT,
					     "others are being answered, for longer than this "
					     "question may wait: ask again in a while");
			rc = rc ? rc : wait_a_little(s, h, asker, e);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void *held_value(const struct held *h)
{
	return h->value;
}

uint64_t held_took_ns(const struct held *h)
{
	return h->took_ns;
}

uint64_t held_age_ns(const struct held *h)
{
	return (uint64_t)(held_now_ns() - h->made_ns);
}

void held_give(struct held_shelf *s, struct held *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&s->lock);
	h->taken = false;
	h->users--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

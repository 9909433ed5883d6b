/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A least-recently-used cache of answers, one list under one lock. What is being made is on it
 * already, so that nobody begins it twice; what could not be made is taken off it, and who waited
 * for it begins anew. It is made for as long as anybody wants it, whoever began.
 */
#include "lib/store/answer_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS	 50000000   /* how often who waits asks whether to go on */
#define FRESH_NS 1000000000 /* of what grows, so old is new enough */
#define SHARE	 4	    /* …or so many times as old as it takes to make */

struct held {
	struct held *next;
	char *question, *state, *thing;
	uint64_t size;
	void (*free)(void *value);
	void *value;
	bool ready, growing;
	unsigned users;	  /* who uses it, waits to, or makes it */
	bool taken, gone; /* off the list: the last user drops it */
	atomic_uint waiting;
	double done, total; /* how far it is, for those */
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

static void drop(struct held *h)
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
		drop(h);
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
			drop(h);
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
		drop(oldest);
	}
}

static bool fits(const struct held *h, const struct held_want *want)
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

static struct held *find(struct held_shelf *s, const struct held_want *want)
{
	for (struct held *h = s->first; h; h = h->next)
		if (fits(h, want))
			return h;
	return NULL;
}

static struct held *begin(struct held_shelf *s, const struct held_want *want)
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
		drop(h);
		return NULL;
	}
	h->next = s->first;
	s->first = h;
	return h;
}

/* Under the lock. */
static void leave(struct held *h)
{
	if (!--h->users && h->gone)
		drop(h);
}

/* Who asked first asks for those who wait, too. */
struct making {
	struct mcp_ctx asker; /* first: it asks us */
	const struct mcp_ctx *by;
	struct held_shelf *shelf;
	struct held *h;
};

static bool making_stops(const struct mcp_ctx *a)
{
	const struct making *m = (const struct making *)a;
	bool stops = mcp_ctx_stops(m->by) && !atomic_load(&m->h->waiting);

	/* Who looks how far it is waits again before the lock is let go. */
	if (stops) {
		pthread_mutex_lock(&m->shelf->lock);
		stops = !atomic_load(&m->h->waiting);
		pthread_mutex_unlock(&m->shelf->lock);
	}
	return stops;
}

static void making_goes_on(const struct mcp_ctx *a, double done, double total, const char *message)
{
	const struct making *m = (const struct making *)a;

	mcp_ctx_progress(m->by, done, total, message);
	/* Nobody else writes there. */
	if (!atomic_load(&m->h->waiting) || m->h->done == done)
		return;
	pthread_mutex_lock(&m->shelf->lock);
	m->h->done = done;
	m->h->total = total;
	snprintf(m->h->doing, sizeof(m->h->doing), "%s", message ? message : "");
	pthread_mutex_unlock(&m->shelf->lock);
}

static void making_says(const struct mcp_ctx *a, enum mcp_log_level level, const char *message)
{
	mcp_ctx_log(((const struct making *)a)->by, level, message);
}

/* Under the lock, which is let go meanwhile. */
static int make(struct held_shelf *s, const struct held_want *want, const struct mcp_ctx *asker,
		struct held **out, struct err *e)
{
	struct held *h = begin(s, want);
	const struct making m = { { making_stops, making_goes_on, making_says }, asker, s, h };
	int64_t from = held_now_ns();
	int rc;

	if (!h)
		return err_nomem(e);
	pthread_mutex_unlock(&s->lock);
	rc = want->make(want->ctx, &m.asker, &h->value, &h->growing, e);
	pthread_mutex_lock(&s->lock);
	pthread_cond_broadcast(&s->changed);
	if (rc) {
		/* Who waits for it looks for it on the list, not at it. */
		unlink_held(s, h);
		h->gone = true;
		leave(h);
		return rc;
	}
	h->ready = true;
	h->made_ns = held_now_ns();
	h->took_ns = (uint64_t)(h->made_ns - from);
	h->used = ++s->uses;
	make_room(s, h);
	if (mcp_ctx_stops(asker)) {
		h->taken = false;
		leave(h);
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
	leave(h);
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
		struct held *h = find(s, want);

		if (!h) {
			rc = make(s, want, asker, out, e);
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

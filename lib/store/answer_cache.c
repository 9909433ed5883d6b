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

#define CHECK_NS 50000000   /* how often a waiting client checks whether it is cancelled */
#define FRESH_NS 1000000000 /* an answer about a growing file is used up to this age… */
#define SHARE	 4	    /* …or up to so many times the time that it takes to compute */

struct cached_answer {
	struct cached_answer *next;
	char *question, *state, *identity;
	uint64_t size;
	void (*free)(void *value);
	void *value;
	bool ready, growing;
	unsigned users;	      /* clients that use it, wait for it or compute it */
	bool in_use, removed; /* off the list: the last user frees it */
	atomic_uint waiting;
	double done, total; /* progress, for the waiting clients */
	char activity[64];
	uint64_t last_use; /* number of its last use */
	int64_t computed_at_ns;
	uint64_t compute_ns;
};

struct answer_cache {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cached_answer *first;
	unsigned idle_max;
	uint64_t uses;
};

int64_t answer_cache_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct answer_cache *answer_cache_new(unsigned idle_max)
{
	struct answer_cache *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return NULL;
	c->idle_max = idle_max;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);
	return c;
}

static void free_entry(struct cached_answer *a)
{
	if (a->ready)
		a->free(a->value);
	free(a->question);
	free(a->state);
	free(a->identity);
	free(a);
}

void answer_cache_free(struct answer_cache *c)
{
	struct cached_answer *a, *next;

	if (!c)
		return;
	for (a = c->first; a; a = next) {
		next = a->next;
		free_entry(a);
	}
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void unlink_entry(struct answer_cache *c, struct cached_answer *a)
{
	struct cached_answer **at = &c->first;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
}

/* Under the lock: frees unused answers beyond idle_max, the least recently used first, and unused
 * older answers to the question of the newest. */
static void make_room(struct answer_cache *c, const struct cached_answer *newest)
{
	struct cached_answer *a, *next;

	for (a = c->first; a; a = next) {
		next = a->next;
		if (a != newest && !a->users && !strcmp(a->question, newest->question)) {
			unlink_entry(c, a);
			free_entry(a);
		}
	}
	for (;;) {
		struct cached_answer *oldest = NULL;
		unsigned idle = 0;

		for (a = c->first; a; a = a->next) {
			idle += !a->users;
			if (!a->users && (!oldest || a->last_use < oldest->last_use))
				oldest = a;
		}
		if (idle <= c->idle_max)
			return;
		unlink_entry(c, oldest);
		free_entry(oldest);
	}
}

static bool is_match(const struct cached_answer *a, const struct answer_lookup *lookup)
{
	uint64_t age, allowed;

	if (strcmp(a->question, lookup->question) != 0)
		return false;
	if (!strcmp(a->state, lookup->state))
		return true;
	if (!lookup->grows || !a->ready || !a->growing ||
	    strcmp(a->identity, lookup->identity) != 0 || lookup->size < a->size)
		return false;
	age = (uint64_t)(answer_cache_now_ns() - a->computed_at_ns);
	allowed = a->compute_ns * SHARE > FRESH_NS ? a->compute_ns * SHARE : FRESH_NS;
	return age <= allowed;
}

static struct cached_answer *find_entry(struct answer_cache *c, const struct answer_lookup *lookup)
{
	for (struct cached_answer *a = c->first; a; a = a->next)
		if (is_match(a, lookup))
			return a;
	return NULL;
}

static struct cached_answer *add_entry(struct answer_cache *c, const struct answer_lookup *lookup)
{
	struct cached_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->question = strdup(lookup->question);
	a->state = strdup(lookup->state);
	a->identity = strdup(lookup->identity);
	a->size = lookup->size;
	a->free = lookup->free;
	a->users = 1;
	a->in_use = true;
	if (!a->question || !a->state || !a->identity) {
		free_entry(a);
		return NULL;
	}
	a->next = c->first;
	c->first = a;
	return a;
}

/* Under the lock. */
static void release_entry(struct cached_answer *a)
{
	if (!--a->users && a->removed)
		free_entry(a);
}

/* The first client computes for those that wait, too: it stops only when none is left. */
struct computation {
	struct request_ctx rctx; /* first: the callbacks cast it back */
	const struct request_ctx *by;
	struct answer_cache *cache;
	struct cached_answer *answer;
};

static bool computation_should_stop(const struct request_ctx *rctx)
{
	const struct computation *m = (const struct computation *)rctx;
	bool stops = request_ctx_should_stop(m->by) && !atomic_load(&m->answer->waiting);

	/* A client that reads the progress counts as waiting again before it unlocks. */
	if (stops) {
		pthread_mutex_lock(&m->cache->lock);
		stops = !atomic_load(&m->answer->waiting);
		pthread_mutex_unlock(&m->cache->lock);
	}
	return stops;
}

static void report_computation(const struct request_ctx *rctx, double done, double total,
			       const char *message)
{
	const struct computation *m = (const struct computation *)rctx;

	request_ctx_progress(m->by, done, total, message);
	/* No other thread writes these members. */
	if (!atomic_load(&m->answer->waiting) || m->answer->done == done)
		return;
	pthread_mutex_lock(&m->cache->lock);
	m->answer->done = done;
	m->answer->total = total;
	snprintf(m->answer->activity, sizeof(m->answer->activity), "%s", message ? message : "");
	pthread_mutex_unlock(&m->cache->lock);
}

static void log_computation(const struct request_ctx *rctx, enum request_log_level level,
			    const char *message)
{
	request_ctx_log(((const struct computation *)rctx)->by, level, message);
}

/* Called with the lock held, which is released while the answer is computed. */
static int compute_answer(struct answer_cache *c, const struct answer_lookup *lookup,
			  const struct request_ctx *rctx, struct cached_answer **out, struct err *e)
{
	struct cached_answer *a = add_entry(c, lookup);
	const struct computation m = {
		{ computation_should_stop, report_computation, log_computation }, rctx, c, a
	};
	int64_t from = answer_cache_now_ns();
	int rc;

	if (!a)
		return err_nomem(e);
	pthread_mutex_unlock(&c->lock);
	rc = lookup->compute(lookup->ctx, &m.rctx, &a->value, &a->growing, e);
	pthread_mutex_lock(&c->lock);
	pthread_cond_broadcast(&c->changed);
	if (rc) {
		/* Waiting clients search the list again; they do not read the entry. */
		unlink_entry(c, a);
		a->removed = true;
		release_entry(a);
		return rc;
	}
	a->ready = true;
	a->computed_at_ns = answer_cache_now_ns();
	a->compute_ns = (uint64_t)(a->computed_at_ns - from);
	a->last_use = ++c->uses;
	make_room(c, a);
	if (request_ctx_should_stop(rctx)) {
		a->in_use = false;
		release_entry(a);
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	*out = a;
	return 0;
}

/* Called with the lock held, which is released while this thread sleeps. */
static int wait_for_answer(struct answer_cache *c, struct cached_answer *a,
			   const struct request_ctx *rctx, struct err *e)
{
	int64_t until = answer_cache_now_ns() + CHECK_NS;
	struct timespec t = { until / 1000000000, until % 1000000000 };
	char activity[sizeof(a->activity)];
	double done, total;

	a->users++;
	atomic_fetch_add(&a->waiting, 1);
	pthread_cond_timedwait(&c->changed, &c->lock, &t);
	done = a->ready ? 0 : a->done;
	total = a->total;
	memcpy(activity, a->activity, sizeof(activity));
	pthread_mutex_unlock(&c->lock);
	if (done > 0)
		request_ctx_progress(rctx, done, total, activity);
	pthread_mutex_lock(&c->lock);
	atomic_fetch_sub(&a->waiting, 1);
	release_entry(a);
	return request_ctx_should_stop(rctx) ? err_set(e, ERR_INTERRUPTED, "interrupted") : 0;
}

int answer_cache_get(struct answer_cache *c, const struct answer_lookup *lookup,
		     const struct request_ctx *rctx, struct cached_answer **out, struct err *e)
{
	int64_t ready_ns = 0; /* since when another client uses the answer */
	int rc = 0;

	*out = NULL;
	pthread_mutex_lock(&c->lock);
	while (!rc && !*out) {
		struct cached_answer *a = find_entry(c, lookup);

		if (!a) {
			rc = compute_answer(c, lookup, rctx, out, e);
		} else if (a->ready && !a->in_use) {
			a->in_use = true;
			a->users++;
			a->last_use = ++c->uses;
			*out = a;
		} else {
			if (a->ready && !ready_ns)
				ready_ns = answer_cache_now_ns();
			if (ready_ns && lookup->wait_ns &&
			    answer_cache_now_ns() - ready_ns >= (int64_t)lookup->wait_ns)
				rc = err_set(e, ERR_LIMIT,
					     "others are being answered, for longer than this "
					     "question may wait: ask again in a while");
			rc = rc ? rc : wait_for_answer(c, a, rctx, e);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void *cached_answer_value(const struct cached_answer *a)
{
	return a->value;
}

uint64_t cached_answer_compute_ns(const struct cached_answer *a)
{
	return a->compute_ns;
}

uint64_t cached_answer_age_ns(const struct cached_answer *a)
{
	return (uint64_t)(answer_cache_now_ns() - a->computed_at_ns);
}

void answer_cache_release(struct answer_cache *c, struct cached_answer *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&c->lock);
	a->in_use = false;
	a->users--;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

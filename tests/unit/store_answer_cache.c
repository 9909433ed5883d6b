/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two want the same answer, which takes long: it is worked out once, whoever of them gives up, and
 * both hear how far it is.
 */
#include "lib/store/answer_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/tap.h"

#define PATIENT 5000 /* steps that anybody waits for anything */

static atomic_uint made, allowed;

static void step(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Done when that is allowed. */
static int make(void *ctx, const struct request_ctx *rctx, void **value, bool *growing,
		struct err *e)
{
	atomic_fetch_add(&made, 1);
	for (unsigned i = 0; i < PATIENT && !atomic_load(&allowed); i++) {
		if (request_ctx_should_stop(rctx))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		request_ctx_progress(rctx, i + 1, PATIENT, "making");
		step();
	}
	*value = strdup("made");
	return *value ? 0 : err_nomem(e);
}

struct client {
	struct request_ctx rctx; /* first: it asks us */
	pthread_t thread;
	struct answer_cache *cache;
	atomic_bool gives_up;
	unsigned slow; /* steps that it takes to hear */
	atomic_uint heard;
	int rc;
};

static bool stop(const struct request_ctx *a)
{
	return atomic_load(&((struct client *)a)->gives_up);
}

static void progress(const struct request_ctx *a, double done, double total, const char *message)
{
	if (done > 0 && total == PATIENT && !strcmp(message, "making"))
		atomic_fetch_add(&((struct client *)a)->heard, 1);
	for (unsigned i = 0; i < ((struct client *)a)->slow; i++)
		step();
}

static void *ask(void *ctx)
{
	const struct answer_lookup want = {
		.question = "q", .state = "s", .identity = "t", .compute = make, .free = free
	};
	struct client *a = ctx;
	struct cached_answer *h = NULL;
	struct err e;

	a->rc = answer_cache_get(a->cache, &want, &a->rctx, &h, &e);
	answer_cache_release(a->cache, h);
	return NULL;
}

static void begin(struct client *a, struct answer_cache *cache, unsigned slow)
{
	*a = (struct client){ .rctx = { stop, progress, NULL }, .cache = cache, .slow = slow };
	if (pthread_create(&a->thread, NULL, ask, a))
		abort();
	for (unsigned i = 0; i < PATIENT && !atomic_load(&a->heard); i++)
		step();
}

/* One has the answer and keeps it. */
static void test_wait(void)
{
	struct answer_cache *cache = answer_cache_new(4);
	const struct answer_lookup want = { .question = "q",
					    .state = "s",
					    .identity = "t",
					    .compute = make,
					    .free = free,
					    .wait_ns = 100000000 };
	struct cached_answer *h = NULL, *other = NULL;
	struct err e = { 0 };

	atomic_store(&allowed, 1);
	is_int(answer_cache_get(cache, &want, NULL, &h, &e), 0, "one has it");
	is_int(answer_cache_get(cache, &want, NULL, &other, &e), ERR_LIMIT, "others wait so long");
	ok(!other, "and do not get it");
	answer_cache_release(cache, h);
	is_int(answer_cache_get(cache, &want, NULL, &other, &e), 0, "until it is given back");
	answer_cache_release(cache, other);
	answer_cache_free(cache);
}

int main(void)
{
	struct answer_cache *cache = answer_cache_new(4);
	struct client first, second, third;

	begin(&first, cache, 0);
	/* While it hears, it still wants it. */
	begin(&second, cache, 100);
	ok(atomic_load(&second.heard), "who waits for it hears how far it is, too");
	atomic_store(&first.gives_up, true);
	for (unsigned i = 0; i < 100; i++)
		step();
	atomic_store(&allowed, 1);
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	is_int(first.rc, ERR_INTERRUPTED, "the first gives up");
	is_int(second.rc, 0, "the second has it");
	is_u64(atomic_load(&made), 1, "made once");
	answer_cache_free(cache);

	cache = answer_cache_new(4);
	atomic_store(&allowed, 0);
	begin(&first, cache, 0);
	begin(&second, cache, 0);
	begin(&third, cache, 0);
	atomic_store(&second.gives_up, true);
	pthread_join(second.thread, NULL);
	is_int(second.rc, ERR_INTERRUPTED, "one who waits gives up");
	atomic_store(&third.gives_up, true);
	atomic_store(&first.gives_up, true);
	pthread_join(first.thread, NULL);
	pthread_join(third.thread, NULL);
	ok(first.rc == ERR_INTERRUPTED && third.rc == ERR_INTERRUPTED && !atomic_load(&allowed),
	   "when nobody wants it any more it is let go");
	answer_cache_free(cache);
	test_wait();
	return tap_done();
}

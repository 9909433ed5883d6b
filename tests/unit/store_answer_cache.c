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
static int make(void *ctx, const struct mcp_ctx *asker, void **value, bool *growing, struct err *e)
{
	atomic_fetch_add(&made, 1);
	for (unsigned i = 0; i < PATIENT && !atomic_load(&allowed); i++) {
		if (mcp_ctx_stops(asker))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		mcp_ctx_progress(asker, i + 1, PATIENT, "making");
		step();
	}
	*value = strdup("made");
	return *value ? 0 : err_nomem(e);
}

struct asker {
	struct mcp_ctx asker; /* first: it asks us */
	pthread_t thread;
	struct held_shelf *shelf;
	atomic_bool gives_up;
	unsigned slow; /* steps that it takes to hear */
	atomic_uint heard;
	int rc;
};

static bool stop(const struct mcp_ctx *a)
{
	return atomic_load(&((struct asker *)a)->gives_up);
}

static void progress(const struct mcp_ctx *a, double done, double total, const char *message)
{
	if (done > 0 && total == PATIENT && !strcmp(message, "making"))
		atomic_fetch_add(&((struct asker *)a)->heard, 1);
	for (unsigned i = 0; i < ((struct asker *)a)->slow; i++)
		step();
}

static void *ask(void *ctx)
{
	const struct held_want want = {
		.question = "q", .state = "s", .thing = "t", .make = make, .free = free
	};
	struct asker *a = ctx;
	struct held *h = NULL;
	struct err e;

	a->rc = held_take(a->shelf, &want, &a->asker, &h, &e);
	held_give(a->shelf, h);
	return NULL;
}

static void begin(struct asker *a, struct held_shelf *shelf, unsigned slow)
{
	*a = (struct asker){ .asker = { stop, progress, NULL }, .shelf = shelf, .slow = slow };
	if (pthread_create(&a->thread, NULL, ask, a))
		abort();
	for (unsigned i = 0; i < PATIENT && !atomic_load(&a->heard); i++)
		step();
}

/* One has the answer and keeps it. */
static void test_wait(void)
{
	struct held_shelf *shelf = held_shelf_new(4);
	const struct held_want want = { .question = "q",
					.state = "s",
					.thing = "t",
					.make = make,
					.free = free,
					.wait_ns = 100000000 };
	struct held *h = NULL, *other = NULL;
	struct err e = { 0 };

	atomic_store(&allowed, 1);
	is_int(held_take(shelf, &want, NULL, &h, &e), 0, "one has it");
	is_int(held_take(shelf, &want, NULL, &other, &e), ERR_LIMIT, "others wait so long");
	ok(!other, "and do not get it");
	held_give(shelf, h);
	is_int(held_take(shelf, &want, NULL, &other, &e), 0, "until it is given back");
	held_give(shelf, other);
	held_shelf_free(shelf);
}

int main(void)
{
	struct held_shelf *shelf = held_shelf_new(4);
	struct asker first, second, third;

	begin(&first, shelf, 0);
	/* While it hears, it still wants it. */
	begin(&second, shelf, 100);
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
	held_shelf_free(shelf);

	shelf = held_shelf_new(4);
	atomic_store(&allowed, 0);
	begin(&first, shelf, 0);
	begin(&second, shelf, 0);
	begin(&third, shelf, 0);
	atomic_store(&second.gives_up, true);
	pthread_join(second.thread, NULL);
	is_int(second.rc, ERR_INTERRUPTED, "one who waits gives up");
	atomic_store(&third.gives_up, true);
	atomic_store(&first.gives_up, true);
	pthread_join(first.thread, NULL);
	pthread_join(third.thread, NULL);
	ok(first.rc == ERR_INTERRUPTED && third.rc == ERR_INTERRUPTED && !atomic_load(&allowed),
	   "when nobody wants it any more it is let go");
	held_shelf_free(shelf);
	test_wait();
	return tap_done();
}

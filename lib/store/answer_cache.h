/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of answers: the same question about an unchanged recording is computed once. An answer is
 * found by its question and by the state of the files it is about; the least recently used ones are
 * freed. Thread-safe: one thread computes an answer while others that want the same wait for it,
 * and one thread at a time uses it. A client that gives up does not affect those that wait.
 */
#ifndef INGERO_STORE_ANSWER_CACHE_H
#define INGERO_STORE_ANSWER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/store/request_ctx.h"

struct answer_cache;
struct cached_answer;

/* Computes *value. *growing: the recording it is about is still written. */
typedef int answer_compute_fn(void *ctx, const struct request_ctx *rctx, void **value,
			      bool *growing, struct err *e);

struct answer_lookup {
	const char *question;
	const char *state;    /* of the files: an answer about another state is not used */
	const char *identity; /* of the files: stays the same while they grow */
	uint64_t size;	      /* of the files: never shrinks while they grow */
	answer_compute_fn *compute;
	void *ctx;
	void (*free)(void *value);
	bool grows;	  /* the files are still written: an answer that is a bit older will do */
	uint64_t wait_ns; /* how long to wait while others use the answer; 0: no limit */
};

/* idle_max: how many unused answers are stored. NULL: out of memory. */
struct answer_cache *answer_cache_new(unsigned idle_max);
/* No answer may be in use any more. */
void answer_cache_free(struct answer_cache *c);

/* The answer, which is the caller's alone until answer_cache_release. If the files grow, it may be
 * an older one: at most a second old, or four times what it took to compute. ERR_INTERRUPTED: the
 * client gave up; ERR_LIMIT: others used it for longer than wait_ns; otherwise what compute
 * returns. rctx may be NULL. */
int answer_cache_get(struct answer_cache *c, const struct answer_lookup *lookup,
		     const struct request_ctx *rctx, struct cached_answer **out, struct err *e);
/* a may be NULL. */
void answer_cache_release(struct answer_cache *c, struct cached_answer *a);

void *cached_answer_value(const struct cached_answer *a);
/* How long it took to compute, and how old it is. */
uint64_t cached_answer_compute_ns(const struct cached_answer *a);
uint64_t cached_answer_age_ns(const struct cached_answer *a);
int64_t answer_cache_now_ns(void); /* CLOCK_MONOTONIC */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that are kept, so that the same question asked of an unchanged recording is not worked
 * out twice. An answer is found by the question and by the state of what it was asked of; the least
 * recently used ones go. Any number of threads: one works an answer out while others who want the
 * same wait for it, and one at a time uses it. Who gives up does so alone: what others wait for is
 * worked out to its end.
 */
#ifndef INGERO_STORE_ANSWER_CACHE_H
#define INGERO_STORE_ANSWER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/store/mcp_catalog.h"

struct held_shelf;
struct held;

/* Works out *value. *growing: it is of something that grows meanwhile. */
typedef int held_make(void *ctx, const struct mcp_ctx *asker, void **value, bool *growing,
		      struct err *e);

struct held_want {
	const char *question;
	const char *state; /* of what it is asked of: another state, another answer */
	const char *thing; /* the same thing while it grows… */
	uint64_t size;	   /* …and never shrinks */
	held_make *make;
	void *ctx;
	void (*free)(void *value);
	bool grows;	  /* it still does: an older answer of it will do */
	uint64_t wait_ns; /* for the answer while others have it; 0: as long as they do */
};

/* most: answers kept that nobody uses. NULL: out of memory. */
struct held_shelf *held_shelf_new(unsigned most);
/* Nobody may use any of them any more. */
void held_shelf_free(struct held_shelf *s);

/* The answer, which is the caller's alone until held_give. Of what still grows, an older one as
 * well: not older than a second, or than four times what it took to work out. ERR_INTERRUPTED: the
 * asker gave up; ERR_LIMIT: others had it for longer than wait_ns; otherwise as make says. asker
 * may be NULL. */
int held_take(struct held_shelf *s, const struct held_want *want, const struct mcp_ctx *asker,
	      struct held **out, struct err *e);
void *held_value(const struct held *h);
/* How long it took to work out, and how old it is. */
uint64_t held_took_ns(const struct held *h);
uint64_t held_age_ns(const struct held *h);
int64_t held_now_ns(void); /* CLOCK_MONOTONIC */
void held_give(struct held_shelf *s, struct held *h);

#endif

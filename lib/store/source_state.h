/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a source, for the files that make one up.
 */
#ifndef INGERO_STORE_SOURCE_STATE_H
#define INGERO_STORE_SOURCE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/ige/block.h"
#include "lib/input/input.h"
#include "lib/store/answer_cache.h"
#include "lib/store/source.h"

struct store_source {
	struct store_source_options opt;
	bool archive;
	struct answer_cache *cache;
	struct answer_cache *archives;	/* made of recordings: one is kept */
	pthread_mutex_t lock;		/* of what follows */
	struct source_growing *growing; /* a recording that is still written; NULL: none */
	pthread_mutex_t counting_lock; /* of what follows: its figures do not wait for its causes */
	struct source_counting *counting; /* the same recording; NULL */
	pthread_t warmer;
	bool warming;
	void (*failed)(const char *why); /* of the warmer */
	atomic_bool over;
	pthread_mutex_t list_lock;	    /* held while a list is made */
	_Atomic(struct source_list *) list; /* the latest names; NULL: those of opt */
	VEC(char *) texts;		    /* of lists */
};

/* Looks whether a run goes on in other files: names are those of now from here on. */
int source_look(struct store_source *s, struct err *e);
/* Opens them. sel: as input_open_within has it; NULL: all of them. */
int source_input(struct store_source *s, struct input **in, struct world *w, struct filter *sel,
		 struct err *e);
void source_lists_free(struct store_source *s);

/* The state of the inputs as they stand, and whether somebody still writes one of them, for
 * answer_cache_get. */
struct source_state {
	struct buf state, identity;
	uint64_t size;
	bool grows;
};
int source_state_of(struct store_source *s, struct source_state *st, struct err *e);
void source_state_free(struct source_state *st);

/* Which recording it was that was read on, to see whether it still is. */
struct source_place {
	char *identity;				/* which files they were */
	unsigned char begin[IGE_SEGMENT_BYTES]; /* of the first of them */
	uint64_t size;				/* that they had at least */
};
int source_place_of(struct source_place *p, const struct store_source *s,
		    const struct source_state *now, struct err *e);
/* Whether it is there as it was, or longer. */
bool source_place_is(const struct source_place *p, const struct store_source *s,
		     const struct source_state *now);
void source_place_free(struct source_place *p);

/* Whether it is one recording that a recorder holds open. */
bool source_grows(const struct store_source *s);

/* An answer of the cache to question, asked of the inputs as they stand. */
int source_get_answer(struct store_source *s, struct answer_cache *cache, const char *question,
		      answer_compute_fn *compute, void *ctx, void (*release)(void *value),
		      const struct request_ctx *rctx, struct cached_answer **out, struct err *e);

/* Between two items: reports progress; ERR_INTERRUPTED when the request is cancelled. */
int source_tick(const struct request_ctx *rctx, struct input *in, const char *doing, struct err *e);

/* What was wrong with the input is appended to notes. */
struct ops_input source_quality(const struct input *in, struct buf *notes);

/* Whether the words choose nothing. */
bool source_everything(const struct filter_words *words);
/* The words, as part of a question. */
void source_words(struct buf *out, const struct filter_words *words);

#endif

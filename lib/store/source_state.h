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

/* Updates the list of names to the files that the run has now. */
int source_update_files(struct store_source *s, struct err *e);
/* Opens the files. sel: as input_open_within has it; NULL: all of them. */
int source_open_input(struct store_source *s, struct input **in, struct world *w,
		      struct filter *sel, struct err *e);
void source_free_lists(struct store_source *s);

/* The state of the files now, and whether one of them is still written: for answer_cache_get. */
struct source_state {
	struct buf state, identity;
	uint64_t size;
	bool grows;
};
int source_state_init(struct store_source *s, struct source_state *st, struct err *e);
void source_state_free(struct source_state *st);

/* Identifies the recording that is read while it grows, to detect that it was replaced. */
struct source_fingerprint {
	char *identity;				/* devices and inodes */
	unsigned char begin[IGE_SEGMENT_BYTES]; /* of the first file */
	uint64_t size;				/* of all files; they never shrink */
};
int source_fingerprint_init(struct source_fingerprint *p, const struct store_source *s,
			    const struct source_state *now, struct err *e);
/* Whether the files are still the same, or have grown. */
bool source_fingerprint_matches(const struct source_fingerprint *p, const struct store_source *s,
				const struct source_state *now);
void source_fingerprint_free(struct source_fingerprint *p);

/* Whether the source is one recording that a recorder still writes. */
bool source_is_growing(const struct store_source *s);

/* Gets the answer to question about the files as they are now from the cache. */
int source_get_answer(struct store_source *s, struct answer_cache *cache, const char *question,
		      answer_compute_fn *compute, void *ctx, void (*release)(void *value),
		      const struct request_ctx *rctx, struct cached_answer **out, struct err *e);

/* Between two items: reports progress; ERR_INTERRUPTED when the request is cancelled. */
int source_report_progress(const struct request_ctx *rctx, struct input *in, const char *doing,
			   struct err *e);

/* What was wrong with the input is appended to notes. */
struct ops_input source_input_quality(const struct input *in, struct buf *notes);

/* Whether the words select everything. */
bool source_selects_all(const struct filter_words *words);
/* The words, as part of a question. */
void source_append_words(struct buf *out, const struct filter_words *words);

#endif

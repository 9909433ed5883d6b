/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the events of a recording that is still written. The counting belongs to the source and to
 * every answer made of it: its lock is held while it reads and while an answer is written, the
 * source's lock only to find it.
 */
#include "lib/store/source_counting.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/query/stat.h"
#include "lib/base/jsonw.h"
#include "lib/event/section_rows.h"
#include "lib/store/source_child.h"

struct source_counting {
	atomic_uint refs;
	struct source_fingerprint fingerprint; /* under the source's counting_lock */

	pthread_mutex_t lock; /* of what follows */
	struct query_stat ask;
	const struct ops_summary *ops; /* NULL: more was counted since */
	struct ops_input input;
	struct buf notes;
	const struct request_ctx *rctx; /* while it reads */
	atomic_ullong done, total;	/* how far that is */
};

void source_counting_release(struct source_counting *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
		return;
	query_stat_free(&c->ask);
	source_fingerprint_free(&c->fingerprint);
	buf_free(&c->notes);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int report_progress(void *ctx, struct err *e)
{
	struct source_counting *c = ctx;
	uint64_t done, total, events;

	input_position(c->ask.in, &done, &total, &events);
	atomic_store(&c->done, total ? done : events);
	atomic_store(&c->total, total);
	return source_report_progress(c->rctx, c->ask.in, "counting", e);
}

/* Under the source's counting_lock. */
static int start_counting(struct store_source *s, const struct source_state *now, struct err *e)
{
	static const struct filter_words everything;
	struct source_counting *c = calloc(1, sizeof(*c));
	struct query_stat_options want = {
		.words = &everything, .sections = VIEW_ALL, .between = report_progress, .ctx = c
	};
	int rc;

	if (!c)
		return err_nomem(e);
	pthread_mutex_init(&c->lock, NULL);
	atomic_init(&c->refs, 1);
	want.names = store_source_names(s, &want.n);
	rc = query_stat_open(&c->ask, &want, e);
	rc = rc ? rc : source_fingerprint_init(&c->fingerprint, s, now, e);
	if (!rc && input_follow(c->ask.in))
		s->counting = c;
	else
		source_counting_release(c);
	return rc;
}

/* The counting in progress, or a new one for a recording that is still written; *out has a
 * reference of its own. *size: of the files now. */
static int find_counting(struct source_counting **out, struct store_source *s, uint64_t *size,
			 struct err *e)
{
	struct source_state now;
	int rc;

	pthread_mutex_lock(&s->counting_lock);
	rc = source_state_init(s, &now, e);
	if (!rc && s->counting && !source_fingerprint_matches(&s->counting->fingerprint, s, &now)) {
		source_counting_release(s->counting);
		s->counting = NULL;
	}
	if (!rc && !s->counting && source_is_growing(s))
		rc = start_counting(s, &now, e);
	*out = rc ? NULL : s->counting;
	if (*out)
		atomic_fetch_add(&(*out)->refs, 1);
	pthread_mutex_unlock(&s->counting_lock);
	*size = now.size;
	source_state_free(&now);
	return rc;
}

/* Notes the size that has been read; over: nothing more can be read, so that the source drops it
 * and only the answers made of it still refer to it. */
static void leave_counting(struct store_source *s, struct source_counting *c, uint64_t size,
			   bool over)
{
	pthread_mutex_lock(&s->counting_lock);
	if (c->fingerprint.size < size)
		c->fingerprint.size = size;
	if (over && s->counting == c) {
		s->counting = NULL;
		source_counting_release(c);
	}
	pthread_mutex_unlock(&s->counting_lock);
}

/* Under its lock. */
static int read_on(struct source_counting *c, const struct request_ctx *rctx, struct err *e)
{
	int rc;

	c->ops = NULL;
	c->rctx = rctx;
	rc = query_stat_read_on(&c->ask, e);
	c->rctx = NULL;
	rc = rc == ERR_TOO_NEW ? 0 : rc;
	if (rc)
		return rc;
	buf_reset(&c->notes);
	c->input = source_input_quality(c->ask.in, &c->notes);
	return c->input.growing ? 0 : query_stat_end(&c->ask, e);
}

/* Takes its lock, reporting the progress of the thread that holds it, which may read for long. */
static int lock_counting(struct source_counting *c, const struct request_ctx *rctx, struct err *e)
{
	const struct timespec look = { .tv_nsec = 20000000 };

	while (pthread_mutex_trylock(&c->lock)) {
		if (request_ctx_should_stop(rctx))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
		request_ctx_progress(rctx, (double)atomic_load(&c->done),
				     (double)atomic_load(&c->total), "counting");
		nanosleep(&look, NULL);
	}
	return 0;
}

int source_counting_acquire(struct source_counting **out, struct store_source *s,
			    const struct request_ctx *rctx, bool *growing, struct err *e)
{
	struct source_counting *c;
	uint64_t size;
	int rc = find_counting(&c, s, &size, e);

	*out = NULL;
	if (!c)
		return rc;
	rc = lock_counting(c, rctx, e);
	if (!rc) {
		rc = read_on(c, rctx, e);
		*growing = c->input.growing;
		pthread_mutex_unlock(&c->lock);
	}
	/* After a cancelled request the next one reads on from the same place. */
	leave_counting(s, c, rc ? 0 : size, rc ? rc != ERR_INTERRUPTED : !*growing);
	if (rc)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): one of its references is ours */
		source_counting_release(c);
	else
		*out = c;
	return rc;
}

/* ---- answers ---- */

static int use_answer(struct source_counting *c, struct store_stat *st, store_stat_fn *use,
		      void *ctx, struct err *e)
{
	if (!c->ops && !(c->ops = query_stat_answer(&c->ask, e)))
		return e->code;
	st->ops = c->ops;
	st->w = c->ask.w;
	return use(ctx, st, e);
}

struct if_over {
	struct source_counting *c;
	struct store_stat *st;
	struct jsonw *into;
	store_stat_fn *use;
	void *ctx;
};

/* In the child: the state of the JSON writer after the answer, then the text of the answer. */
static bool write_as_if_ended(void *aside, struct buf *found)
{
	struct if_over *a = aside;
	size_t before = a->into->out->n;
	struct err e;

	a->c->ops = NULL;
	if (query_stat_end(&a->c->ask, &e) || use_answer(a->c, a->st, a->use, a->ctx, &e) ||
	    a->into->out->failed)
		return false;
	buf_add(found, a->into, sizeof(*a->into));
	buf_add(found, a->into->out->p + before, a->into->out->n - before);
	return true;
}

/* An answer with ongoing waits, which cannot be undone when they end: made by a forked child.
 * False: there is no child. */
static bool use_answer_in_child(struct if_over *a, const struct request_ctx *rctx)
{
	struct buf found = { 0 };
	bool good = a->into && a->c->input.growing && query_ops_has_ongoing(a->c->ask.run) &&
		    source_run_child(write_as_if_ended, a, rctx, &found) &&
		    found.n >= sizeof(*a->into);

	if (good) {
		memcpy(a->into, found.p, sizeof(*a->into));
		buf_add(a->into->out, found.p + sizeof(*a->into), found.n - sizeof(*a->into));
	}
	buf_free(&found);
	return good;
}

int source_counting_answer(struct source_counting *c, struct store_quality quality,
			   const struct request_ctx *rctx, struct jsonw *into, store_stat_fn *use,
			   void *ctx, struct err *e)
{
	struct store_stat st = { .quality = quality };
	struct if_over a = { c, &st, into, use, ctx };
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	st.quality.input = c->input;
	st.quality.notes = buf_text(&c->notes);
	if (!use_answer_in_child(&a, rctx))
		rc = use_answer(c, &st, use, ctx, e);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

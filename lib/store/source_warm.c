/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warms the answer cache: runs the causes query in the background at startup.
 */
#include <signal.h>
#include <string.h>

#include "lib/store/source_state.h"

struct warmer {
	struct request_ctx rctx; /* first: warmer_stops casts it back */
	struct store_source *source;
};

static bool warmer_stops(const struct request_ctx *a)
{
	return ((const struct warmer *)a)->source->over;
}

/* Reports a recording that is cut, damaged or empty, a line for each defect. */
static int report_notes(void *ctx, const struct store_chains *c, struct err *e)
{
	struct store_source *s = ctx;
	const char *p = c->quality.notes;
	struct buf line = { 0 };

	for (size_t n; *p && s->failed && !s->over; p += n + (p[n] == '\n')) {
		n = strcspn(p, "\n");
		buf_reset(&line);
		buf_add(&line, p, n);
		s->failed(buf_text(&line));
	}
	buf_free(&line);
	return 0;
}

static void *warm_cache(void *ctx)
{
	struct warmer w = { .rctx.should_stop = warmer_stops, .source = ctx };
	const struct filter_words everything = { 0 };
	struct err e = { 0 };

	/* Later answers report it again: by then the file may be another one. */
	if (store_source_chains(ctx, &w.rctx, &everything, false, report_notes, ctx, &e) < 0 &&
	    !w.source->over && w.source->failed)
		w.source->failed(e.text);
	return NULL;
}

void store_source_warm_cache(struct store_source *s, void (*failed)(const char *why))
{
	sigset_t all, before;

	if (s->warming)
		return;
	/* Signals are for the thread that waits for them. */
	s->failed = failed;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->warming = pthread_create(&s->warmer, NULL, warm_cache, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question is asked before anybody does.
 */
#include <signal.h>

#include "lib/serve/source_state.h"

struct warmer {
	struct serve_asker asker; /* first: it asks us */
	struct serve_source *source;
};

static bool warmer_stops(const struct serve_asker *a)
{
	return ((const struct warmer *)a)->source->over;
}

static int look_away(void *ctx, const struct serve_chains *c, struct err *e)
{
	return 0;
}

static void *warm(void *ctx)
{
	struct warmer w = { .asker.stop = warmer_stops, .source = ctx };
	const struct select_words everything = { 0 };
	struct err e = { 0 };

	/* Whoever asks is told again: by then the file may be another one. */
	if (serve_source_chains(ctx, &w.asker, &everything, false, look_away, NULL, &e) < 0 &&
	    !w.source->over && w.source->failed)
		w.source->failed(e.text);
	return NULL;
}

void serve_source_warm(struct serve_source *s, void (*failed)(const char *why))
{
	sigset_t all, before;

	if (s->warming)
		return;
	/* Signals are for the thread that waits for them. */
	s->failed = failed;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->warming = pthread_create(&s->warmer, NULL, warm, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

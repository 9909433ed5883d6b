/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings a server was given, and what is asked of them: files of events, archives, bundles, a recording that is
 * still written. Several are answered for as one. What was worked out is kept until a file changes (is written on, replaced,
 * cut): that is looked for before every answer. No other file is ever opened. Safe to be asked by any number of threads.
 */
#ifndef INGERO_SERVE_SOURCE_H
#define INGERO_SERVE_SOURCE_H

#include <stdbool.h>

#include "lib/archive/ask.h"
#include "lib/ask/chains.h"
#include "lib/base/err.h"
#include "lib/event/call.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"
#include "lib/event/ops.h"
#include "lib/event/stream.h"
#include "lib/select/select.h"
#include "lib/serve/offer.h"
#include "lib/world/told.h"
#include "lib/world/world.h"

struct serve_source;

struct serve_source_options {
	const char *const *names; /* files; borrowed for good */
	unsigned n;
	bool row; /* they are the files of a run that may go on in others (cli_run_files), and those are served, too */
	const char *tool;   /* who makes archives of them, for those: "ingero-mcp" */
	const char *folder; /* for archives that are made of recordings, NULL: /var/tmp */
	const char *kept; /* folder for causes that took long to find (kept.h), NULL: none are kept */
	uint64_t keep_ns;	   /* what took so long is kept; 0: 200 ms */
	uint64_t sql_time_ns;	   /* that a statement may compute; 0: 30 s */
	uint64_t sql_memory_bytes; /* of a statement; 0: 256 MiB */
};

/* ERR_USAGE: none, or one that is no file: a server reads them more than once. ERR_CANNOT, as for who else reads them. */
int serve_source_open(struct serve_source **out, const struct serve_source_options *opt,
		      struct err *e);
/* Begins to look for causes, in a thread of its own, so that whoever asks finds them found. failed: told there, when the
 * recording cannot be read now, and what is wrong with it, once; NULL: only those who ask hear of it. */
void serve_source_warm(struct serve_source *s, void (*failed)(const char *why));
/* Nobody may ask any more. */
void serve_source_free(struct serve_source *s);

/* Of a row those that were there when somebody asked last; borrowed until the source is freed. */
const char *const *serve_source_names(const struct serve_source *s, unsigned *n);

/* How the inputs could be read. */
struct serve_quality {
	struct ops_input input;
	const char *notes; /* what was wrong, a line each; "" nothing */
	uint64_t took_ns, age_ns;
};

/* Whether some of it could not be read, or it did not end cleanly. The last block of what grows may be caught half written. */
static inline bool serve_quality_partial(const struct serve_quality *q)
{
	const struct ops_input *in = &q->input;

	return in->growing ? in->damaged_blocks > 0
			   : in->damaged || in->truncated || in->unterminated;
}

/* Whoever uses an answer has it alone, and only during the call. What they return is returned. */

/* ---- how often, how long (ask/stat.h) ---- */
struct jsonw;
struct serve_stat_want {
	struct select_words words;
	const char *by;	   /* a key's name; NULL: none */
	unsigned sections; /* of VIEW_BIT */
	bool brief; /* counts, errors and durations are enough: where nothing is chosen, many times faster */
	/* All that use does is write there, or into its buffer. NULL: it does more, and does without waits that go on in a recording
	 * that is still written. */
	struct jsonw *into;
};
struct serve_stat {
	struct serve_quality quality;
	const struct ops_summary *ops;
	const struct world *w;
};
typedef int serve_use_stat(void *ctx, const struct serve_stat *st, struct err *e);
int serve_source_stat(struct serve_source *s, const struct serve_asker *asker,
		      const struct serve_stat_want *want, serve_use_stat *use, void *ctx,
		      struct err *e);

/* ---- what went wrong (ask/chains.h) ---- */
struct serve_chains {
	struct serve_quality quality;
	const struct ask_chains *answer;
	const struct failures *failures; /* of a complete answer; of another one NULL, or not */
	const struct oncpu *oncpu;	 /* the same */
	int64_t ahead_ns; /* from the recording's beginning to that of the answer, where only a part of it was asked about */
	const struct world *w;
};
typedef int serve_use_chains(void *ctx, const struct serve_chains *c, struct err *e);
/* words: a time only. complete: failures and oncpu, too. */
int serve_source_chains(struct serve_source *s, const struct serve_asker *asker,
			const struct select_words *words, bool complete, serve_use_chains *use,
			void *ctx, struct err *e);

/* ---- one call, as ask/call.h names it; found NULL: there is none ---- */
struct serve_call {
	struct serve_quality quality;
	const struct call_detail *found;
	int64_t start_ns; /* of the recording */
};
typedef int serve_use_call(void *ctx, const struct serve_call *c, struct err *e);
int serve_source_call(struct serve_source *s, const struct serve_asker *asker, const char *id,
		      serve_use_call *use, void *ctx, struct err *e);

/* ---- all that was chosen, item by item: nothing of it is kept ---- */
struct serve_items {
	struct world *w;
	const struct told *told; /* of what came before the item */
	struct select *select;
	struct serve_quality quality; /* known behind the last item */
};
/* 1: enough. */
typedef int serve_take_item(void *ctx, const struct serve_items *from,
			    const struct stream_item *item, struct err *e);
/* With item NULL once behind the last, while the world is still there. */
int serve_source_each(struct serve_source *s, const struct serve_asker *asker,
		      const struct select_words *words, serve_take_item *take, void *ctx,
		      struct err *e);

/* ---- SQL (archive/ask.h): of an archive itself, of a recording by way of one that is made once ---- */
/* rows: at most; 0: no limit. */
int serve_source_sql(struct serve_source *s, const struct serve_asker *asker, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e);

#endif

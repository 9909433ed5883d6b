/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings of a server, and queries about them: files of events, archives, bundles, a
 * recording that is still written. Several files are one recording. Answers are cached until a file
 * changes (grows, is replaced or truncated), which is checked before every answer. No other file is
 * ever opened. Thread-safe.
 */
#ifndef INGERO_STORE_SOURCE_H
#define INGERO_STORE_SOURCE_H

#include <stdbool.h>

#include "lib/archive/ask.h"
#include "lib/query/chains.h"
#include "lib/base/err.h"
#include "lib/event/call.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"
#include "lib/event/ops.h"
#include "lib/event/stream.h"
#include "lib/filter/filter.h"
#include "lib/store/request_ctx.h"
#include "lib/world/late_names.h"
#include "lib/world/world.h"

struct store_source;

struct store_source_options {
	const char *const *names; /* files; must outlive the source */
	unsigned n;
	/* The names are the first files of a recorder's run: files that it adds later
	 * (cli_run_files) are served, too. */
	bool run_files;
	const char *tool;	/* who makes archives of them, for those: "ingero-mcp" */
	const char *folder;	/* for archives that are made of recordings, NULL: /var/tmp */
	const char *disk_cache; /* folder for causes that took long to find (disk_cache.h); NULL:
				   none */
	uint64_t disk_cache_min_ns; /* causes that took this long to find are stored there; 0: 200
				       ms */
	uint64_t sql_time_ns;	    /* that a statement may compute; 0: 30 s */
	uint64_t sql_memory_bytes;  /* of a statement; 0: 256 MiB */
};

/* ERR_USAGE: none, or one that is no file: a server reads them more than once. ERR_CANNOT as in
 * input_open. */
int store_source_open(struct store_source **out, const struct store_source_options *opt,
		      struct err *e);
/* Begins to look for causes, in a thread of its own, so that the first question finds them in the
 * cache. failed: called in that thread, once for each defect of the recording, or when it cannot be
 * read; NULL: only answers report these. */
void store_source_warm_cache(struct store_source *s, void (*failed)(const char *why));
/* No thread may use it any more. */
void store_source_free(struct store_source *s);

/* Of a row: the files that were there at the last question; borrowed until the source is freed. */
const char *const *store_source_names(const struct store_source *s, unsigned *n);

/* How the inputs could be read. */
struct store_quality {
	struct ops_input input;
	const char *notes; /* what was wrong, a line each; "" nothing */
	uint64_t took_ns, age_ns;
};

/* Whether some of it could not be read, or it did not end cleanly. The last block of what grows may
 * be caught half written. */
static inline bool store_quality_partial(const struct store_quality *q)
{
	const struct ops_input *in = &q->input;

	return in->growing ? in->damaged_blocks > 0
			   : in->damaged || in->truncated || in->unterminated;
}

/* An answer is passed to a callback (use), which has it alone, and only during the call. The result
 * of the callback is returned. */

/* ---- how often, how long (query/stat.h) ---- */
struct jsonw;
struct store_stat_request {
	struct filter_words words;
	const char *by;	   /* a key's name; NULL: none */
	unsigned sections; /* of VIEW_BIT */
	bool brief; /* counts, errors and durations are enough: where nothing is chosen, many times
		       faster */
	/* All that use does is write there, or into its buffer. NULL: it does more, and does
	 * without waits that go on in a recording that is still written. */
	struct jsonw *into;
};
struct store_stat {
	struct store_quality quality;
	const struct ops_summary *ops;
	const struct world *w;
};
typedef int store_stat_fn(void *ctx, const struct store_stat *st, struct err *e);
int store_source_stat(struct store_source *s, const struct request_ctx *rctx,
		      const struct store_stat_request *want, store_stat_fn *use, void *ctx,
		      struct err *e);

/* ---- what went wrong (query/chains.h) ---- */
struct store_chains {
	struct store_quality quality;
	const struct query_chains *answer;
	const struct failures *failures; /* of a complete answer; of another one NULL, or not */
	const struct oncpu *oncpu;	 /* the same */
	int64_t ahead_ns; /* from the recording's beginning to that of the answer, where only a part
			     of it was asked about */
	const struct world *w;
};
typedef int store_chains_fn(void *ctx, const struct store_chains *c, struct err *e);
/* words: a time only. complete: failures and oncpu, too. */
int store_source_chains(struct store_source *s, const struct request_ctx *rctx,
			const struct filter_words *words, bool complete, store_chains_fn *use,
			void *ctx, struct err *e);

/* ---- one call, as query/call_query.h names it; found NULL: there is none ---- */
struct store_call {
	struct store_quality quality;
	const struct call_detail *found;
	int64_t start_ns; /* of the recording */
};
typedef int store_call_fn(void *ctx, const struct store_call *c, struct err *e);
int store_source_call(struct store_source *s, const struct request_ctx *rctx, const char *id,
		      store_call_fn *use, void *ctx, struct err *e);

/* ---- all that was chosen, item by item: nothing of it is kept ---- */
struct store_items {
	struct world *w;
	const struct late_names *late_names; /* of what came before the item */
	struct filter *select;
	struct store_quality quality; /* known behind the last item */
};
/* 1: enough. */
typedef int store_item_fn(void *ctx, const struct store_items *from, const struct stream_item *item,
			  struct err *e);
/* With item NULL once behind the last, while the world is still there. */
int store_source_each_item(struct store_source *s, const struct request_ctx *rctx,
			   const struct filter_words *words, store_item_fn *take, void *ctx,
			   struct err *e);

/* ---- SQL (archive/ask.h): of an archive itself, of a recording by way of one that is made once
 * ---- */
/* rows: at most; 0: no limit. */
int store_source_sql(struct store_source *s, const struct request_ctx *rctx, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e);

#endif

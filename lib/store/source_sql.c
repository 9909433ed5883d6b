/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers SQL: a recording is converted to an archive in a private file, which is deleted with its
 * last user. Connections to it are opened while it still has a name.
 */
#include <malloc.h>

#include "lib/archive/made.h"
#include "lib/query/archived.h"
#include "lib/store/source_state.h"

#ifdef INGERO_HAVE_SQLITE

#define MUCH_MEMORY (16u << 20)

struct sql_ctx {
	struct store_source *source;
	const struct archive_ask_limits *limits;
};

static bool is_stopped(void *ctx)
{
	return request_ctx_should_stop(ctx);
}

static void free_archive(void *value)
{
	archive_ask_free(value);
}

struct making {
	struct store_source *source;
	const struct request_ctx *rctx;
	bool *growing;
};

static int build_archive(void *ctx, int fd, struct err *e)
{
	const struct making *m = ctx;
	struct store_source *s = m->source;
	struct query_archive *a = NULL;
	struct archive_written written;
	struct world *w = world_new();
	struct event_stream *stream;
	struct stream_item item;
	struct input *in = NULL;
	struct buf notes = { 0 };
	int rc = w ? source_open_input(s, &in, w, NULL, e) : err_nomem(e);

	rc = rc ? rc : query_archive_new(&a, w, fd, ARCHIVE_MADE, s->opt.tool, true, e);
	stream = rc ? NULL : input_stream(in);
	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		rc = query_archive_item(a, &item, e);
		rc = rc ? rc : source_report_progress(m->rctx, in, "making an archive to ask", e);
	}
	/* A growing recording counts as whole: the next answer has the rest. */
	if (!rc)
		query_archive_set_whole(a, !input_verdict(in, &notes));
	rc = rc && rc != ERR_TOO_NEW ? rc : query_archive_end(a, &written, e);
	if (!rc)
		*m->growing = input_report(in).growing;
	query_archive_free(a);
	buf_free(&notes);
	input_free(in);
	world_free(w);
	return rc;
}

static int make_archive(void *ctx, const struct request_ctx *rctx, void **value, bool *growing,
			struct err *e)
{
	const struct sql_ctx *c = ctx;
	struct making m = { c->source, rctx, growing };
	struct archive_ask *ask = NULL;
	int rc;

	request_ctx_log(rctx, REQUEST_LOG_INFO,
			"making an archive of the recording to ask; later questions use it");
	rc = archive_ask_made(&ask, c->source->opt.folder, c->limits, build_archive, &m, e);
	*value = ask;
	return rc;
}

/* A large sort leaves pieces all over the heap, which the C library would keep: that of eight
 * stayed at twice what one may take. */
static void give_back_memory(const struct archive_asked *asked)
{
#ifdef __GLIBC__
	if (asked->memory_bytes > MUCH_MEMORY)
		malloc_trim(0);
#endif
}

int store_source_sql(struct store_source *s, const struct request_ctx *rctx, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e)
{
	const struct archive_ask_limits limits = { .time_ns = s->opt.sql_time_ns,
						   .own_time = true,
						   .rows = rows,
						   .memory_bytes = s->opt.sql_memory_bytes,
						   .stop = is_stopped,
						   .ctx = (void *)rctx };
	struct sql_ctx c = { s, &limits };
	struct archive_ask *ask = NULL;
	struct cached_answer *archive = NULL;
	int rc;

	*asked = (struct archive_asked){ 0 };
	if (s->archive) {
		rc = archive_ask_open(&ask, s->opt.names[0], &limits, e);
		rc = rc ? rc : archive_ask_run(ask, sql, answer, asked, e);
		archive_ask_free(ask);
		give_back_memory(asked);
		return rc;
	}
	rc = source_get_answer(s, s->archives, "archive", make_archive, &c, free_archive, rctx,
			       &archive, e);
	if (!rc) {
		archive_ask_limit(cached_answer_value(archive), &limits);
		rc = archive_ask_run(cached_answer_value(archive), sql, answer, asked, e);
		/* Who asked is gone when the next one asks. */
		archive_ask_limit(cached_answer_value(archive),
				  &(struct archive_ask_limits){ .memory_bytes =
									limits.memory_bytes });
	}
	answer_cache_release(s->archives, archive);
	give_back_memory(asked);
	return rc;
}

#else

int store_source_sql(struct store_source *s, const struct request_ctx *rctx, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e)
{
	return err_set(e, ERR_CANNOT, "this build answers no SQL, it had no sqlite3");
}

#endif

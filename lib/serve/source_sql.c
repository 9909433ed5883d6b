/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording becomes an archive in a file that nobody else sees, which is gone when its last user is. Connections to it are
 * opened while it still has a name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/archive/write.h"
#include "lib/ask/analyzed.h"
#include "lib/base/aside.h"
#include "lib/serve/source_state.h"

#ifdef INGERO_HAVE_SQLITE

struct sql_ctx {
	struct serve_source *source;
	const struct archive_ask_limits *limits;
};

static bool stop(void *ctx)
{
	return serve_asker_stops(ctx);
}

static void free_archive(void *value)
{
	archive_ask_free(value);
}

static int give(void *to, const struct stream_item *item, struct err *e)
{
	return archive_writer_item(to, item, e);
}

static int build(struct serve_source *s, int fd, const struct serve_asker *asker, bool *growing,
		 struct err *e)
{
	const struct archive_options opt = { .tool = s->opt.tool };
	struct archive_writer *a = NULL;
	struct archive_written written;
	struct world *w = world_new();
	struct analyzed *z = NULL;
	struct event_stream *stream;
	struct stream_item item;
	struct input *in = NULL;
	int rc = w ? input_open(&in, w, s->opt.names, s->opt.n, e) : err_nomem(e);

	rc = rc ? rc : archive_writer_new(&a, w, fd, &opt, e);
	if (!rc && !(z = analyzed_new(w, give, a)))
		rc = err_nomem(e);
	stream = rc ? NULL : input_stream(in);
	while (!rc && (rc = stream->next(stream, &item, e)) > 0) {
		rc = analyzed_item(z, &item, e);
		rc = rc ? rc : source_tick(asker, in, "making an archive to ask", e);
	}
	rc = rc && rc != ERR_TOO_NEW ? rc : analyzed_end(z, e);
	rc = rc ? rc : archive_writer_finish(a, &written, e);
	if (!rc)
		*growing = input_report(in).growing;
	analyzed_free(z);
	archive_writer_free(a);
	input_free(in);
	world_free(w);
	return rc;
}

static int make_archive(void *ctx, const struct serve_asker *asker, void **value, bool *growing,
			struct err *e)
{
	const struct sql_ctx *c = ctx;
	const char *folder = c->source->opt.folder ? c->source->opt.folder : "/var/tmp";
	struct archive_ask *ask = NULL;
	struct aside scratch;
	const char *name;
	char *path;
	int rc;

	if (asprintf(&path, "%s/ingero-archive", folder) < 0)
		return err_nomem(e);
	serve_asker_log(asker, SERVE_INFO,
			"making an archive of the recording to ask; later questions use it");
	rc = aside_scratch(&scratch, path, e);
	if (rc)
		err_prefix(e, "no place for the archive (TMPDIR says where)");
	rc = rc ? rc : build(c->source, scratch.fd, asker, growing, e);
	if (!rc) {
		name = aside_name(&scratch, e);
		rc = name ? archive_ask_open(&ask, name, c->limits, e) : e->code;
	}
	aside_drop(&scratch);
	free(path);
	*value = ask;
	return rc;
}

int serve_source_sql(struct serve_source *s, const struct serve_asker *asker, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e)
{
	const struct archive_ask_limits limits = { .time_ns = s->opt.sql_time_ns,
						   .rows = rows,
						   .memory_bytes = s->opt.sql_memory_bytes,
						   .stop = stop,
						   .ctx = (void *)asker };
	struct sql_ctx c = { s, &limits };
	struct archive_ask *ask = NULL;
	struct held *h = NULL;
	int rc;

	*asked = (struct archive_asked){ 0 };
	if (s->archive) {
		rc = archive_ask_open(&ask, s->opt.names[0], &limits, e);
		rc = rc ? rc : archive_ask_run(ask, sql, answer, asked, e);
		archive_ask_free(ask);
		return rc;
	}
	rc = source_take(s, s->archives, "archive", make_archive, &c, free_archive, asker, &h, e);
	if (!rc) {
		archive_ask_limit(held_value(h), &limits);
		rc = archive_ask_run(held_value(h), sql, answer, asked, e);
		/* Who asked is gone when the next one asks. */
		archive_ask_limit(held_value(h), &(struct archive_ask_limits){
							 .memory_bytes = limits.memory_bytes });
	}
	held_give(s->archives, h);
	return rc;
}

#else

int serve_source_sql(struct serve_source *s, const struct serve_asker *asker, const char *sql,
		     uint64_t rows, struct archive_answer *answer, struct archive_asked *asked,
		     struct err *e)
{
	return err_set(e, ERR_CANNOT, "this build answers no SQL, it had no sqlite3");
}

#endif

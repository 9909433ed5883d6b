/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A served recording: asked by many at once, replaced, cut and removed meanwhile; and answers that
 * are kept.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/event/section_rows.h"
#include "lib/store/answer_cache.h"
#include "lib/store/source.h"
#include "tests/tap.h"

#define THREADS 8

/* ---- the cache ---- */

static unsigned made, freed;

static int make_number(void *ctx, const struct request_ctx *rctx, void **value, bool *growing,
		       struct err *e)
{
	if (!ctx)
		return err_set(e, ERR_CANNOT, "no number");
	made++;
	*value = ctx;
	*growing = *(int *)ctx < 0;
	return 0;
}

static void free_number(void *value)
{
	freed++;
}

static void ask_cache(struct answer_cache *s, const char *question, const char *state,
		      uint64_t size, int *number, int want)
{
	const struct answer_lookup w = { question,    state,  "thing",	   size,
					 make_number, number, free_number, true };
	struct cached_answer *h = NULL;
	struct err e;

	is_int(answer_cache_get(s, &w, NULL, &h, &e), 0, "%s of %s", question, state);
	is_int(*(int *)cached_answer_value(h), want, "%s of %s: its value", question, state);
	answer_cache_release(s, h);
}

static void test_cache(void)
{
	int one = 1, two = 2, grows = -3, four = 4;
	struct answer_cache *s = answer_cache_new(2);
	const struct answer_lookup bad = { "bad", "x", "thing", 0, make_number, NULL, free_number };
	const struct answer_lookup over = { "e", "2", "thing", 1, make_number, &one, free_number };
	struct cached_answer *h = NULL;
	struct err e;

	made = freed = 0;
	ask_cache(s, "a", "1", 1, &one, 1);
	ask_cache(s, "a", "1", 1, &two, 1);
	is_u64(made, 1, "made once");
	ask_cache(s, "a", "2", 1, &two, 2);
	is_u64(freed, 1, "what is of another state goes");
	ask_cache(s, "b", "1", 1, &grows, -3);
	ask_cache(s, "b", "2", 2, &four, -3);
	is_u64(made, 3, "what grows is given again for a while");
	ask_cache(s, "b", "3", 0, &four, 4);
	is_u64(made, 4, "not when it shrank");
	is_int(answer_cache_get(s, &bad, NULL, &h, &e), ERR_CANNOT, "what cannot be made");
	is_int(answer_cache_get(s, &bad, NULL, &h, &e), ERR_CANNOT, "is tried again");
	ask_cache(s, "e", "1", 1, &grows, -3);
	is_int(answer_cache_get(s, &over, NULL, &h, &e), 0, "what grew");
	is_int(*(int *)cached_answer_value(h), 1, "is asked anew as soon as it grows no more");
	answer_cache_release(s, h);
	ask_cache(s, "c", "1", 0, &one, 1);
	ask_cache(s, "d", "1", 0, &one, 1);
	answer_cache_free(s);
	is_u64(made, freed, "all are freed");
}

/* ---- a recording ---- */

static bool copy(const char *from, const char *to, size_t most)
{
	struct buf b = { 0 };
	struct err e;
	int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool good = fd >= 0 && !read_file(from, &b, 1 << 28, &e) && !ftruncate(fd, 0) &&
		    !write_all(fd, b.p, b.n < most ? b.n : most, &e);

	if (fd >= 0)
		close(fd);
	buf_free(&b);
	return good;
}

static int take_stat(void *ctx, const struct store_stat *st, struct err *e)
{
	*(uint64_t *)ctx = st->ops->events;
	return 0;
}

static int take_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	*(uint64_t *)ctx = c->answer->events;
	return 0;
}

static int count_items(void *ctx, const struct store_items *from, const struct stream_item *item,
		       struct err *e)
{
	if (item && item->kind == STREAM_EVENTS)
		*(uint64_t *)ctx += item->n;
	return 0;
}

struct one_number {
	struct archive_answer answer;
	int64_t number;
};

static int take_columns(struct archive_answer *a, const char *const *names, unsigned n,
			struct err *e)
{
	return 0;
}

static int take_row(struct archive_answer *a, const struct archive_value *v, unsigned n,
		    struct err *e)
{
	((struct one_number *)a)->number = v[0].integer;
	return 0;
}

static const struct store_stat_request briefly = { .brief = true };
static const struct store_stat_request whole = { .sections = VIEW_ALL };
static const struct filter_words everything;

struct events_of {
	struct store_source *s;
	uint64_t brief, whole, chains, items, sql;
	int rc;
};

static void *ask_all(void *ctx)
{
	struct events_of *of = ctx;
	struct archive_asked asked;
	struct one_number n = { { take_columns, take_row }, -1 };
	struct err e;

	of->items = 0;
	of->rc = store_source_stat(of->s, NULL, &briefly, take_stat, &of->brief, &e);
	of->rc |= store_source_stat(of->s, NULL, &whole, take_stat, &of->whole, &e);
	of->rc |=
		store_source_chains(of->s, NULL, &everything, false, take_chains, &of->chains, &e);
	of->rc |= store_source_each_item(of->s, NULL, &everything, count_items, &of->items, &e);
	of->rc |= store_source_sql(of->s, NULL, "SELECT count(*) FROM events", 1, &n.answer, &asked,
				   &e);
	of->sql = (uint64_t)n.number;
	return NULL;
}

static bool agree(const struct events_of *of)
{
	return !of->rc && of->brief == of->whole && of->brief == of->chains &&
	       of->brief == of->items && of->brief == of->sql;
}

static bool gives_up(const struct request_ctx *a)
{
	return true;
}

static void test_changes(const char *folder)
{
	char path[200];
	const char *names[] = { path };
	const struct store_source_options opt = { .names = names, .n = 1, .tool = "test" };
	const struct request_ctx gone = { .should_stop = gives_up };
	struct events_of of[THREADS] = { 0 }, now = { 0 };
	struct store_source *s = NULL;
	pthread_t threads[THREADS];
	unsigned agreed = 0;
	uint64_t n = 0;
	struct err e;

	snprintf(path, sizeof(path), "%s/run.ige", folder);
	ok(copy("formats/samples/v1/good/fixture.ige", path, SIZE_MAX), "a recording");
	is_int(store_source_open(&s, &opt, &e), 0, "is served");
	is_int(store_source_stat(s, &gone, &whole, take_stat, &n, &e), ERR_INTERRUPTED,
	       "who gives up is let go");
	store_source_warm_cache(s, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		of[i].s = s;
		pthread_create(&threads[i], NULL, ask_all, &of[i]);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		agreed += agree(&of[i]) && of[i].brief == of[0].brief;
	}
	is_u64(agreed, THREADS, "all who ask at once hear the same");
	ok(of[0].brief > 0, "of its events");

	now.s = s;
	ok(copy("formats/samples/v1/good/fixture.ige", path, 2200), "cut");
	ask_all(&now);
	ok(agree(&now) && now.brief < of[0].brief, "it is asked anew: %" PRIu64 " events",
	   now.brief);
	ok(copy("README.md", path, SIZE_MAX), "something else in its place");
	ask_all(&now);
	ok(now.rc != 0, "is an error");
	unlink(path);
	ask_all(&now);
	ok(now.rc != 0, "so is nothing");
	ok(copy("formats/samples/v1/good/fixture.ige", path, SIZE_MAX), "and back again");
	ask_all(&now);
	ok(agree(&now) && now.brief == of[0].brief, "it answers again");
	store_source_free(s);
	unlink(path);
}

/* Who asks for causes alone does not have the rest looked for. */
static int take_complete(void *ctx, const struct store_chains *c, struct err *e)
{
	*(bool *)ctx = c->failures && c->oncpu;
	return 0;
}

static void test_complete(void)
{
	const char *names[] = { "formats/samples/v1/good/fixture.ige" };
	const struct store_source_options opt = { .names = names, .n = 1, .tool = "test" };
	struct store_source *s = NULL;
	bool complete = true;
	struct err e;

	is_int(store_source_open(&s, &opt, &e), 0, "a recording");
	is_int(store_source_chains(s, NULL, &everything, false, take_complete, &complete, &e), 0,
	       "its causes");
	ok(!complete, "alone");
	is_int(store_source_chains(s, NULL, &everything, true, take_complete, &complete, &e), 0,
	       "asked of the same server");
	ok(complete, "with errors and the use of CPUs");
	store_source_free(s);
}

/* ---- how long a statement takes ---- */

#define OWN_MS 100

/* As on a machine where others have the processor for twice the time the statement may take. */
static int take_late(struct archive_answer *a, const struct archive_value *v, unsigned n,
		     struct err *e)
{
	nanosleep(&(struct timespec){ 0, 2 * OWN_MS * 1000000L }, NULL);
	return take_row(a, v, n, e);
}

static void test_own_time(void)
{
	const char *names[] = { "formats/samples/v1/good/fixture.ige" };
	const struct store_source_options opt = {
		.names = names, .n = 1, .tool = "test", .sql_time_ns = OWN_MS * 1000000u
	};
	struct one_number n = { { take_columns, take_late }, -1 };
	struct store_source *s = NULL;
	struct archive_asked asked;
	struct err e = { 0 };

	is_int(store_source_open(&s, &opt, &e), 0, "served with little time for a statement");
	is_int(store_source_sql(s, NULL,
				"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c "
				"WHERE x < 2000) SELECT x FROM c WHERE x % 1000 = 0",
				10, &n.answer, &asked, &e),
	       0, "while others have the processor none of it is over: %s", e.text);
	is_int(n.number, 2000, "all rows come");
	is_int(store_source_sql(s, NULL,
				"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
				"SELECT count(*) FROM c",
				10, &n.answer, &asked, &e),
	       ERR_LIMIT, "a statement without an end is ended: %s", e.text);
	store_source_free(s);
}

/* ---- what is kept for the next server ---- */

static uint64_t chains_of(const char *file, const char *kept)
{
	const struct store_source_options opt = {
		.names = &file, .n = 1, .tool = "test", .disk_cache = kept, .disk_cache_min_ns = 1
	};
	struct store_source *s = NULL;
	uint64_t n = 0;
	struct err e;

	if (store_source_open(&s, &opt, &e) ||
	    store_source_chains(s, NULL, &everything, false, take_chains, &n, &e))
		n = UINT64_MAX;
	store_source_free(s);
	return n;
}

/* The one file that is kept; false: there is none, or there are several. */
static bool kept_file(const char *folder, char *path, size_t size)
{
	struct dirent *d;
	unsigned n = 0;
	DIR *all = opendir(folder);

	while (all && (d = readdir(all)))
		if (d->d_name[0] != '.') {
			snprintf(path, size, "%s/%s", folder, d->d_name);
			n++;
		}
	if (all)
		closedir(all);
	return n == 1;
}

/* Removes the folder with its files; 0. */
static int remove_folder(const char *folder)
{
	char path[600];
	struct dirent *d;
	DIR *all = opendir(folder);

	while (all && (d = readdir(all)))
		if (d->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
			unlink(path);
		}
	if (all)
		closedir(all);
	return rmdir(folder);
}

/* Another number of events in it, by which it is known again. */
static bool forge(const char *path, const char *number)
{
	struct buf b = { 0 };
	struct err e;
	char *at;
	int fd = -1;
	bool good = !read_file(path, &b, 1 << 20, &e) &&
		    (at = strstr(buf_text(&b), "\"events\":\"")) &&
		    (memcpy(at + 10, number, strlen(number)), true) &&
		    (fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)) >= 0 &&
		    !write_all(fd, b.p, b.n, &e);

	if (fd >= 0)
		close(fd);
	buf_free(&b);
	return good;
}

static void test_kept(const char *folder)
{
	char path[200], kept[200], file[600], other[600];
	uint64_t n, forged;

	snprintf(path, sizeof(path), "%s/run.ige", folder);
	snprintf(kept, sizeof(kept), "%s/cache/kept", folder);
	ok(copy("formats/samples/v1/good/fixture.ige", path, SIZE_MAX),
	   "a recording without its analysis");
	n = chains_of(path, kept);
	ok(n > 0 && n != UINT64_MAX && kept_file(kept, file, sizeof(file)),
	   "what was found in it is kept");
	ok(forge(file, "9"), "made recognizable");
	forged = chains_of(path, kept);
	ok(forged != n && forged != UINT64_MAX, "the next server has it from there: %" PRIu64,
	   forged);
	is_u64(chains_of(path, NULL), n, "not one that keeps nothing");
	is_int(chmod(kept, 0777), 0, "where everybody may write");
	is_u64(chains_of(path, kept), n, "it is not believed");
	chmod(kept, 0700);
	is_int(truncate(file, 40), 0, "cut");
	is_u64(chains_of(path, kept), n, "it is found anew");
	is_u64(chains_of(path, kept), n, "and kept again");
	ok(forge(file, "9") && copy("formats/samples/v1/good/fixture.ige", path, SIZE_MAX),
	   "the recording is written again");
	is_u64(chains_of(path, kept), n, "what was kept of the one before is not of this one");
	ok(!kept_file(kept, other, sizeof(other)), "both are kept");
	ok(copy("formats/samples/v1/good/fixture.ige", path, 2200), "a cut recording");
	is_int(remove_folder(kept), 0, "nothing is kept");
	ok(chains_of(path, kept) < n, "it is answered");
	ok(!kept_file(kept, other, sizeof(other)), "and not kept");
	remove_folder(kept);
	snprintf(kept, sizeof(kept), "%s/cache", folder);
	rmdir(kept);
	unlink(path);
}

static void test_refused(const char *folder)
{
	const char *names[] = { "-", folder, "/nowhere/at/all.ige" };
	struct store_source *s = NULL;
	struct err e;

	for (unsigned i = 0; i < 3; i++) {
		const struct store_source_options opt = { .names = names + i, .n = 1 };

		ok(store_source_open(&s, &opt, &e) < 0 && !s, "refused: %s", e.text);
	}
	is_int(store_source_open(&s, &(struct store_source_options){ 0 }, &e), ERR_USAGE,
	       "nothing to serve");
}

int main(void)
{
	char folder[] = "/tmp/store_source.XXXXXX";

	if (!mkdtemp(folder))
		return 1;
	test_cache();
	test_changes(folder);
	test_complete();
	test_own_time();
	test_kept(folder);
	test_refused(folder);
	rmdir(folder);
	return tap_done();
}

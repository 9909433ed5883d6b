/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording, its archive, and the recording made of that again: every event and every record of
 * any kind is there with every field, in its order, whatever they say. And SQLite finds the archive
 * sound.
 */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/archive/read.h"
#include "lib/archive/write.h"
#include "tests/laws/any.h"
#include "tests/tap.h"

static char path[] = "/tmp/ingero-round-XXXXXX";

struct collected {
	struct buf events, records, lost;
	uint64_t n;
};

static void tell(struct collected *t, const struct stream_item *item, uint64_t *lost)
{
	*lost += item->lost;
	for (size_t i = 0; i < item->n; i++) {
		buf_add(&t->events, &item->events[i], sizeof(item->events[i]));
		if (*lost)
			buf_printf(&t->lost, "%u before %u ", (unsigned)*lost, (unsigned)t->n);
		*lost = 0;
		t->n++;
	}
	if (item->kind == STREAM_RECORD) {
		buf_printf(&t->records, "after %u ", (unsigned)t->n);
		put_record(&t->records, item->record);
	}
}

static int tell_all(struct collected *t, struct event_stream *s, struct err *e)
{
	struct stream_item item;
	uint64_t lost = 0;
	int rc;

	while ((rc = s->next(s, &item, e)) > 0)
		tell(t, &item, &lost);
	return rc;
}

static void late_names_free(struct collected *t)
{
	buf_free(&t->events);
	buf_free(&t->records);
	buf_free(&t->lost);
}

/* n random events, with records and losses among them. */
static int write_any(struct archive_writer *a, struct subjects *s, uint32_t n, struct collected *t,
		     struct err *e)
{
	int64_t now = any() % 3 ? 1000000000 : (int64_t)(any() >> 3);
	uint64_t lost = 0;
	char text[300];
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = random_event(s, now += (int64_t)(any() % 3000));
		struct stream_item item = {
			.kind = STREAM_EVENTS, .events = &ev, .n = 1, .lost = any() % 50 ? 0 : i + 1
		};

		rc = archive_writer_item(a, &item, e);
		tell(t, &item, &lost);
		if (!rc && any() % 5 == 0) {
			struct record r = random_record(s, text, sizeof(text));

			item = (struct stream_item){ .kind = STREAM_RECORD, .record = &r };
			rc = archive_writer_item(a, &item, e);
			tell(t, &item, &lost);
		}
	}
	return rc;
}

static bool sound(void)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	bool is = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		  sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
		  sqlite3_step(s) == SQLITE_ROW &&
		  !strcmp((const char *)sqlite3_column_text(s, 0), "ok");

	sqlite3_finalize(s);
	sqlite3_close(db);
	return is;
}

static void round_trip(struct subjects *s, uint32_t n)
{
	struct collected want = { { 0 } }, got = { { 0 } };
	struct archive_options opt = { .tool = "test" };
	struct archive_written written;
	struct archive_writer *a = NULL;
	struct archive_reader *r = NULL;
	struct err e = { 0 };
	FILE *file = fopen(path, "w+");
	int rc = archive_writer_new(&a, s->f.w, fileno(file), &opt, &e);

	rc = rc ? rc : write_any(a, s, n, &want, &e);
	rc = rc ? rc : archive_writer_finish(a, &written, &e);
	archive_writer_free(a);
	fclose(file);
	ok(!rc, "%u random events with their records become an archive: %s", n, e.text);
	ok(sound(), "which is sound");
	rc = rc ? rc : archive_reader_open(&r, s->f.w, path, &e);
	ok(!rc && r, "that is read: %s", e.text);
	rc = rc || !r ? rc : tell_all(&got, archive_reader_stream(r), &e);
	is_int(rc, 0, "to its end: %s", e.text);
	is_u64(got.n, want.n, "as many events");
	ok(equal(&got.events, &want.events), "which are the same");
	ok(equal(&got.records, &want.records), "with the same records in their places");
	ok(equal(&got.lost, &want.lost), "and what is known to be missing");
	archive_reader_free(r);
	late_names_free(&want);
	late_names_free(&got);
}

int main(void)
{
	static const uint32_t sizes[] = { 0, 1, 37, 400, 3000, 20000 };
	struct subjects s = { 0 };

	close(mkstemp(path));
	fixture_init(&s.f);
	s.cgroup =
		world_cgroup(s.f.w, &(struct world_cgroup){
					    .node = s.f.node,
					    .id = 77,
					    .path = world_string(s.f.w, bytes_of("/job/\xff")) });
	s.gpu = world_gpu(s.f.w,
			  &(struct world_gpu){ .node = s.f.node,
					       .uuid = world_string(s.f.w, bytes_of("GPU-1")) });
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		round_trip(&s, sizes[i]);
	unlink(path);
	world_free(s.f.w);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording in all its forms. What was written is what is read, for random events and records
 * of every kind; a file, a pipe and a file that grows say the same, item by item; files in a row
 * say what they say one by one; two stretches side by side are the stretch of both.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/ige/seek.h"
#include "lib/world/event_order.h"
#include "tests/laws/any.h"
#include "tests/tap.h"

/* Items, as their bytes in our world; events of neighbouring items run together, since pieces may
 * differ. */
static int tell(struct buf *out, struct event_stream *s)
{
	struct stream_item item;
	struct err e = { 0 };
	int rc;

	while ((rc = s->next(s, &item, &e)) == 1) {
		if (item.lost)
			buf_printf(out, "lost %u", (unsigned)item.lost);
		for (size_t i = 0; i < item.n; i++) {
			buf_printf(out, "event%s", item.late ? " late" : "");
			buf_add(out, &item.events[i], sizeof(item.events[i]));
		}
		if (item.kind == STREAM_RECORD)
			put_record(out, item.record);
		if (item.kind == STREAM_LAST || item.kind == STREAM_SEGMENT)
			buf_puts(out, item.kind == STREAM_LAST ? "last" : "segment");
	}
	return rc;
}

static int file_of(const struct buf *b)
{
	FILE *file = tmpfile();
	int fd;

	if (!file || fwrite(b->p, 1, b->n, file) != b->n || fflush(file))
		abort();
	fd = dup(fileno(file));
	fclose(file);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int tell_fd(struct buf *out, struct world *w, int fd)
{
	struct ige_reader *r;
	int rc;

	if (ige_reader_open(&r, w, fd, true, "test", NULL))
		abort();
	rc = tell(out, ige_reader_stream(r));
	ige_reader_free(r);
	return rc;
}

static int by_order(const void *a, const void *b, void *w)
{
	return world_event_order(w, a, b);
}

/* A recording, its events in the order it must have and its records as text. */
static void record(struct subjects *s, struct ige_writer_options opt, uint32_t n, int64_t now,
		   struct buf *file, struct buf *events, struct buf *records)
{
	struct fixture_sink sink = { .sink = { fixture_put } };
	VEC(struct event) all = { 0 };
	struct ige_writer *wr;
	struct err e = { 0 };
	char text[300];
	int rc;

	opt.clock_id = 1;
	opt.boot = any();
	rc = ige_writer_new(&wr, s->f.w, &sink.sink, &opt, &e);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = random_event(s, now += (int64_t)(any() % 3000));

		if (!vec_push(&all, ev))
			abort();
		rc = ige_writer_event(wr, &ev, &e);
		if (!rc && any() % 20 == 0) {
			struct record r = random_record(s, text, sizeof(text));

			put_record(records, &r);
			rc = ige_writer_record(wr, &r, &e);
		}
		if (!rc && any() % 100 == 0)
			rc = ige_writer_flush(wr, now, now - 1000000, any() % 2, &e);
		if (any() % 200 == 0)
			ige_writer_lost(wr, i + 1);
		/* Nothing of equal end behind a watermark: order among equals is another law. */
		now++;
	}
	if (rc || ige_writer_finish(wr, &e)) {
		printf("# %s\n", e.text);
		abort();
	}
	ige_writer_free(wr);
	qsort_r(all.v, all.n, sizeof(all.v[0]), by_order, s->f.w);
	for (size_t i = 0; i < all.n; i++) {
		buf_puts(events, "event");
		buf_add(events, &all.v[i], sizeof(all.v[i]));
	}
	vec_free(&all);
	buf_add(file, sink.bytes.p, sink.bytes.n);
	buf_free(&sink.bytes);
}

/* Only events, or only records, of a file. */
static void tell_some(struct buf *out, struct world *w, const struct buf *file, bool records)
{
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;

	while (s->next(s, &item, NULL) == 1) {
		for (size_t i = 0; i < item.n && !records; i++) {
			struct event ev = item.events[i];

			ev.site = 0; /* what was written is of no stream yet */
			buf_puts(out, "event");
			buf_add(out, &ev, sizeof(ev));
		}
		if (item.kind == STREAM_RECORD && records)
			put_record(out, item.record);
	}
	ok(!ige_reader_report(r)->damaged_blocks && !ige_reader_report(r)->unknown_blocks,
	   "its own writer's file is sound");
	ige_reader_free(r);
}

static void test_pipe(struct world *w, const struct buf *file, const struct buf *want,
		      const char *how)
{
	struct buf told = { 0 };
	int fds[2];
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		close(fds[0]);
		for (size_t at = 0, n; at < file->n; at += n) {
			n = 1 + any() % 9000;
			n = n < file->n - at ? n : file->n - at;
			if (write(fds[1], file->p + at, n) != (ssize_t)n)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	tell_fd(&told, w, fds[0]);
	waitpid(pid, NULL, 0);
	ok(equal(&told, want), "%s: a pipe says what the file says", how);
	buf_free(&told);
}

/* Each time it has grown, it says a beginning of what it says in the end. */
static void test_growing(struct world *w, const struct buf *file, const struct buf *want,
			 const char *how)
{
	char name[] = "/tmp/ingero-forms-XXXXXX";
	int fd = mkstemp(name), bad = 0, sought = 0;
	size_t at = 0, before = 0;

	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	while (at < file->n) {
		size_t n = 1 + any() % (file->n / 8);
		struct buf told = { 0 }, seek = { 0 };
		struct ige_seek *s;
		int other;

		n = n < file->n - at ? n : file->n - at;
		if (write(fd, file->p + at, n) != (ssize_t)n)
			abort();
		at += n;
		other = open(name, O_RDONLY);
		if (!ige_seek_open(&s, w, other, name, NULL)) {
			tell(&seek, ige_seek_stream(s, INT64_MIN, INT64_MAX, 3, 0));
			ige_seek_free(s);
			sought++;
		}
		tell_fd(&told, w, other);
		bad += told.n < before || told.n > want->n ||
		       (told.n && memcmp(told.p, want->p, told.n)) ||
		       (seek.n && !equal(&told, &seek));
		before = told.n;
		buf_free(&told);
		buf_free(&seek);
	}
	ok(!bad && before == want->n,
	   "%s: while it grows it says a beginning of it, read or sought", how);
	ok(sought > 2, "%s: of which %d could be sought", how, sought);
	unlink(name);
	close(fd);
}

/* Those that end in the stretch. */
static void tell_events(struct buf *out, struct ige_seek *seek, int64_t since, int64_t until)
{
	struct event_stream *s = ige_seek_stream(seek, since, until, IGE_SEEK_EVENTS, 0);
	struct stream_item item;

	while (s->next(s, &item, NULL) == 1)
		for (size_t i = 0; i < item.n; i++)
			if (item.events[i].end_ns >= since && item.events[i].end_ns < until)
				buf_add(out, &item.events[i], sizeof(item.events[i]));
}

static void test_slices(struct world *w, const struct buf *file, const char *how, int64_t from,
			int64_t to)
{
	FILE *f = tmpfile();
	struct ige_seek *s;
	int bad = 0, some = 0;

	if (!f || fwrite(file->p, 1, file->n, f) != file->n || fflush(f) ||
	    ige_seek_open(&s, w, fileno(f), how, NULL))
		abort();
	for (int i = 0; i < 60; i++) {
		int64_t t[3];
		struct buf parts = { 0 }, both = { 0 };

		t[0] = from + (int64_t)(any() % (uint64_t)(to - from));
		t[1] = t[0] + (int64_t)(any() % (uint64_t)(to - t[0]));
		t[2] = t[1] + (int64_t)(any() % (uint64_t)(to - t[1] + 10000));
		tell_events(&parts, s, t[0], t[1]);
		tell_events(&parts, s, t[1], t[2]);
		tell_events(&both, s, t[0], t[2]);
		bad += !equal(&parts, &both);
		some += both.n != 0;
		buf_free(&parts);
		buf_free(&both);
	}
	ok(!bad && some > 50, "%s: two stretches side by side are the stretch of both", how);
	ige_seek_free(s);
	fclose(f);
}

int main(void)
{
	static const struct {
		const char *name;
		struct ige_writer_options opt;
	} forms[] = { { "plain", { 0 } },
		      { "indexed", { .index = true } },
		      { "small blocks", { .block_events = 7, .index = true } },
		      { "segments", { .block_events = 50, .segment_bytes = 30000, .index = true } },
		      { "archive", { .archive = true, .block_events = 700, .index = true } } };
	struct buf joined = { 0 }, joined_told = { 0 }, told = { 0 };
	struct world_cgroup cgroup = { .id = 9 };
	struct world_gpu gpu = { .index = 1 };
	struct subjects s;

	fixture_init(&s.f);
	cgroup.node = gpu.node = s.f.node;
	cgroup.path = world_string(s.f.w, bytes_of("/job"));
	gpu.uuid = world_string(s.f.w, bytes_of("GPU-1"));
	gpu.name = world_string(s.f.w, bytes_of("H200"));
	s.cgroup = world_cgroup(s.f.w, &cgroup);
	s.gpu = world_gpu(s.f.w, &gpu);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int64_t from = 1000000000 * (int64_t)(i + 1);
		struct buf file = { 0 }, events = { 0 }, records = { 0 }, want = { 0 };

		record(&s, forms[i].opt, 4000, from, &file, &events, &records);
		tell_some(&want, s.f.w, &file, false);
		ok(equal(&want, &events), "%s: events out are events in", forms[i].name);
		buf_reset(&want);
		tell_some(&want, s.f.w, &file, true);
		ok(equal(&want, &records), "%s: records out are records in", forms[i].name);
		buf_reset(&want);
		tell_fd(&want, s.f.w, file_of(&file));
		fflush(stdout);
		test_pipe(s.f.w, &file, &want, forms[i].name);
		test_growing(s.f.w, &file, &want, forms[i].name);
		test_slices(s.f.w, &file, forms[i].name, from, from + 6000000);
		buf_add(&joined, file.p, file.n);
		buf_add(&joined_told, want.p, want.n);
		buf_free(&file);
		buf_free(&events);
		buf_free(&records);
		buf_free(&want);
	}
	tell_fd(&told, s.f.w, file_of(&joined));
	ok(equal(&told, &joined_told), "files in a row say what they say one by one");
	buf_free(&joined);
	buf_free(&joined_told);
	buf_free(&told);
	world_free(s.f.w);
	return tap_done();
}

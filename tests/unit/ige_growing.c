/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same recording as a file, through a pipe in pieces of any size, and while it is still being
 * written, reads the same; and a filter that passes blocks on changes nothing but what it inserts.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/input/input.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

/* What a stream said, in one number per thing; ids are left out: they are the world's. */
struct collected {
	uint64_t events, records, lasts, hash;
	int rc;
};

static struct collected listen(struct event_stream *s)
{
	struct collected t = { 0 };
	struct stream_item item;
	struct err e = { 0 };

	while ((t.rc = s->next(s, &item, &e)) == 1) {
		t.records += item.kind == STREAM_RECORD;
		t.lasts += item.kind == STREAM_LAST;
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++, t.events++) {
			const struct event *ev = &item.events[i];
			uint64_t v[] = { (uint64_t)ev->end_ns,
					 ev->dur_ns,
					 ev->op,
					 ev->depth,
					 ev->present,
					 (uint64_t)(int64_t)ev->ret };

			t.hash = hash_bytes(v, sizeof(v), t.hash);
		}
		if (item.kind == STREAM_RECORD)
			t.hash = hash_u64(t.hash + item.record->kind + item.record->present);
	}
	return t;
}

static bool same(struct collected a, struct collected b)
{
	return a.events == b.events && a.records == b.records && a.lasts == b.lasts &&
	       a.hash == b.hash && a.rc == b.rc;
}

static struct collected told_of(const struct buf *file)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	struct collected t = listen(ige_reader_stream(r));

	ige_reader_free(r);
	world_free(w);
	return t;
}

/* Through a pipe, max bytes at most per write. */
static struct collected told_by_pipe(const struct buf *file, size_t max)
{
	struct world *w = world_new();
	struct ige_reader *r;
	struct collected t;
	int fds[2];
	pid_t pid;

	fflush(stdout); /* or the child may say again what was said */
	if (pipe(fds) || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		uint32_t x = 1;

		close(fds[0]);
		for (size_t at = 0, n; at < file->n; at += n) {
			x = x * 1664525 + 1013904223;
			n = 1 + (x >> 8) % max;
			n = n < file->n - at ? n : file->n - at;
			if (write(fds[1], file->p + at, n) != (ssize_t)n)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	if (ige_reader_open(&r, w, fds[0], true, "pipe", NULL))
		abort();
	t = listen(ige_reader_stream(r));
	ok(!ige_reader_report(r)->unterminated && !ige_reader_report(r)->growing,
	   "a pipe that ended cleanly is whole");
	ige_reader_free(r);
	world_free(w);
	waitpid(pid, NULL, 0);
	return t;
}

static void test_pipe(const struct buf *file, struct collected want)
{
	static const size_t sizes[] = { 1, 7, 64, 4096, 300000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		ok(same(told_by_pipe(file, sizes[i]), want),
		   "a pipe in pieces of up to %zu bytes says what the file says", sizes[i]);
}

static void append(int fd, const struct buf *file, size_t from, size_t to)
{
	if (write(fd, file->p + from, to - from) != (ssize_t)(to - from))
		abort();
}

static struct collected open_and_listen(const char *name, struct ige_report *report,
					struct buf *notes, int *verdict)
{
	const char *operands[] = { name };
	struct world *w = world_new();
	struct input *in;
	struct collected t;

	if (input_open(&in, w, operands, 1, NULL))
		abort();
	t = listen(input_stream(in));
	*report = input_report(in);
	buf_reset(notes);
	*verdict = input_verdict(in, notes);
	buf_putc(notes, '\0');
	input_free(in);
	world_free(w);
	return t;
}

static void test_growing(const struct buf *file, struct collected whole)
{
	char name[] = "/tmp/ingero-growing-XXXXXX";
	int fd = mkstemp(name), verdict;
	struct ige_report report;
	struct buf notes = { 0 };
	struct collected t;

	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	t = open_and_listen(name, &report, &notes, &verdict);
	ok(report.empty && t.events == 0, "nothing written yet: empty");

	append(fd, file, 0, 30);
	open_and_listen(name, &report, &notes, &verdict);
	ok(report.growing && verdict == 0, "half a header written: growing");

	append(fd, file, 30, file->n / 2);
	t = open_and_listen(name, &report, &notes, &verdict);
	ok(t.events > 0 && t.events < whole.events, "half of it written: %llu events can be read",
	   (unsigned long long)t.events);
	ok(report.growing, "its recorder holds the lock: growing");
	is_int(verdict, 0, "which is no damage, not even inside a block");
	like(notes.p, "still writing", "and is said");

	append(fd, file, file->n / 2, file->n);
	t = open_and_listen(name, &report, &notes, &verdict);
	ok(same(t, whole) && !report.growing, "all of it written: whole, lock or no lock");
	is_int(verdict, 0, "nothing to complain about");

	if (ftruncate(fd, (off_t)(file->n / 2)))
		abort();
	close(fd);
	open_and_listen(name, &report, &notes, &verdict);
	ok(!report.growing && report.unterminated, "its recorder is gone: unterminated");
	is_int(verdict, ERR_DAMAGED, "which is told apart from a clean end");
	unlink(name);
	buf_free(&notes);
}

/* Pass blocks on as they are, with a chain record after each events block. */
static void test_filter(const struct buf *file, struct collected want)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	struct buf out = { 0 }, both = { 0 };
	struct ige_block b;
	struct record chain = { .kind = RECORD_CHAIN };
	struct err e = { 0 };
	uint64_t inserted = 0;
	struct collected t;

	REC_SET(&chain, CHAIN, id, bytes_of("00000000deadbeef"));
	REC_SET(&chain, CHAIN, time_ns, 5);
	while (ige_reader_block(r, &b, &e) == 1) {
		buf_add(&out, b.bytes, b.n);
		if (!b.last)
			buf_add(&both, b.bytes, b.n);
		if (b.end_max > 0 && !b.last) {
			if (ige_encode_records(&both, &chain, 1, b.seq, b.end_max, &e))
				abort();
			inserted++;
		}
		if (b.last)
			buf_add(&both, b.bytes, b.n);
	}
	ok(out.n == file->n && !memcmp(out.p, file->p, out.n), "blocks passed on are the file");
	t = told_of(&both);
	is_u64(t.events, want.events, "with records inserted: the same events");
	is_u64(t.records, want.records + inserted, "and %llu records more",
	       (unsigned long long)inserted);
	ok(inserted > 3 && t.lasts == 1, "and a clean end");
	chain = (struct record){ .kind = RECORD_NAME };
	REC_SET(&chain, NAME, thread, 1);
	is_int(ige_encode_records(&both, &chain, 1, 0, 0, &e), ERR_USAGE,
	       "a record that refers to a subject cannot be inserted");
	ige_reader_free(r);
	world_free(w);
	buf_free(&out);
	buf_free(&both);
}

int main(void)
{
	struct fixture f;
	struct buf file = { 0 };
	struct collected want;

	fixture_init(&f);
	fixture_recording(&f, &file, 1000, 100);
	want = told_of(&file);
	is_u64(want.events, 1000, "the recording has 1000 events");
	fflush(stdout);
	test_pipe(&file, want);
	test_growing(&file, want);
	test_filter(&file, want);
	buf_free(&file);
	world_free(f.w);
	return tap_done();
}

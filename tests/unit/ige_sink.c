/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer when what it needs fails: memory, its sink, a full device, a file that may not grow, a
 * pipe that takes a few bytes at a time. Every failure is reported as what it is, and what was
 * written before it is a recording of whole blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define EVENTS	   400
#define FEW_EVENTS 120 /* where each of hundreds of allocations is one run */
#define BLOCK	   32

/* ---- memory that runs out: the linker brings every allocation of the library here ---- */

static uint64_t allocations, fail_at; /* the fail_at-th one fails, and all behind it; 0: none */

static bool refuse(void)
{
	return fail_at && ++allocations >= fail_at;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
	return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
	return refuse() ? NULL : __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
	return refuse() ? NULL : __real_realloc(p, n);
}

/* ---- writing until the first error ---- */

static int write_some(const struct fixture *f, struct ige_sink *sink, uint32_t n, bool archive,
		      struct err *e)
{
	struct ige_writer_options opt = { .block_events = BLOCK,
					  .boot = 77,
					  .clock_id = 1,
					  .index = true,
					  .archive = archive,
					  .segment_bytes = 24 << 10 };
	struct record r = { .kind = RECORD_SESSION };
	struct ige_writer *wr;
	int rc = ige_writer_new(&wr, f->w, sink, &opt, e);

	REC_SET(&r, SESSION, start_ns, -5);
	REC_SET(&r, SESSION, tool, bytes_of("ingero-test"));
	if (!rc)
		rc = ige_writer_record(wr, &r, e);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = fixture_event(f, i);

		rc = ige_writer_event(wr, &ev, e);
		if (!rc && i % 100 == 50)
			rc = ige_writer_flush(wr, ev.end_ns, ev.end_ns, true, e);
	}
	if (!rc)
		rc = ige_writer_finish(wr, e);
	ige_writer_free(wr);
	return rc;
}

/* How many events are in there; wrong: something besides the missing end is reported. */
static uint64_t read_back(const void *p, size_t n, bool *wrong)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, p, n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;
	struct err e = { 0 };
	uint64_t events = 0;
	int rc;

	while ((rc = s->next(s, &item, &e)) == 1)
		events += item.kind == STREAM_EVENTS ? item.n : 0;
	*wrong = rc || ige_reader_report(r)->damaged_blocks || ige_reader_report(r)->too_new ||
		 ige_reader_report(r)->unknown_blocks;
	ige_reader_free(r);
	world_free(w);
	return events;
}

/* ---- a sink that fails ---- */

struct failing_sink {
	struct ige_sink sink;
	struct buf bytes;
	unsigned puts, fail_at;
	uint64_t events; /* that were taken */
};

static int failing_put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
		       uint32_t events, struct err *e)
{
	struct failing_sink *f = (struct failing_sink *)s;

	(void)kind;
	if (++f->puts == f->fail_at)
		return err_set(e, ERR_SYS, "put %u fails", f->puts);
	f->events += events;
	buf_add(&f->bytes, p, n);
	return 0;
}

static void test_failing_sink(const struct fixture *f, bool archive)
{
	unsigned at, puts = 0, other_code = 0, other_text = 0, not_whole = 0, went_on = 0;
	uint64_t lost = 0;

	for (at = 1;; at++) {
		struct failing_sink s = { .sink = { failing_put }, .fail_at = at };
		struct err e = { 0 };
		char text[40];
		bool wrong;
		int rc = write_some(f, &s.sink, EVENTS, archive, &e);

		if (s.puts < at) {
			is_int(rc, 0, "no put fails: written%s", archive ? " for keeping" : "");
			is_u64(read_back(s.bytes.p, s.bytes.n, &wrong), EVENTS, "all events");
			puts = s.puts;
			buf_free(&s.bytes);
			break;
		}
		snprintf(text, sizeof(text), "put %u fails", at);
		other_code += rc != ERR_SYS;
		other_text += strcmp(e.text, text) != 0;
		went_on += s.puts > at;
		if (s.bytes.n)
			lost += read_back(s.bytes.p, s.bytes.n, &wrong) != s.events;
		not_whole += s.bytes.n && wrong;
		buf_free(&s.bytes);
	}
	ok(puts > 10, "%u puts, each failed once", puts);
	is_u64(other_code, 0, "the sink's code is the writer's");
	is_u64(other_text, 0, "and so is its text");
	is_u64(went_on, 0, "nothing is put after it");
	is_u64(not_whole, 0, "what was put before is whole blocks");
	is_u64(lost, 0, "with the events the sink was told of");
}

/* ---- no memory ---- */

static void test_no_memory(const struct fixture *f, bool archive)
{
	unsigned other = 0, not_whole = 0;
	uint64_t at, failed = 0;

	for (at = 1;; at++) {
		/* What the test itself keeps is there before. */
		struct failing_sink s = { .sink = { failing_put } };
		struct err e = { 0 };
		bool wrong, reached;
		int rc;

		if (!buf_reserve(&s.bytes, 1 << 20))
			abort();
		allocations = 0;
		fail_at = at;
		rc = write_some(f, &s.sink, FEW_EVENTS, archive, &e);
		reached = allocations >= at;
		fail_at = 0;
		failed += reached;
		other += rc != (reached ? ERR_NOMEM : 0);
		if (s.bytes.n)
			read_back(s.bytes.p, s.bytes.n, &wrong);
		not_whole += s.bytes.n && wrong;
		buf_free(&s.bytes);
		if (!reached)
			break;
	}
	ok(failed > 20, "%" PRIu64 " allocations, each failed once%s", failed,
	   archive ? ", for keeping" : "");
	is_u64(other, 0, "each is reported as out of memory");
	is_u64(not_whole, 0, "what was put before is whole blocks");
}

/* ---- descriptors ---- */

static void test_full_device(const struct fixture *f)
{
	struct ige_fd_sink s;
	struct err e = { 0 };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		printf("ok %u # SKIP no /dev/full\n", ++tap_count);
		return;
	}
	ige_fd_sink_init(&s, fd);
	is_int(write_some(f, &s.sink, EVENTS, false, &e), ERR_SYS, "a full device");
	like(e.text, strerror(ENOSPC), "is said to be full");
	is_u64(s.bytes, 0, "and has taken nothing");
	close(fd);
}

/* A file that may not grow past a limit takes a part of a block first: what a full disk does. */
static void test_limited_file(const struct fixture *f)
{
	enum { LIMIT = 8001 }; /* beyond the table of ops, which grows */
	struct buf got = { 0 };
	FILE *file = tmpfile();
	bool wrong;
	int status = 0;
	pid_t child;

	if (!file)
		abort();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct rlimit limit = { LIMIT, LIMIT };
		struct ige_fd_sink s;
		struct err e = { 0 };
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		ige_fd_sink_init(&s, fileno(file));
		if (setrlimit(RLIMIT_FSIZE, &limit))
			_exit(2);
		rc = write_some(f, &s.sink, EVENTS, false, &e);
		_exit(rc == ERR_SYS && strstr(e.text, strerror(EFBIG)) && s.bytes < LIMIT ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	is_int(status, 0, "a file at its limit is said to be too large");
	rewind(file);
	if (read_fd(fileno(file), "file", &got, 1 << 20, NULL))
		abort();
	is_u64(got.n, LIMIT, "and holds all that fitted");
	ok(read_back(got.p, got.n, &wrong) > 0 && !wrong, "of which whole blocks are read");
	buf_free(&got);
	fclose(file);
}

static void tick(int sig)
{
	(void)sig;
}

/* A pipe of one page, whose other end takes few bytes at a time, while signals arrive all along. */
static void test_slow_pipe(const struct fixture *f, bool nonblocking)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction interrupt = { .sa_handler = tick }, ignore = { .sa_handler = SIG_IGN };
	struct failing_sink whole = { .sink = { failing_put } };
	struct buf got = { 0 };
	struct ige_fd_sink s;
	struct err e = { 0 };
	int pipes[2], status = 0, rc;
	FILE *file = tmpfile();
	pid_t child;

	if (!file || pipe(pipes) || write_some(f, &whole.sink, EVENTS, false, &e))
		abort();
	(void)fcntl(pipes[1], F_SETPIPE_SZ, 4096);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		char few[97];
		ssize_t n;

		close(pipes[1]);
		while ((n = read(pipes[0], few, sizeof(few))) > 0)
			if (write(fileno(file), few, (size_t)n) != n)
				_exit(1);
		_exit(n < 0);
	}
	if (child < 0)
		abort();
	close(pipes[0]);
	if (nonblocking)
		fcntl(pipes[1], F_SETFL, O_NONBLOCK);
	sigaction(SIGALRM, &interrupt, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	ige_fd_sink_init(&s, pipes[1]);
	rc = write_some(f, &s.sink, EVENTS, false, &e);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &ignore, NULL); /* one may have been sent and not come yet */
	close(pipes[1]);
	if (waitpid(child, &status, 0) != child)
		abort();
	is_int(rc, 0, "a slow %spipe%s%s", nonblocking ? "non-blocking " : "", rc ? ": " : "",
	       e.text);
	is_int(status, 0, "whose reader sees its end");
	is_u64(s.bytes, whole.bytes.n, "takes every byte");
	rewind(file);
	if (read_fd(fileno(file), "file", &got, 1 << 20, NULL))
		abort();
	ok(got.n == whole.bytes.n && !memcmp(got.p, whole.bytes.p, got.n), "and as it was given");
	buf_free(&got);
	buf_free(&whole.bytes);
	fclose(file);
}

/* Nobody reads any more. */
static void test_closed_pipe(const struct fixture *f)
{
	struct ige_fd_sink s;
	struct err e = { 0 };
	int pipes[2];

	if (pipe(pipes))
		abort();
	close(pipes[0]);
	signal(SIGPIPE, SIG_IGN);
	ige_fd_sink_init(&s, pipes[1]);
	is_int(write_some(f, &s.sink, EVENTS, false, &e), ERR_CLOSED, "a pipe without a reader");
	signal(SIGPIPE, SIG_DFL);
	close(pipes[1]);
}

int main(void)
{
	struct fixture f;

	fixture_init(&f);
	test_failing_sink(&f, false);
	test_failing_sink(&f, true);
	test_no_memory(&f, false);
	test_no_memory(&f, true);
	test_full_device(&f);
	test_limited_file(&f);
	test_slow_pipe(&f, false);
	test_slow_pipe(&f, true);
	test_closed_pipe(&f);
	world_free(f.w);
	return tap_done();
}

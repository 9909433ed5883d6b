/* SPDX-License-Identifier: Apache-2.0 */
/* How far an input is read, asked behind every item: what the system would say, which is asked
 * seldom. */
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/ige/window.h"
#include "lib/input/input.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define EVENTS 80000
#define PIECE  60000 /* bytes that a pipe takes at once */

static unsigned asked;

off_t __real_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence);
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	asked++;
	return __real_lseek(fd, offset, whence);
}

static void record(struct buf *out)
{
	struct fixture f;
	struct fixture_sink s = { 0 };
	struct ige_writer *wr;

	fixture_init(&f);
	wr = fixture_writer(&f, &s, 64);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event ev = fixture_event(&f, i);

		ige_writer_event(wr, &ev, NULL);
	}
	ige_writer_finish(wr, NULL);
	ige_writer_free(wr);
	world_free(f.w);
	*out = s.bytes;
}

static void put(int fd, const struct buf *bytes, size_t from, size_t to)
{
	if (pwrite(fd, bytes->p + from, to - from, (off_t)from) != (ssize_t)(to - from))
		abort();
}

struct seen {
	unsigned items, wrong; /* wrong: another position than the file's, or one that goes back */
	uint64_t done, total, events;
};

/* Reads on to the end, or for so many items. */
static struct seen read_some(struct input *in, int fd, unsigned most)
{
	struct event_stream *stream = input_stream(in);
	struct stream_item item;
	struct seen s = { 0 };
	struct err e;

	while (s.items < most && stream->next(stream, &item, &e) > 0) {
		uint64_t before = s.done;
		struct stat st;

		input_position(in, &s.done, &s.total, &s.events);
		s.items++;
		if (fd >= 0 && fstat(fd, &st))
			abort();
		s.wrong += s.done < before || (fd >= 0 && s.total != (uint64_t)st.st_size) ||
			   s.done > s.total;
	}
	return s;
}

static void test_file(const char *path, int fd, const struct buf *bytes)
{
	struct world *w = world_new();
	struct input *in = NULL;
	struct seen s;
	struct err e;

	put(fd, bytes, 0, bytes->n);
	if (input_open(&in, w, &path, 1, &e))
		abort();
	asked = 0;
	s = read_some(in, fd, UINT32_MAX);
	is_u64(s.wrong, 0, "each position is right");
	is_u64(s.done, bytes->n, "all of it was read in the end");
	is_u64(s.events, EVENTS, "with its events");
	ok(s.items > 200 && asked < bytes->n / IGE_READ_BYTES + 4,
	   "the system is asked when more was read: %u times for %u items", asked, s.items);
	input_free(in);
	world_free(w);
}

/* What is added shows as soon as it is read. */
static void test_growing(const char *path, int fd, const struct buf *bytes)
{
	struct world *w = world_new();
	struct input *in = NULL;
	struct seen s;
	struct err e;

	if (ftruncate(fd, 0))
		abort();
	put(fd, bytes, 0, bytes->n / 2);
	if (input_open(&in, w, &path, 1, &e))
		abort();
	s = read_some(in, fd, 100);
	is_u64(s.wrong, 0, "the size as it is");
	put(fd, bytes, bytes->n / 2, bytes->n);
	s = read_some(in, -1, UINT32_MAX);
	is_u64(s.wrong, 0, "never further than its size");
	is_u64(s.total, bytes->n, "the size that it has come to");
	is_u64(s.done, bytes->n, "and all of it");
	input_free(in);
	world_free(w);
}

static void test_two(const char *path)
{
	const char *two[] = { path, path };
	struct world *w = world_new();
	struct input *in = NULL;
	struct seen s;
	struct err e;

	if (input_open(&in, w, two, 2, &e))
		abort();
	s = read_some(in, -1, UINT32_MAX);
	is_u64(s.wrong, 0, "of two, each position is one");
	is_u64(s.events, 2 * EVENTS, "of the events of both");
	ok(s.done == s.total && s.total > 0, "and in the end all of both");
	input_free(in);
	world_free(w);
}

/* A pipe is not known to end. */
static void test_pipe(const struct buf *bytes)
{
	int fds[2];
	const char *path;
	char name[40];
	struct world *w = world_new();
	struct input *in = NULL;
	struct seen s;
	struct err e;

	if (pipe(fds))
		abort();
	snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
	path = name;
	if (write(fds[1], bytes->p, PIECE) != PIECE || input_open(&in, w, &path, 1, &e))
		abort();
	close(fds[1]);
	s = read_some(in, -1, UINT32_MAX);
	ok(s.items && !s.done && !s.total && s.events, "of a pipe only events are known");
	input_free(in);
	close(fds[0]);
	world_free(w);
}

int main(void)
{
	char path[] = "/tmp/ingero-position-XXXXXX";
	struct buf bytes = { 0 };
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	record(&bytes);
	ok(bytes.n > 2 * IGE_READ_BYTES, "a recording that is read in pieces: %zu bytes", bytes.n);
	test_file(path, fd, &bytes);
	test_growing(path, fd, &bytes);
	test_two(path);
	test_pipe(&bytes);
	close(fd);
	unlink(path);
	buf_free(&bytes);
	return tap_done();
}

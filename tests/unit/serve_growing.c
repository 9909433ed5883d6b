/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is served while it is written: at each length its causes are those that one reading of all of it finds, and what was read
 * before is not read again.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/ige/writer.h"
#include "lib/serve/source.h"
#include "lib/sim/sim.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define PARTS	    4
#define PATIENCE_NS INT64_C(60000000000)

static const struct select_words everything;

/* What a dashboard of a scenario's recording would be asked about. */
static void record(struct buf *out, const char *scenario)
{
	struct fixture_sink sink = { .sink = { fixture_put } };
	struct ige_writer_options opt = { .clock_id = 1 };
	struct world *w = world_new();
	struct event_stream *s = NULL;
	struct ige_writer *wr = NULL;
	struct stream_item item;
	struct sim_options o;

	if (sim_scenario_options(scenario, &o))
		abort();
	o.duration_ns = 6000000000;
	if (sim_open(&s, w, &o, NULL) || ige_writer_new(&wr, w, &sink.sink, &opt, NULL))
		abort();
	while (s->next(s, &item, NULL) > 0) {
		if (item.kind == STREAM_RECORD && ige_writer_record(wr, item.record, NULL))
			abort();
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
			if (ige_writer_event(wr, &item.events[i], NULL))
				abort();
		if (ige_writer_flush(wr, item.watermark_ns, item.floor_ns, false, NULL))
			abort();
	}
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	*out = sink.bytes;
}

/* Who asks, and from where on it was read. */
struct asker {
	struct serve_asker asker; /* first: it tells us */
	double from;		  /* < 0: nothing was read */
};

static void progress(const struct serve_asker *a, double done, double total, const char *message)
{
	struct asker *x = (struct asker *)a;

	if (x->from < 0)
		x->from = done;
}

static int tell(void *ctx, const struct serve_chains *c, struct err *e)
{
	const struct ask_chains *a = c->answer;
	struct buf *out = ctx;

	buf_printf(out, "%" PRIu64 " events, %" PRIu64 " lost, %" PRIi64 " to %" PRIi64 "\n",
		   a->events, a->lost, a->start_ns, a->end_ns);
	for (size_t i = 0; i < a->list.v.n; i++) {
		const struct chain *x = &a->list.v.v[i];

		buf_printf(out, "%.*s %.*s %u %u %" PRIi64 " %" PRIu64 " %" PRIu64 " %.*s ",
			   (int)x->id.n, x->id.p, (int)x->kind.n, x->kind.p, x->revision,
			   x->severity, x->last_ns, x->count, x->lost_ns, (int)x->summary.n,
			   x->summary.p);
		json_dump(out, x->body, JSON_DUMP_SORTED);
		buf_putc(out, '\n');
	}
	json_dump(out, a->list.analysis, JSON_DUMP_SORTED);
	return 0;
}

static bool ask(struct serve_source *s, struct asker *asker, struct buf *out)
{
	struct err e = { 0 };

	buf_reset(out);
	*asker = (struct asker){ .asker.progress = progress, .from = -1 };
	return !serve_source_chains(s, &asker->asker, &everything, false, tell, out, &e);
}

static struct serve_source *serve(const char *path)
{
	static const char *name[1];
	struct serve_source *s = NULL;
	struct serve_source_options opt = { .names = name, .n = 1, .tool = "test" };
	struct err e;

	name[0] = path;
	return serve_source_open(&s, &opt, &e) ? NULL : s;
}

/* What somebody says who never read it before. */
static void ask_anew(const char *path, struct buf *out)
{
	struct serve_source *s = serve(path);
	struct asker asker;

	if (!s || !ask(s, &asker, out))
		abort();
	serve_source_free(s);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Of what grows an answer of a second ago may be given. */
static bool comes_to(struct serve_source *s, const struct buf *wanted, double *from)
{
	int64_t until = now_ns() + PATIENCE_NS;
	struct buf got = { 0 };
	struct asker asker;
	bool same = false;

	*from = -1;
	while (!same && now_ns() < until && ask(s, &asker, &got)) {
		*from = asker.from >= 0 ? asker.from : *from;
		same = bytes_equal(buf_bytes(&got), buf_bytes(wanted));
	}
	buf_free(&got);
	return same;
}

static bool put(int fd, const struct buf *bytes, size_t from, size_t to)
{
	struct err e;

	return !write_all(fd, bytes->p + from, to - from, &e);
}

static void test_scenario(const char *scenario, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf bytes = { 0 }, wanted = { 0 };
	struct serve_source *s;
	unsigned same = 0, on = 0, causes = 0;
	size_t at = 0;
	double from;

	record(&bytes, scenario);
	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	s = serve(path);
	for (size_t i = 1; i <= PARTS; i++) {
		/* Most of them end inside blocks. */
		size_t to = bytes.n * i / (PARTS + 1);

		if (!s || !put(fd, &bytes, at, to))
			abort();
		ask_anew(path, &wanted);
		same += comes_to(s, &wanted, &from);
		/* Up to a block that was not whole before. */
		on += from >= (double)at / 2 || i == 1;
		causes += memchr(wanted.p, '{', wanted.n) != NULL;
		at = to;
	}
	is_u64(same, PARTS, "%s: at each length its causes are those of all of it", scenario);
	is_u64(on, PARTS, "%s: found by reading on", scenario);
	ok(causes > 0, "%s: there are some", scenario);
	if (!put(fd, &bytes, at, bytes.n))
		abort();
	close(fd);
	ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &from) && from >= (double)at / 2,
	   "%s: so they are when it has ended", scenario);
	ok(comes_to(s, &wanted, &from) && from < 0, "%s: and are not looked for again", scenario);
	serve_source_free(s);
	buf_free(&wanted);
	buf_free(&bytes);
}

/* Another recording in the same file, and one that is shorter, are read from their beginning. */
static void test_another(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf first = { 0 }, second = { 0 }, wanted = { 0 };
	struct serve_source *s;
	double from;

	record(&first, "incident");
	record(&second, "lock");
	if (fd < 0 || flock(fd, LOCK_EX) || !put(fd, &first, 0, first.n / 2))
		abort();
	s = serve(path);
	ask_anew(path, &wanted);
	ok(s && comes_to(s, &wanted, &from), "a recording that is written");
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || !put(fd, &second, 0, second.n * 3 / 4))
		abort();
	ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &from), "another one in its place");
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || !put(fd, &second, 0, second.n / 4))
		abort();
	ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &from), "the same once more, and shorter");
	serve_source_free(s);
	close(fd);
	buf_free(&first);
	buf_free(&second);
	buf_free(&wanted);
}

int main(void)
{
	char path[] = "/tmp/serve_growing.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	test_scenario("incident", path);
	test_scenario("lock", path);
	test_another(path);
	unlink(path);
	return tap_done();
}

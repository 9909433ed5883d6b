/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is served while it is written: at each length its causes are those that one
 * reading of all of it finds, and what was read before is not read again.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/report/ops_json.h"
#include "lib/event/section_rows.h"
#include "lib/ige/writer.h"
#include "lib/model/body.h"
#include "lib/api/report_from_answer.h"
#include "lib/store/source.h"
#include "lib/sim/sim.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define PARTS	    4
#define PATIENCE_NS INT64_C(60000000000)

static const struct filter_words everything;

/* What a dashboard of a scenario's recording would be asked about. */
static void record(struct buf *out, const char *scenario)
{
	struct fixture_sink sink = { .sink = { fixture_put } };
	struct ige_writer_options opt = { .clock_id = 1 };
	struct world *w = world_new();
	struct event_stream *s = NULL;
	struct ige_writer *wr = NULL;
	struct stream_item item;
	struct record lost = { .kind = RECORD_COVERAGE };
	struct sim_options o;

	if (sim_scenario_options(scenario, &o))
		abort();
	o.duration_ns = 6000000000;
	if (sim_open(&s, w, &o, NULL) || ige_writer_new(&wr, w, &sink.sink, &opt, NULL))
		abort();
	REC_SET(&lost, COVERAGE, layer, bytes_of("lost stacks"));
	REC_SET(&lost, COVERAGE, requested, 4000);
	REC_SET(&lost, COVERAGE, failed, 321);
	if (ige_writer_record(wr, &lost, NULL))
		abort();
	while (s->next(s, &item, NULL) > 0)
		if (ige_writer_item(wr, &item, NULL))
			abort();
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	*out = sink.bytes;
}

/* Who asks, and how much was read for it. */
struct client {
	struct request_ctx rctx; /* first: it tells us */
	unsigned items;
};

static void progress(const struct request_ctx *a, double done, double total, const char *message)
{
	((struct client *)a)->items++;
}

static int tell(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct query_chains *a = c->answer;
	struct buf *out = ctx;

	buf_printf(out, "%" PRIu64 " events, %" PRIu64 " lost, %" PRIi64 " to %" PRIi64 "\n",
		   a->events, a->lost, a->start_ns, a->end_ns);
	for (size_t i = 0; i < a->list.v.n; i++) {
		const struct finding *x = &a->list.v.v[i];
		struct json body;

		buf_printf(out, "%.*s %.*s %u %u %" PRIi64 " %" PRIu64 " %" PRIu64 " %.*s ",
			   (int)x->id.n, x->id.p, (int)x->kind.n, x->kind.p, x->revision,
			   x->severity, x->last_ns, x->count, x->lost_ns, (int)x->summary.n,
			   x->summary.p);
		body_read(x->json, &body, BODY_SIZE_MAX, NULL);
		json_dump(out, body, JSON_DUMP_SORTED);
		json_free(body);
		buf_putc(out, '\n');
	}
	json_dump(out, a->list.analysis, JSON_DUMP_SORTED);
	return 0;
}

/* The report of it all, errors and use of CPUs with it. */
static int tell_report(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct report_answer answer = { c->answer, c->failures, c->oncpu };
	const struct report r = report_from_answer(&answer, false, NULL);

	report_json(ctx, &r);
	return 0;
}

/* As served to pages. Own and lost time is of what has been settled, and the rest of what came. */
static int tell_stat(void *ctx, const struct store_stat *st, struct err *e)
{
	ops_json(ctx, st->w, st->ops, &st->quality.input);
	return 0;
}

enum question { CAUSES, REPORT, STAT, QUESTIONS };
static enum question question;

static bool ask(struct store_source *s, struct client *rctx, struct buf *out)
{
	const struct store_stat_request counts = { .sections = VIEW_ALL };
	struct err e = { 0 };

	buf_reset(out);
	*rctx = (struct client){ .rctx.progress = progress };
	if (question == STAT)
		return !store_source_stat(s, &rctx->rctx, &counts, tell_stat, out, &e);
	return !store_source_chains(s, &rctx->rctx, &everything, question == REPORT,
				    question == REPORT ? tell_report : tell, out, &e);
}

static struct store_source *serve(const char *path)
{
	static const char *name[1];
	struct store_source *s = NULL;
	struct store_source_options opt = { .names = name, .n = 1, .tool = "test" };
	struct err e;

	name[0] = path;
	return store_source_open(&s, &opt, &e) ? NULL : s;
}

/* What somebody says who never read it before, and how much was read for that. */
static unsigned ask_anew(const char *path, struct buf *out)
{
	struct store_source *s = serve(path);
	struct client rctx;

	if (!s || !ask(s, &rctx, out))
		abort();
	store_source_free(s);
	return rctx.items;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Of what grows an answer of a second ago may be given. */
static bool comes_to(struct store_source *s, const struct buf *wanted, unsigned *items)
{
	int64_t until = now_ns() + PATIENCE_NS;
	struct buf got = { 0 };
	struct client rctx;
	bool same = false;

	*items = 0;
	while (!same && now_ns() < until && ask(s, &rctx, &got)) {
		*items += rctx.items;
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
	static const char *const names[QUESTIONS] = { "causes", "report", "counts" };
	const char *what = names[question];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf bytes = { 0 }, wanted = { 0 };
	struct store_source *s;
	unsigned same = 0, on = 0, causes = 0, missing = 0, anew, items;
	size_t at = 0;

	record(&bytes, scenario);
	if (fd < 0 || flock(fd, LOCK_EX))
		abort();
	s = serve(path);
	for (size_t i = 1; i <= PARTS; i++) {
		/* Most of them end inside blocks. */
		size_t to = bytes.n * i / (PARTS + 1);

		if (!s || !put(fd, &bytes, at, to))
			abort();
		anew = ask_anew(path, &wanted);
		same += comes_to(s, &wanted, &items);
		/* Half of it is new the second time, and less from then on. */
		on += i == 1 || (items && items < anew * 3 / 4);
		causes += memchr(wanted.p, '{', wanted.n) != NULL;
		missing += strstr(buf_text(&wanted), "\"lost\": 321") != NULL;
		at = to;
	}
	is_u64(same, PARTS, "%s, %s: at each length what is told is of all of it", scenario, what);
	is_u64(on, PARTS, "%s, %s: found by reading on", scenario, what);
	ok(causes > 0, "%s, %s: there is something", scenario, what);
	is_u64(missing, question == REPORT ? PARTS : 0, "%s, %s: what is lost beside events",
	       scenario, what);
	if (!put(fd, &bytes, at, bytes.n))
		abort();
	close(fd);
	anew = ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &items) && items < anew / 2, "%s, %s: so it is when it has ended",
	   scenario, what);
	ok(comes_to(s, &wanted, &items) && !items, "%s, %s: and is not looked for again", scenario,
	   what);
	store_source_free(s);
	buf_free(&wanted);
	buf_free(&bytes);
}

/* Another recording in the same file, and one that is shorter, are read from their beginning. */
static void test_another(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf first = { 0 }, second = { 0 }, wanted = { 0 };
	struct store_source *s;
	unsigned items;

	record(&first, "incident");
	record(&second, "lock");
	if (fd < 0 || flock(fd, LOCK_EX) || !put(fd, &first, 0, first.n / 2))
		abort();
	s = serve(path);
	ask_anew(path, &wanted);
	ok(s && comes_to(s, &wanted, &items), "a recording that is written");
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || !put(fd, &second, 0, second.n * 3 / 4))
		abort();
	ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &items), "another one in its place");
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || !put(fd, &second, 0, second.n / 4))
		abort();
	ask_anew(path, &wanted);
	ok(comes_to(s, &wanted, &items), "the same once more, and shorter");
	store_source_free(s);
	close(fd);
	buf_free(&first);
	buf_free(&second);
	buf_free(&wanted);
}

/* ---- a recorder that is killed ---- */

struct heard {
	bool growing, partial;
};

static struct heard heard_of(const struct store_quality *q)
{
	return (struct heard){ q->input.growing, store_quality_partial(q) };
}

static int hear_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	*(struct heard *)ctx = heard_of(&c->quality);
	return 0;
}

static int hear_stat(void *ctx, const struct store_stat *st, struct err *e)
{
	*(struct heard *)ctx = heard_of(&st->quality);
	return 0;
}

/* Whether each answer says so. */
static bool all_say(struct store_source *s, bool growing, bool partial)
{
	const struct store_stat_request all = { .sections = VIEW_ALL }, brief = { .brief = true };
	struct heard h[4] = { 0 };
	struct err e;
	bool say = !store_source_stat(s, NULL, &all, hear_stat, &h[0], &e) &&
		   !store_source_stat(s, NULL, &brief, hear_stat, &h[1], &e) &&
		   !store_source_chains(s, NULL, &everything, false, hear_chains, &h[2], &e) &&
		   !store_source_chains(s, NULL, &everything, true, hear_chains, &h[3], &e);

	for (unsigned i = 0; i < 4; i++)
		say = say && h[i].growing == growing && h[i].partial == partial;
	return say;
}

/* It writes nothing any more, and its recording is the same to the byte. */
static void test_killed(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct buf bytes = { 0 };
	struct store_source *s;

	record(&bytes, "incident");
	if (fd < 0 || flock(fd, LOCK_EX) || !put(fd, &bytes, 0, bytes.n / 2))
		abort();
	s = serve(path);
	ok(s && all_say(s, true, false), "while its recorder lives it grows");
	close(fd);
	ok(s && all_say(s, false, true), "once that was killed it did not end, in each answer");
	store_source_free(s);
	buf_free(&bytes);
}

int main(void)
{
	char path[] = "/tmp/serve_growing.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	for (question = CAUSES; question < QUESTIONS; question++) {
		test_scenario("incident", path);
		test_scenario(question == CAUSES ? "lock" : "errors", path);
		test_another(path);
	}
	test_killed(path);
	unlink(path);
	return tap_done();
}

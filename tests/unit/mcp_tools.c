/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever asks a tool can give up while recordings are read for it, hears that it goes on, and what
 * is missing from them.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/mcp/tools.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"
#include "tests/unit/paths_made.h"

#define GOOD "formats/samples/v1/good/"

struct client {
	struct request_ctx rctx; /* first: it asks us */
	unsigned asked, patience;
	double done;
};

static bool stop(const struct request_ctx *a)
{
	struct client *x = (struct client *)a;

	return x->asked++ >= x->patience;
}

static void progress(const struct request_ctx *a, double done, double total, const char *message)
{
	((struct client *)a)->done = done;
}

/* text, when not NULL: what the answer reads. */
static int call(struct store_source *s, const char *name, struct client *a, struct buf *text)
{
	const struct mcp_tools_options with = { .source = s, .version = "test" };
	struct mcp_tools *tools = mcp_tools_new(&with);
	const struct mcp_catalog *catalog = mcp_tools_catalog(tools);
	const struct mcp_tool *t = catalog->tools;
	struct mcp_reply answer = { 0 };
	struct json args = json_object();
	struct err e = { 0 };
	int rc;

	while (strcmp(t->name, name) != 0)
		t++;
	rc = t->call(catalog->ctx, &a->rctx, args, &answer, &e);
	if (text)
		buf_add(text, answer.text.p, answer.text.n);
	json_free(args);
	mcp_reply_free(&answer);
	mcp_tools_free(tools);
	return rc;
}

static void test_compare(void)
{
	static const char *const names[] = { GOOD "fixture.ige", GOOD "indexed.ige" };
	const struct store_source_options opt = { .names = names, .n = 2, .tool = "test" };
	struct client patient = { { stop, progress, NULL }, 0, UINT_MAX, 0 },
		      hasty = { { stop, progress, NULL }, 0, 2, 0 };
	struct store_source *s = NULL;
	struct err e;

	is_int(store_source_open(&s, &opt, &e), 0, "two recordings are served");
	is_int(call(s, "compare_runs", &patient, NULL), 0, "they are compared");
	ok(patient.done > 1 && patient.done <= 2, "how far both are is told: %g", patient.done);
	is_int(call(s, "compare_runs", &hasty, NULL), ERR_INTERRUPTED,
	       "who gives up is let go while they are read");
	store_source_free(s);
}

static int take(void *ctx, const struct store_items *from, const struct stream_item *item,
		struct err *e)
{
	return 0;
}

static void test_part(void)
{
	static const char *const names[] = { GOOD "indexed.ige" };
	const struct store_source_options opt = { .names = names, .n = 1, .tool = "test" };
	const struct filter_words words = { .last_given = true, .last_ns = 1 };
	struct client a = { { stop, progress, NULL }, 0, UINT_MAX, 0 };
	struct store_source *s = NULL;
	struct err e;

	is_int(store_source_open(&s, &opt, &e), 0, "a recording is served");
	is_int(store_source_each_item(s, &a.rctx, &words, take, NULL, &e), 0,
	       "a part of it is read");
	ok(a.done > 0, "who asks hears that it goes on: %g", a.done);
	store_source_free(s);
}

/* An analysis of no events, with the steps of a program. */
static void print_analysis(struct buf *out)
{
	struct paths paths = { 0 };
	struct jsonw j;

	make_paths(&paths);
	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_u64(&j, "events", 0);
	jsonw_key_u64(&j, "calls", 25);
	jsonw_key_u64(&j, "calls_left_out", 75);
	paths_write_json(&paths, &j);
	jsonw_object_end(&j);
	paths_free(&paths);
}

/* With its analysis, and a cause that is over before the first step. */
static void record(int fd)
{
	struct fixture_sink sink = { .sink = { fixture_put } };
	struct ige_writer_options opt = { .clock_id = 1 };
	struct record records[] = { { .kind = RECORD_SESSION },
				    { .kind = RECORD_COVERAGE },
				    { .kind = RECORD_CHAIN },
				    { .kind = RECORD_ANALYSIS } };
	struct buf analysis = { 0 };
	struct world *w = world_new();
	struct ige_writer *wr = NULL;
	struct err e;

	REC_SET(&records[0], SESSION, start_ns, 1000);
	REC_SET(&records[1], COVERAGE, layer, bytes_of("lost stacks"));
	REC_SET(&records[1], COVERAGE, requested, 4000);
	REC_SET(&records[1], COVERAGE, failed, 321);
	REC_SET(&records[1], COVERAGE, reason, bytes_of("ring full"));
	REC_SET(&records[2], CHAIN, id, bytes_of("c1"));
	REC_SET(&records[2], CHAIN, kind, bytes_of("disk"));
	REC_SET(&records[2], CHAIN, summary, bytes_of("the disk took it"));
	REC_SET(&records[2], CHAIN, severity, FINDING_HIGH);
	REC_SET(&records[2], CHAIN, first_ns, 1000);
	REC_SET(&records[2], CHAIN, last_ns, 1100);
	REC_SET(&records[2], CHAIN, body, bytes_of("{\"victim\":{\"pid\":4821}}"));
	print_analysis(&analysis);
	REC_SET(&records[3], ANALYSIS, body, buf_bytes(&analysis));
	if (ige_writer_new(&wr, w, &sink.sink, &opt, &e))
		abort();
	for (unsigned i = 0; i < 4; i++)
		if (ige_writer_record(wr, &records[i], &e))
			abort();
	if (ige_writer_finish(wr, &e) || write_all(fd, sink.bytes.p, sink.bytes.n, &e))
		abort();
	ige_writer_free(wr);
	world_free(w);
	buf_free(&analysis);
	buf_free(&sink.bytes);
}

static int take_chains(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct missing *m = &c->answer->missing;

	ok(c->answer->found_analyzed, "causes are those that the recording carries");
	is_u64(m->v.n, 1, "one kind of thing is missing");
	is_u64(m->v.n ? m->v.v[0].lost : 0, 321, "so many of them");
	return 0;
}

#define VERDICT "python3 (pid 4821): ~10 steps of run (a.py:2-9), 100 ns each: 60 ns (60.0%) waits"

static void test_missing(void)
{
	char path[] = "/tmp/mcp_tools.XXXXXX";
	const char *const names[] = { path };
	const struct store_source_options opt = { .names = names, .n = 1, .tool = "test" };
	const struct filter_words everything = { 0 };
	struct client a = { { stop, progress, NULL }, 0, UINT_MAX, 0 },
		      hasty = { { stop, progress, NULL }, 0, 0, 0 };
	struct store_source *s = NULL;
	int fd = mkstemp(path);
	struct buf text = { 0 };
	struct err e;

	if (fd < 0)
		abort();
	record(fd);
	is_int(store_source_open(&s, &opt, &e), 0, "an analyzed recording is served");
	is_int(store_source_chains(s, &hasty.rctx, &everything, false, take_chains, NULL, &e),
	       ERR_INTERRUPTED, "who gives up is let go");
	is_int(store_source_chains(s, NULL, &everything, false, take_chains, NULL, &e), 0,
	       "it is answered from");
	is_int(call(s, "get_causal_chains", &a, &text), 0, "an assistant asks");
	like(buf_text(&text), "; 321 of 4,000 stacks lost: ring full\n", "and is told");
	like(buf_text(&text), "; 25 of 100 calls were recorded, the others only counted",
	     "and that not all calls were kept");
	is_int(strncmp(buf_text(&text), VERDICT, strlen(VERDICT)), 0,
	       "it begins with where a step goes");
	like(buf_text(&text),
	     "\nstep: 70% 0 ms step (a.py:3) > next (l.py:1): 0 ms waits for loader (pid 7); 0 ms "
	     "on the CPU",
	     "the lines of the loop follow");
	like(buf_text(&text),
	     "disk c1: the disk took it (before the first step or after the last)\n",
	     "a cause of no step says so");
	buf_free(&text);
	store_source_free(s);
	close(fd);
	unlink(path);
}

int main(void)
{
	test_compare();
	test_part();
	test_missing();
	return tap_done();
}

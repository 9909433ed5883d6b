/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as JSON: what the analysis writes reads back as the same fields and writes the same
 * bytes again, and what others wrote is taken as far as it goes.
 */
#include "tests/tap.h"

#include "lib/detect/analysis.h"
#include "lib/input/input.h"
#include "lib/model/body.h"
#include "lib/model/finding_json.h"
#include "lib/sim/sim.h"
#include "tests/unit/samples.h"

static void write_text(const struct finding *f, struct buf *out)
{
	struct jsonw j;

	buf_reset(out);
	jsonw_init(&j, out, false);
	finding_write_json(f, &j);
}

/* ---- one of everything ---- */

static struct bytes copy(struct finding *f, const char *text)
{
	return finding_copy(f, bytes_of(text));
}

static void put_texts(struct finding *f, struct jsonmap_texts *list)
{
	if (!list_begin(list, 0, &f->memory))
		abort();
	for (unsigned i = 0; i < 20; i++)
		*list_add(list, &f->memory) = copy(f, i % 2 ? "train (a.py:3)" : "\"\\\n\t\x01/");
}

static void put_calls(struct finding *f)
{
	struct finding_symptom *c = finding_add(f, symptoms);
	struct finding_site *s = finding_add(f, sites);

	*c = (struct finding_symptom){ .op = copy(f, "cudaMalloc"),
				       .source = copy(f, "cuda"),
				       .lost_ns = 1,
				       .affected = 2,
				       .timed = true,
				       .n = UINT64_MAX,
				       .p99_ns = (1ull << 53) + 1,
				       .first_use = true,
				       .kernel = copy(f, "gemm<float>"),
				       .bytes_below = 4096 };
	*s = (struct finding_site){ .op = copy(f, "cudaMalloc"),
				    .source = copy(f, "cuda"),
				    .text = copy(f, ""),
				    .file = copy(f, "/a/b.py"),
				    .line = 41,
				    .timed = true,
				    .calls = 3,
				    .bytes = 1ull << 40 };
	put_texts(f, &s->stack);
	/* Time between calls has no durations. */
	*(struct finding_symptom *)finding_add(f, symptoms) =
		(struct finding_symptom){ .op = copy(f, "between calls"),
					  .source = copy(f, "host") };
}

static void put_proofs(struct finding *f)
{
	*(struct finding_moment *)finding_add(f, moments) = (struct finding_moment){
		.layer = copy(f, "SYSTEM"), .start_ns = -5, .text = copy(f, "x")
	};
	*(struct finding_moment *)finding_add(f, moments) =
		(struct finding_moment){ .layer = copy(f, "CUDA"),
					 .text = copy(f, "\xc3\xa4\xf0\x9f\x98\x80"),
					 .has_event = true,
					 .event = { 7, true, INT64_MIN, copy(f, "cudaFree") } };
	*(struct finding_fix *)finding_add(f, fixes) =
		(struct finding_fix){ copy(f, "Do it"), copy(f, "code"), copy(f, "a\nb"), 1, 2,
				      copy(f, "why") };
	*(struct finding_without *)finding_add(f, without) =
		(struct finding_without){ copy(f, "p99"), copy(f, "cudaFree"), 3, 1, 2 };
	*(struct finding_evidence *)finding_add(f, evidence) =
		(struct finding_evidence){ copy(f, "launches"), true, 0.1, copy(f, "/s"), { 0 } };
	*(struct finding_evidence *)finding_add(f, evidence) =
		(struct finding_evidence){ .what = copy(f, "driver"), .text = copy(f, "12.4") };
}

static void make_whole(struct finding *f)
{
	*f = (struct finding){ .known = true,
			       .first_after_ns = INT64_MIN,
			       .last_after_ns = INT64_MAX,
			       .share = 1 / 3.0,
			       .worst_share = 1e-300,
			       .estimate = true,
			       .covered = 0.05,
			       .measured_count = 9,
			       .at_least = true,
			       .explained = 0,
			       .unexplained = -1 };
	f->victim = (struct finding_victim){ true, 4821, copy(f, "python3"), { 0 }, 17 };
	f->node = copy(f, "gpu-1");
	f->op = copy(f, "cudaMalloc");
	f->counted = copy(f, "gaps");
	f->coverage.upper_bound = true;
	f->culprit.kind = copy(f, "own");
	f->culprit.text = copy(f, "python3 (pid 4821)");
	f->culprit.processes = UINT32_MAX;
	list_begin(&f->culprit.pids, 0, &f->memory);
	for (unsigned i = 0; i < 9; i++)
		*list_add(&f->culprit.tids, &f->memory) = i;
	put_texts(f, &f->culprit.via);
	*list_add(&f->parts, &f->memory) = (struct jsonmap_named){ copy(f, "disk"), 5 };
	put_calls(f);
	put_proofs(f);
}

static void whole(void)
{
	struct finding made = { 0 }, f = { .lost_ns = 8 };
	struct buf a = { 0 }, b = { 0 };
	struct err e = { 0 };

	make_whole(&made);
	ok(!made.failed, "made");
	write_text(&made, &a);
	is_int(finding_read_json(&f, buf_bytes(&a), SIZE_MAX, &e), 0, "read: %s", e.text);
	write_text(&f, &b);
	is_str(buf_text(&b), buf_text(&a), "written again");
	ok(f.known && f.lost_ns == 8 && bytes_equal(f.json, buf_bytes(&a)),
	   "the rest is as it was");
	ok(f.victim.known && f.victim.pid == 4821 && !f.victim.command.p && f.victim.calls == 17,
	   "the victim");
	ok(f.culprit.pids.v && !f.culprit.pids.n && f.culprit.tids.n == 9 &&
		   f.culprit.tids.v[8] == 8 && f.culprit.processes == UINT32_MAX &&
		   !f.culprit.comm.p,
	   "the culprit");
	ok(f.symptoms.n == 2 && f.symptoms.v[0].n == UINT64_MAX &&
		   f.symptoms.v[0].p99_ns == (1ull << 53) + 1 && f.symptoms.v[0].timed &&
		   !f.symptoms.v[1].timed,
	   "numbers have all their digits");
	ok(f.sites.n == 1 && f.sites.v[0].stack.n == 20 &&
		   bytes_equal(f.sites.v[0].stack.v[0], bytes_of("\"\\\n\t\x01/")) &&
		   !f.sites.v[0].symbol.p && f.sites.v[0].text.p && !f.sites.v[0].text.n,
	   "texts, empty ones and none");
	ok(f.moments.n == 2 && !f.moments.v[0].has_event &&
		   f.moments.v[1].event.end_ns == INT64_MIN &&
		   bytes_equal(f.moments.v[1].text, made.moments.v[1].text),
	   "moments");
	ok(f.share == made.share && f.worst_share == 1e-300 && f.explained == 0 &&
		   f.unexplained < 0 && f.at_least,
	   "shares");
	ok(f.evidence.n == 2 && f.evidence.v[0].is_number && f.evidence.v[0].value == 0.1 &&
		   !f.evidence.v[1].is_number && f.fixes.n == 1 &&
		   finding_fix_is_code(&f.fixes.v[0]),
	   "proofs and fixes");
	finding_free(&f);
	finding_free(&made);
	buf_free(&a);
	buf_free(&b);
}

/* ---- what others wrote ---- */

static void foreign(void)
{
	static const struct {
		const char *json;
		int rc;
		bool known;
		const char *text; /* of the error */
		const char *op;	  /* that was read */
	} rows[] = {
		{ "{}", 0, true, "", NULL },
		{ "", ERR_DAMAGED, false, "cut short", NULL },
		{ "[]", ERR_DAMAGED, true, "not an object", NULL },
		{ "{\"op\":\"a\"", ERR_DAMAGED, false, "cut short", NULL },
		{ "{\"op\":\"a\",\"new\":[{\"op\":\"b\"},\"]\"],\"x\":{\"op\":3}}", 0, true, "",
		  "a" },
		{ "{\"new\":1e9,\"op\":\"a\"}", 0, true, "", "a" },
		{ "{ \"op\" : \"a\" , \"sites\" : [ ] }", 0, true, "", "a" },
		{ "{\"\\u006fp\":\"\\u00e4\\ud83d\\ude00\\ud83d\"}", 0, true, "",
		  "\xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbd" },
		{ "{\"op\":null,\"victim\":null,\"sites\":null,\"first_ns\":null}", 0, true, "",
		  NULL },
		{ "{\"op\":3}", ERR_DAMAGED, true, "\"op\" is not a text", NULL },
		{ "{\"victim\":[],\"op\":\"a\"}", ERR_DAMAGED, true, "\"victim\" is not an object",
		  "a" },
		{ "{\"victim\":{\"pid\":-1},\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"victim.pid\" is not a number", "a" },
		{ "{\"victim\":{\"pid\":4294967296},\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"victim.pid\"", "a" },
		{ "{\"victim\":{\"pid\":1e3,\"calls\":18446744073709551616},\"op\":\"a\"}",
		  ERR_DAMAGED, true, "\"victim.calls\"", "a" },
		{ "{\"sites\":[{\"op\":\"b\"},{\"lost_ns\":\"1\"}],\"op\":\"a\"}", ERR_DAMAGED,
		  true, "\"sites.lost_ns\"", "a" },
		{ "{\"sites\":[1],\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"sites\" is not a list of objects", "a" },
		{ "{\"sites\":{},\"op\":\"a\"}", ERR_DAMAGED, true, "\"sites\" is not a list",
		  "a" },
		{ "{\"culprit\":{\"via\":[1],\"pids\":[\"x\"]},\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"culprit.via\" is not a list of texts", "a" },
		{ "{\"lost\":{\"disk\":1.5},\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"lost\" is not an object of numbers", "a" },
		{ "{\"timeline\":[{\"event\":{\"end\":\"12x\"}}],\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"timeline.event.end\"", "a" },
		{ "{\"coverage\":{\"upper_bound\":1},\"op\":\"a\"}", ERR_DAMAGED, true,
		  "\"coverage.upper_bound\" is not true or false", "a" },
		{ "{\"explained\":\"much\",\"op\":\"a\"}", ERR_DAMAGED, true, "\"explained\"",
		  "a" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct finding f = { .count = 3 };
		struct err e = { 0 };

		is_int(finding_read_json(&f, bytes_of(rows[i].json), SIZE_MAX, &e), rows[i].rc,
		       "%s", rows[i].json);
		like(e.text, rows[i].text, "what is said of it");
		ok(f.known == rows[i].known && f.count == 3, "what is known of it");
		ok(rows[i].op ? bytes_equal(f.op, bytes_of(rows[i].op)) : !f.op.p, "what was read");
		finding_free(&f);
	}
}

static void numbers(void)
{
	struct finding f = { 0 };
	struct err e = { 0 };

	is_int(finding_read_json(
		       &f,
		       bytes_of("{\"victim\":{\"pid\":1e3,\"calls\":3.0},\"first_ns\":-1e2,"
				"\"share_of_wall\":5e-1,\"symptom\":[{\"n\":1e19}]}"),
		       SIZE_MAX, &e),
	       0, "numbers in other forms: %s", e.text);
	is_u64(f.victim.pid, 1000, "with an exponent");
	is_u64(f.victim.calls, 3, "with a point");
	is_i64(f.first_after_ns, -100, "below zero");
	ok(f.share == 0.5 && f.symptoms.n == 1 && f.symptoms.v[0].n == 10000000000000000000u,
	   "small and large ones");
	is_int(finding_read_json(&f, bytes_of("{\"op\":\"again\"}"), SIZE_MAX, &e), 0,
	       "read again");
	ok(!f.victim.known && !f.symptoms.v && f.explained < 0, "nothing of the first is left");
	is_int(finding_read_json(&f, bytes_of("{\"sites\":[{},{},{}]}"), 60, &e), ERR_LIMIT,
	       "more than is wanted");
	ok(!f.known && !f.json.p, "is not read");
	finding_free(&f);
}

/* ---- of every scenario and sample ---- */

static unsigned bodies;

static void round_trip(struct bytes body, const char *from)
{
	struct finding f = { 0 };
	struct buf again = { 0 };
	struct err e = { 0 };
	int rc = finding_read_json(&f, body, SIZE_MAX, &e);

	if (!body.n) /* samples of the format alone */
		return;
	write_text(&f, &again);
	bodies++;
	if (rc || !bytes_equal(buf_bytes(&again), body))
		ok(false, "%s: %s\n# %.*s\n# %s", from, e.text, (int)body.n, body.p,
		   buf_text(&again));
	finding_free(&f);
	buf_free(&again);
}

struct trip_sink {
	struct cause_sink sink;
	const char *from;
};

static int trip_record(struct cause_sink *s, const struct record *r, struct err *e)
{
	(void)e;
	if (r->kind == RECORD_CHAIN)
		round_trip(r->u.CHAIN.body, ((struct trip_sink *)s)->from);
	return 0;
}

static void analyze_stream(struct event_stream *s, struct world *w, const char *from)
{
	struct trip_sink sink = { { trip_record }, from };
	struct cause *c = cause_new(w, NULL, &sink.sink);
	struct stream_item item;

	while (s->next(s, &item, NULL) > 0) {
		if (item.kind == STREAM_RECORD && item.record->kind == RECORD_CHAIN)
			round_trip(item.record->u.CHAIN.body, from);
		cause_item(c, &item, NULL);
	}
	cause_finish(c, NULL);
	cause_free(c);
}

static void scenarios(void)
{
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	for (unsigned i = 0; i < n; i++) {
		struct world *w = world_new();
		struct event_stream *stream = NULL;
		struct sim_options o;

		sim_options_init(&o);
		sim_scenario_options(s[i].name, &o);
		if (sim_open(&stream, w, &o, NULL))
			abort();
		analyze_stream(stream, w, s[i].name);
		stream->close(stream);
		world_free(w);
	}
	ok(n > 40 && bodies > 2 * n, "%u findings of %u scenarios are written again as they were",
	   bodies, n);
}

static void sample(const char *kind, const char *path)
{
	struct world *w = world_new();
	struct input *in = NULL;

	(void)kind;
	if (input_open(&in, w, &path, 1, NULL) == 0)
		analyze_stream(input_stream(in), w, path);
	input_free(in);
	world_free(w);
}

int main(void)
{
	unsigned n;

	whole();
	foreign();
	numbers();
	scenarios();
	bodies = 0;
	n = samples_each(sample);
	ok(n > 80 && bodies > 0, "%u findings of %u samples are, too", bodies, n);
	return tap_done();
}

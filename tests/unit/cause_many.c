/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that come and go for days: the analysis stays a record that can be written, and tells
 * of those that had the most time, in the order in which they came.
 */
#include "tests/unit/kinds.h"

#include "lib/base/json.h"
#include "lib/ige/writer.h"

#define MANY 5000
#define TOLD 1024

struct taken {
	struct cause_sink sink;
	struct buf block, body;
	int rc;
};

static int take(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct taken *t = (struct taken *)s;

	if (r->kind != RECORD_ANALYSIS)
		return 0;
	buf_add(&t->body, r->u.ANALYSIS.body.p, r->u.ANALYSIS.body.n);
	return t->rc = ige_encode_records(&t->block, r, 1, 1, 1, e);
}

/* Of the i-th of MANY processes: those of every fifth take long. */
static void analyze_many(unsigned many, struct taken *t)
{
	struct stage s = stage_new();
	struct stream_item it = { .kind = STREAM_EVENTS };
	struct err e = { 0 };
	struct cause *c;

	*t = (struct taken){ .sink.record = take };
	c = cause_new(s.w, NULL, &t->sink);
	for (unsigned i = 0; i < many; i++) {
		struct actor a = stage_actor(&s, 100 + i, 100 + i, 1, "worker");
		int64_t at = (i + 1) * (int64_t)MS;

		stage_call(&s, a, OP_CUDA_LAUNCH, 0, at, at + (i % 5 ? 10 : 100) * US);
	}
	stage_sort(&s);
	it.events = s.ev.v;
	it.n = s.ev.n;
	is_int(cause_item(c, &it, &e), 0, "%u processes", many);
	is_int(cause_finish(c, &e), 0, "and their analysis%s", e.text);
	cause_free(c);
	stage_free(&s);
}

static void test_many(unsigned many, unsigned told)
{
	struct taken t;
	struct json v, all;
	double last = 0;
	unsigned late = 0, slow = 0;

	analyze_many(many, &t);
	is_int(t.rc, 0, "are a record that can be written");
	if (json_parse(buf_bytes(&t.body), &v, NULL))
		abort();
	all = json_get(v, "processes");
	is_u64(json_length(all), told, "which tells of %u", told);
	for (size_t i = 0; i < json_length(all); i++) {
		struct json one = json_at(all, i), pid = json_get(one, "pid"),
			    ns = json_get(one, "thread_ns");

		late += json_double(pid, 0) <= last;
		last = json_double(pid, 0);
		slow += json_double(ns, 0) >= 100 * US;
		json_free(pid);
		json_free(ns);
		json_free(one);
	}
	is_u64(late, 0, "in their order");
	is_u64(slow, (many + 4) / 5, "all that took long among them");
	json_free(all);
	all = json_get(v, "processes_total");
	is_u64((uint64_t)json_double(all, 0), many > told ? many : 0, "and of how many there were");
	json_free(all);
	json_free(v);
	buf_free(&t.block);
	buf_free(&t.body);
}

/* The last of as many processes is told with its libraries, of which those of no others are needed
 * any more. */
static int take_chain(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct taken *t = (struct taken *)s;

	(void)e;
	if (r->kind == RECORD_CHAIN)
		buf_add(&t->body, r->u.CHAIN.body.p, r->u.CHAIN.body.n);
	return 0;
}

static void test_libraries(unsigned many)
{
	struct taken t = { .sink.record = take_chain };
	struct stage s = stage_new();
	struct cause *c = cause_new(s.w, NULL, &t.sink);
	struct err e = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < many && !rc; i++) {
		struct actor a = stage_actor(&s, 100 + i, 100 + i, 1, "worker");
		struct record r = { .kind = RECORD_COVERAGE };
		struct stream_item it = { .kind = STREAM_RECORD, .record = &r };
		int64_t at = (i + 1) * (int64_t)MS;

		REC_SET(&r, COVERAGE, process, a.process);
		REC_SET(&r, COVERAGE, layer, bytes_of("driver"));
		REC_SET(&r, COVERAGE, path, bytes_of("/usr/lib/libcuda.so.1"));
		REC_SET(&r, COVERAGE, requested, 120);
		REC_SET(&r, COVERAGE, attached, 80);
		rc = cause_item(c, &it, &e);
		s.ev.n = 0;
		stage_call(&s, a, OP_CU_INIT, 0, at, at + 5 * US)->ret = i + 1 == many ? 803 : 0;
		stage_event(&s, OP_PROC_EXIT, a.ctx, 0, at + 9 * US, at + 9 * US);
		it = (struct stream_item){ .kind = STREAM_EVENTS,
					   .events = s.ev.v,
					   .n = s.ev.n,
					   .watermark_ns = at + 10 * US,
					   .floor_ns = at + 10 * US };
		rc = rc ? rc : cause_item(c, &it, &e);
	}
	rc = rc ? rc : cause_finish(c, &e);
	is_int(rc, 0, "the last of %u processes fails%s", many, e.text);
	like(buf_text(&t.body), "80 of 120 entry points found",
	     "and it is told which library it has");
	cause_free(c);
	stage_free(&s);
	buf_free(&t.body);
}

int main(void)
{
	test_libraries(10);
	test_libraries(MANY);
	test_many(MANY, TOLD);
	test_many(10, 10);
	return tap_done();
}

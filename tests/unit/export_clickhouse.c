/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a stream of several machines: what says of none of them which it is of, is of none; what
 * was analyzed alone began when it did.
 */
#include "lib/export/format.h"

#include "tests/tap.h"

static uint32_t machine(struct world *w, const char *name, uint8_t number)
{
	struct world_node n = { .uuid = { number },
				.boot = 1,
				.name = world_string(w, bytes_of(name)) };

	return world_node(w, &n);
}

/* What the record alone becomes. */
static const char *row(struct export_ctx *em, struct late_names *told, const struct record *r)
{
	const struct export_format *f = export_format_named("clickhouse");
	struct stream_item item = { .kind = STREAM_RECORD, .record = r };
	void *state = f->open(em);
	struct err e;

	buf_reset(em->out);
	if (!late_names_record(told, em->w, r) || f->item(state, &item, &e))
		ok(false, "records are taken");
	f->free(state);
	return buf_text(em->out);
}

int main(void)
{
	static const char body[] =
		"{\"wall_ns\":4000,\"processes\":[{\"pid\":7,\"node\":\"second\",\"parts\":{"
		"\"self\":9}}],"
		"\"steps\":[{\"pid\":7,\"tid\":7,\"node\":\"second\",\"first_ns\":100,\"count\":3,"
		"\"slow\":[{\"t_ns\":250,\"dur_ns\":5}]}]}";
	struct buf text = { 0 };
	struct late_names told = { 0 };
	struct export_ctx em = { .w = world_new(), .told = &told, .out = &text };
	struct record session = { .kind = RECORD_SESSION }, sample = { .kind = RECORD_SAMPLE },
		      lost = { .kind = RECORD_LOSS }, analysis = { .kind = RECORD_ANALYSIS };

	REC_SET(&session, SESSION, start_ns, 1000);
	REC_SET(&sample, SAMPLE, metric, METRIC_CPU_BUSY);
	REC_SET(&sample, SAMPLE, value, 5);
	REC_SET(&lost, LOSS, count, 5);
	REC_SET(&analysis, ANALYSIS, time_ns, 11000);
	REC_SET(&analysis, ANALYSIS, body, bytes_of(body));
	row(&em, &told, &session);
	machine(em.w, "first", 1);
	like(row(&em, &told, &sample), "\"node\":\"first\"", "a sample of the only machine");
	like(row(&em, &told, &lost), "\"node\":\"first\"", "what it lost");
	machine(em.w, "second", 2);
	like(row(&em, &told, &sample), "\"node\":\"\"", "one of two: of none");
	like(row(&em, &told, &lost), "\"node\":\"\"", "what one of them lost");
	row(&em, &told, &analysis);
	like(buf_text(&text), "\"row\":\"time\",\"node\":\"second\"", "an analysis of one");
	like(buf_text(&text), "\"time_ns\":7000,\"part\":\"self\"", "began when that did");
	like(buf_text(&text), "\"time_ns\":7100,\"count\":3", "its loops are where they were");
	like(buf_text(&text), "\"time_ns\":7250,", "and their steps");
	buf_free(&text);
	late_names_free(&told);
	world_free(em.w);
	return tap_done();
}

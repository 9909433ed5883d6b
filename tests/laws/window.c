/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is counted in a stretch of a recording is the same whether the rest was read or passed over:
 * every figure of ingero-stat, for scenarios, random stretches, one file, one that was cut, and one
 * split into several operands.
 */
#include <unistd.h>

#include "lib/query/ops.h"
#include "lib/report/ops_json.h"
#include "lib/ige/writer.h"
#include "lib/input/input.h"
#include "lib/sim/sim.h"
#include "tests/tap.h"

static uint64_t random_state = 1234567;

static uint64_t any(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 20;
}

/* The scenario in n files; events are dealt out by time in turns of `turn` events. */
static void write_files(const struct sim_options *o, char names[][64], unsigned n, unsigned turn)
{
	struct ige_writer_options opt = {
		.clock_id = 1, .block_events = 300, .segment_bytes = 150000, .index = true
	};
	struct world *w = world_new();
	struct event_stream *s = NULL;
	struct ige_writer *wr[4];
	struct ige_fd_sink sink[4];
	struct stream_item it;
	uint64_t count = 0;
	int rc = sim_open(&s, w, o, NULL);

	for (unsigned i = 0; i < n && !rc; i++) {
		snprintf(names[i], 64, "/tmp/ingero-window-%u-XXXXXX", i);
		ige_fd_sink_init(&sink[i], mkstemp(names[i]));
		opt.real_minus_mono_ns = i;
		rc = ige_writer_new(&wr[i], w, &sink[i].sink, &opt, NULL);
	}
	while (!rc && s->next(s, &it, NULL) > 0) {
		for (size_t i = 0; it.kind == STREAM_EVENTS && i < it.n && !rc; i++)
			rc = ige_writer_event(wr[count++ / turn % n], &it.events[i], NULL);
		if (it.kind == STREAM_EVENTS && count % 7 == 0)
			ige_writer_lost(wr[0], 3);
		for (unsigned i = 0; it.kind == STREAM_EVENTS && i < n && !rc; i++)
			rc = ige_writer_flush(wr[i], it.watermark_ns, it.floor_ns, false, NULL);
		if (it.kind == STREAM_RECORD && !rc)
			rc = ige_writer_record(wr[0], it.record, NULL);
	}
	for (unsigned i = 0; i < n && !rc; i++) {
		rc = ige_writer_finish(wr[i], NULL);
		ige_writer_free(wr[i]);
		close(sink[i].fd);
	}
	if (rc)
		abort();
	s->close(s);
	world_free(w);
}

struct end {
	int64_t ns, real;
	bool has_real;
	int rc;
};

static void count(char names[][64], unsigned n, int64_t since, int64_t until, bool window,
		  struct buf *out, struct end *end)
{
	struct filter sel = { .resolved = true, .since_ns = since, .until_ns = until };
	const char *operands[4];
	struct world *w = world_new();
	struct ops_input quality = { 0 };
	struct query_ops_run *run = query_ops_new(w, &sel);
	struct input *in;
	struct stream_item it;
	struct ige_report r;

	for (unsigned i = 0; i < n; i++)
		operands[i] = names[i];
	if (input_open(&in, w, operands, n, NULL))
		abort();
	if (window) {
		end->rc = input_end(in, &end->ns, &end->has_real, &end->real, NULL);
		if (input_window(in, since, until, false, NULL))
			abort();
	}
	while (input_stream(in)->next(input_stream(in), &it, NULL) > 0)
		query_ops_item(run, &it, NULL);
	r = input_report(in);
	quality.truncated = r.truncated;
	quality.unterminated = r.unterminated;
	quality.damaged_blocks = r.damaged_blocks;
	quality.skipped_bytes = r.skipped_bytes;
	buf_reset(out);
	ops_json(out, w, query_ops_answer(run), &quality);
	buf_printf(out, "\n%llu %llu %llu\n", (unsigned long long)r.events,
		   (unsigned long long)r.lost_events, (unsigned long long)r.records);
	input_verdict(in, out);
	input_free(in);
	query_ops_free(run);
	filter_free(&sel);
	world_free(w);
}

static void check(char names[][64], unsigned n, const char *what, bool sought)
{
	struct buf whole = { 0 }, part = { 0 };
	struct end end = { 0 };
	int64_t start;
	int bad = 0;

	count(names, n, INT64_MIN, INT64_MAX, true, &whole, &end);
	ok((end.rc == 0) == sought, "%s: its end is %sknown without reading it", what,
	   sought ? "" : "not ");
	start = end.ns - 4000000000;
	for (int i = 0; i < 12; i++) {
		int64_t since = start + (int64_t)(any() % 4200000000u) - 100000000;
		int64_t until = since + (int64_t)(any() % (i % 2 ? 10000000u : 1500000000u));

		if (i == 10)
			until = INT64_MAX;
		if (i == 11)
			since = INT64_MIN;
		count(names, n, since, until, false, &whole, &end);
		count(names, n, since, until, true, &part, &end);
		if (whole.n == part.n && !memcmp(whole.p, part.p, whole.n))
			continue;
		if (!bad++) {
			size_t at = 0;

			while (at < whole.n && at < part.n && whole.p[at] == part.p[at])
				at++;
			printf("# %lld..%lld differs\n# %.150s\n# %.150s\n", (long long)since,
			       (long long)until, whole.p + (at > 60 ? at - 60 : 0),
			       part.p + (at > 60 ? at - 60 : 0));
		}
	}
	ok(!bad, "%s: every figure of 12 stretches is that of the whole", what);
	buf_free(&whole);
	buf_free(&part);
}

int main(void)
{
	static const char *const scenarios[] = { "incident", "contended", "throttled",
						 "lock",     "disk",	  "errors" };
	char names[4][64], what[80];

	for (unsigned i = 0; i < 6; i++) {
		struct sim_options o;

		sim_scenario_options(scenarios[i], &o);
		o.duration_ns = 4000000000;
		o.seed = 5 + i;
		write_files(&o, names, 1, 1);
		snprintf(what, sizeof(what), "%s", scenarios[i]);
		check(names, 1, what, true);
		if (truncate(names[0], 700001))
			abort();
		snprintf(what, sizeof(what), "%s, cut", scenarios[i]);
		check(names, 1, what, true);
		unlink(names[0]);
		write_files(&o, names, 3, 500);
		snprintf(what, sizeof(what), "%s in three files", scenarios[i]);
		check(names, 3, what, true);
		for (int k = 0; k < 3; k++)
			unlink(names[k]);
	}
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same events give the same chain records, byte for byte, however they are cut: into items of
 * any size, into blocks, into segments, in a file of another world with other ids.
 */
#include "tests/tap.h"

#include <unistd.h>

#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "tests/laws/law.h"

static void same(const struct verdict *a, const struct verdict *b, const char *scenario,
		 const char *how)
{
	ok(a->text.n == b->text.n && memcmp(a->text.p, b->text.p, a->text.n) == 0, "%s: %s",
	   scenario, how);
	if (a->text.n != b->text.n || memcmp(a->text.p, b->text.p, a->text.n) != 0) {
		size_t i = 0;

		while (i < a->text.n && i < b->text.n && a->text.p[i] == b->text.p[i])
			i++;
		printf("# differs at byte %zu\n# %.200s\n# %.200s\n", i,
		       a->text.p + (i > 100 ? i - 100 : 0), b->text.p + (i > 100 ? i - 100 : 0));
	}
}

/* Written in blocks and segments of these sizes, read back, analyzed. */
static void through_file(const struct sim_options *o, uint32_t block_events, uint64_t segment_bytes,
			 struct verdict *v, uint64_t *segments)
{
	struct ige_writer_options opt = { .clock_id = 1,
					  .block_events = block_events,
					  .segment_bytes = segment_bytes };
	struct world *w = world_new(), *w2 = world_new();
	struct event_stream *s = NULL, *back;
	struct ige_writer *wr = NULL;
	struct ige_reader *r = NULL;
	struct ige_fd_sink sink;
	struct stream_item it;
	FILE *f = tmpfile();
	struct cause *c;
	int rc = 0;

	memset(v, 0, sizeof(*v));
	if (!f || sim_open(&s, w, o, NULL))
		abort();
	ige_fd_sink_init(&sink, fileno(f));
	if (ige_writer_new(&wr, w, &sink.sink, &opt, NULL))
		abort();
	while (s->next(s, &it, NULL) > 0) {
		rc = rc ? rc : ige_writer_item(wr, &it, NULL);
	}
	if (rc || ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	s->close(s);
	world_free(w);
	lseek(fileno(f), 0, SEEK_SET);
	if (ige_reader_open(&r, w2, fileno(f), false, "test", NULL))
		abort();
	back = ige_reader_stream(r);
	v->sink.record = verdict_told;
	c = cause_new(w2, NULL, &v->sink);
	while (back->next(back, &it, NULL) > 0)
		cause_item(c, &it, NULL);
	cause_finish(c, NULL);
	cause_free(c);
	*segments = ige_reader_report(r)->segments;
	ige_reader_free(r);
	world_free(w2);
	fclose(f);
}

int main(void)
{
	static const char *const scenarios[] = {
		"incident",
		"contended",
		"throttled",
		"lock",
		"disk",
		"errors",
		"alloc-churn",
		"gpu-oom",
		"memory-sawtooth",
		"kv-pressure",
		"managed-thrash",
		"illegal-access",
		"memcpy-bottleneck",
		"graph-recapture",
		"graph-pool",
		"graph-capture-failed",
		"fragmentation",
		"graph-launch-late",
		"starved",
		"worker-starved",
		"sync-storm",
		"launch-bound",
		"periodic-spike",
		"cold-start",
		"slow-down",
		"gpu-steal",
	};

	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct verdict whole, cut;
		struct sim_options o;
		uint64_t segments;
		struct law l;

		sim_scenario_options(scenarios[i], &o);
		o.duration_ns = 3500000000;
		o.seed = 3 + i;
		law_open(&l, &o);
		law_analyze(&l, 0, &whole);
		ok(whole.text.n > 500, "%s: something is told", scenarios[i]);
		law_analyze(&l, 1, &cut);
		same(&whole, &cut, scenarios[i], "one event at a time");
		verdict_free(&cut);
		law_analyze(&l, -1, &cut);
		same(&whole, &cut, scenarios[i], "random pieces, empty ones too");
		verdict_free(&cut);
		through_file(&o, 0, 0, &cut, &segments);
		same(&whole, &cut, scenarios[i], "through a file");
		verdict_free(&cut);
		through_file(&o, 100, 0, &cut, &segments);
		same(&whole, &cut, scenarios[i], "in small blocks");
		verdict_free(&cut);
		through_file(&o, 1000, 100000, &cut, &segments);
		ok(segments > 2, "%s: %d segments", scenarios[i], (int)segments);
		same(&whole, &cut, scenarios[i], "in segments");
		verdict_free(&cut);
		verdict_free(&whole);
		law_close(&l);
	}
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that a team makes: the recording is the one that is written without it, byte for byte and
 * put by put, wherever segments end; and what fails is told as what it is, when nothing behind it
 * was put.
 */
#include <string.h>

#include "lib/ige/block_job.h"
#include "lib/ige/worker_pool.h"
#include "lib/sim/corpus.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define EVENTS 80000

/* ---- a sink that remembers how it was called, and may fail ---- */

struct sink {
	struct ige_sink sink;
	struct buf bytes, puts; /* puts: kind, length and events of each */
	unsigned n, fail_at;
	bool after; /* something was put behind what failed */
};

static int put(struct ige_sink *sink, enum ige_put_kind kind, const void *p, size_t n,
	       uint32_t events, struct err *e)
{
	struct sink *s = (struct sink *)sink;
	uint64_t told[3] = { kind, n, events };

	s->after |= s->fail_at && s->n >= s->fail_at;
	if (++s->n == s->fail_at)
		return err_set(e, ERR_SYS, "put %u fails", s->n);
	buf_add(&s->bytes, p, n);
	buf_add(&s->puts, told, sizeof(told));
	return 0;
}

static void forget(struct sink *s)
{
	buf_free(&s->bytes);
	buf_free(&s->puts);
	*s = (struct sink){ .sink.put = put };
}

static bool same(const struct buf *a, const struct buf *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

/* ---- writing ---- */

/* What is added to a generated recording: calls that take hours, late ones, records, a machine that
 * pauses. */
static int add(struct ige_writer *wr, const struct fixture *f, const struct event *ev, uint32_t i,
	       struct err *e)
{
	struct event own = *ev, other;
	int rc;

	if (i % 3000 == 7)
		own.dur_ns = UINT64_C(7200000000000) + i;
	rc = ige_writer_event(wr, &own, e);
	if (!rc && i % 11 == 0) {
		other = fixture_event(f, i);
		other.end_ns = own.end_ns;
		rc = ige_writer_event(wr, &other, e);
	}
	if (!rc && i % 9973 == 9972) {
		struct record r = { .kind = RECORD_SAMPLE };

		REC_SET(&r, SAMPLE, time_ns, own.end_ns);
		REC_SET(&r, SAMPLE, metric, METRIC_CPU_BUSY);
		REC_SET(&r, SAMPLE, value, 12.5 + i);
		rc = ige_writer_record(wr, &r, e);
		ige_writer_lost(wr, 3);
		if (!rc)
			rc = ige_writer_flush(wr, own.end_ns, own.end_ns - 1000, i % 2, e);
		other = fixture_event(f, i + 3);
		other.end_ns = own.end_ns - 100000;
		if (!rc)
			rc = ige_writer_event(wr, &other, e);
	}
	return rc;
}

static int write_all_of(struct sink *s, const struct ige_writer_options *opt, bool settle,
			struct err *e)
{
	struct fixture f;
	struct sim_corpus_options o = { .seed = 3, .events = EVENTS, .ranks = 2 };
	struct event_stream *stream;
	struct stream_item item;
	struct ige_writer *wr;
	uint32_t n = 0;
	int rc;

	fixture_init(&f);
	if (sim_corpus_open(&stream, f.w, &o, NULL) ||
	    ige_writer_new(&wr, f.w, &s->sink, opt, NULL))
		abort();
	rc = 0;
	while (!rc && stream->next(stream, &item, NULL) == 1) {
		for (size_t i = 0; i < item.n && !rc; i++)
			rc = add(wr, &f, &item.events[i], n++, e);
		if (!rc && n > EVENTS / 2 && n < EVENTS / 2 + 4000)
			rc = ige_writer_cut(wr, e);
	}
	if (!rc && !settle)
		rc = ige_writer_finish(wr, e);
	/* An error of something else. */
	if (!rc && settle)
		rc = ige_writer_settle(wr, e);
	else if (rc && ige_writer_settle(wr, e))
		rc = -1000;
	ige_writer_free(wr);
	stream->close(stream);
	world_free(f.w);
	return rc;
}

static void compare(struct ige_worker_pool *team, const char *who)
{
	static const struct {
		const char *name;
		struct ige_writer_options opt;
	} forms[] = {
		{ "as ever", { .clock_id = 1, .index = true } },
		{ "without an index", { .clock_id = 1 } },
		{ "segments of few bytes",
		  { .clock_id = 1, .index = true, .segment_bytes = 300000 } },
		{ "segments of few bytes, without an index",
		  { .clock_id = 1, .segment_bytes = 200000 } },
		{ "segments of a short time",
		  { .clock_id = 1, .index = true, .segment_ns = 30000000 } },
		{ "blocks of many rows", { .clock_id = 1, .index = true, .block_events = 50000 } },
		{ "small blocks", { .clock_id = 1, .index = true, .block_events = 1000 } },
		{ "the smallest form", { .clock_id = 1, .index = true, .archive = true } },
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct ige_writer_options opt = forms[i].opt;
		struct sink alone = { .sink.put = put }, helped = { .sink.put = put };
		struct err e = { 0 };

		is_int(write_all_of(&alone, &opt, false, &e), 0, "%s, %s: written alone", who,
		       forms[i].name);
		opt.team = team;
		is_int(write_all_of(&helped, &opt, false, &e), 0, "with a team");
		ok(same(&alone.bytes, &helped.bytes), "the same bytes");
		ok(same(&alone.puts, &helped.puts), "put as before");
		forget(&alone);
		forget(&helped);
	}
}

/* What waits is put even where the writer is given up. */
static void given_up(struct ige_worker_pool *team)
{
	struct ige_writer_options opt = { .clock_id = 1, .index = true };
	struct sink alone = { .sink.put = put }, helped = { .sink.put = put };
	struct err e = { 0 };

	is_int(write_all_of(&alone, &opt, true, &e), 0, "given up, alone");
	opt.team = team;
	is_int(write_all_of(&helped, &opt, true, &e), 0, "with a team");
	ok(alone.bytes.n && same(&alone.bytes, &helped.bytes), "the same was put by then");
	forget(&alone);
	forget(&helped);
}

static void failing(struct ige_worker_pool *team)
{
	struct ige_writer_options opt = { .clock_id = 1, .index = true, .segment_bytes = 400000 };
	unsigned at = 0, other = 0, bytes = 0, went_on = 0;

	for (at = 1;; at += 5) {
		struct sink alone = { .sink.put = put, .fail_at = at };
		struct sink helped = alone;
		struct err e = { 0 }, f = { 0 };
		int rc, rc2;

		opt.team = NULL;
		rc = write_all_of(&alone, &opt, false, &e);
		opt.team = team;
		rc2 = write_all_of(&helped, &opt, false, &f);
		other += rc != rc2 || strcmp(e.text, f.text);
		bytes += !same(&alone.bytes, &helped.bytes);
		went_on += helped.after;
		forget(&alone);
		forget(&helped);
		if (!rc)
			break;
	}
	ok(at > 20, "a sink that fails at %u places", at / 5);
	is_u64(other, 0, "other errors than without a team");
	is_u64(bytes, 0, "something else was put before");
	is_u64(went_on, 0, "something was put behind");
}

int main(void)
{
	struct ige_worker_pool *team = ige_worker_pool_new();

	compare(team, "a team");
	given_up(team);
	failing(team);
	ige_worker_pool_free(team);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of what-if by replay on generated streams: without anything removed it is as recorded, to
 * the nanosecond; whatever is removed, nothing takes longer, and without all of it it takes no
 * longer than without a part.
 */
#include "tests/tap.h"

#include "lib/path/replay.h"
#include "tests/laws/path_run.h"

#define SPANS 7

struct tried {
	uint64_t runs, gains, longer, wrong, beyond;
};

/* Spans of an anchor's life, in order; the first begins with it. */
static void cut_life(struct path_stream *s, const struct path_anchor *a, struct replay_span *v)
{
	int64_t part = (a->end_ns - a->begin_ns) / SPANS;

	for (int i = 0; i < SPANS; i++) {
		v[i].from_ns = a->begin_ns + i * part;
		v[i].to_ns = v[i].from_ns + 1 + (int64_t)stream_any(s, (uint64_t)part);
	}
}

static void mark(struct replay *r, const struct run_piece *p, unsigned lane)
{
	const struct replay_mark m = { .lane = lane,
				       .thread = p->thread,
				       .occupant = p->occupant,
				       .exclusion = lane % 4 == 3,
				       .s = p->s };

	if (!replay_mark(r, &m))
		abort();
}

static void check_lanes(const struct replay_gains *g, unsigned lanes, struct tried *t)
{
	for (unsigned i = 0; i < REPLAY_LANES; i++) {
		const struct replay_gain *lane = &g->lanes[i];
		bool asked = lanes && (i < lanes || i == REPLAY_ALL);

		for (unsigned e = 0; e < REPLAY_ENDS; e++) {
			t->gains += lane->whole_ns[e] > 0;
			t->longer += lane->whole_ns[e] < 0;
			t->wrong += !asked && (lane->whole_ns[e] || lane->spans_ns[e]);
		}
		t->wrong += !asked && (lane->whole_path_ns || lane->spans_path_ns);
		for (unsigned e = 0; e < REPLAY_ENDS; e++)
			t->beyond += lane->whole_ns[e] > g->lanes[REPLAY_ALL].whole_ns[e];
	}
}

/* Every anchor with so many lanes, in each of which some of its pieces are the cause. */
static void replay_anchors(const struct path_run *run, struct path_stream *s, unsigned lanes,
			   struct tried *t)
{
	struct replay *r = replay_new(run->path);
	struct replay_span spans[SPANS];
	struct replay_gains g;

	for (unsigned i = 0; i < lanes; i++)
		for (unsigned k = 0; k <= i && run->v.n; k++)
			mark(r, &run->v.v[stream_any(s, run->v.n)], i);
	for (size_t i = 0; i < path_anchors(run->path); i++) {
		struct path_anchor a = path_anchor(run->path, i);

		if (a.end_ns - a.begin_ns < 1000)
			continue;
		cut_life(s, &a, spans);
		if (!replay_run(r, a.thread, spans, SPANS, &g))
			abort();
		/* One that was made by another may begin earlier, and lose that again. */
		if (a.begin_ns > STREAM_BEGIN && a.begin_ns > g.from_ns)
			continue;
		t->runs++;
		check_lanes(&g, lanes, t);
	}
	replay_free(r);
}

/* What the path has of a cause is what its pieces say. */
static uint64_t path_differs(const struct path_run *run)
{
	struct replay *r = replay_new(run->path);
	struct replay_gains g;
	uint64_t wrong = 0;

	for (size_t i = 0; i < run->v.n; i++)
		if (run->v.v[i].s.state == SEGMENT_BLOCKED && !run->v.v[i].occupant)
			mark(r, &run->v.v[i], 0);
	for (size_t i = 0; i < path_anchors(run->path); i++) {
		struct path_anchor a = path_anchor(run->path, i);
		const struct replay_span life = { a.begin_ns, a.end_ns };
		uint64_t ns = 0;

		for (size_t k = 0; k < run->v.n; k++) {
			const struct run_piece *p = &run->v.v[k];

			if (p->anchor == a.thread && p->s.state == SEGMENT_BLOCKED && !p->occupant)
				ns += (uint64_t)(p->to_ns - p->from_ns);
		}
		if (a.end_ns <= a.begin_ns)
			continue;
		if (!replay_run(r, a.thread, &life, 1, &g))
			abort();
		wrong += (uint64_t)llabs((int64_t)(g.lanes[0].whole_path_ns - ns));
	}
	replay_free(r);
	return wrong;
}

static void stream(unsigned seed, const struct path_options *o, const char *what)
{
	struct tried nothing = { 0 }, some = { 0 };
	struct path_stream s;
	struct path_run run;

	path_stream_open_as(&s, seed, o ? 2000000000 : 300000000, seed % 2, seed % 3 == 0);
	run_open(&run, &s, o, NULL, NULL, false);
	replay_anchors(&run, &s, 0, &nothing);
	ok(nothing.runs > 0 && !nothing.wrong && !nothing.gains && !nothing.longer,
	   "stream %u%s: %" PRIu64 " replays of nothing are as recorded", seed, what, nothing.runs);
	replay_anchors(&run, &s, REPLAY_ALL, &some);
	ok(some.gains > 0, "stream %u%s: %" PRIu64 " gains without something", seed, what,
	   some.gains);
	is_u64(some.longer, 0, "stream %u%s: never longer", seed, what);
	is_u64(some.beyond, 0, "stream %u%s: without all of it no longer than without a part", seed,
	       what);
	if (!o)
		is_u64(path_differs(&run), 0, "stream %u: of the path it is what its pieces say",
		       seed);
	run_close(&run);
	path_stream_close(&s);
}

int main(void)
{
	const struct path_options little = { .segments_max = 30000 };

	for (unsigned seed = 61; seed <= 72; seed++)
		stream(seed, NULL, "");
	for (unsigned seed = 73; seed <= 74; seed++)
		stream(seed, &little, ", most of it folded");
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of the critical path on generated streams: the pieces of every anchor tile its life, and at
 * random instants each says what a second implementation says, which holds everything in memory and
 * knows nothing but the definition.
 */
#include "tests/tap.h"

#include "tests/laws/path_oracle.h"
#include "tests/laws/path_run.h"

#define INSTANTS 150 /* of each anchor */

/* Whether two leaves say the same: what a state has no use for is not looked at. */
static bool same(const struct run_piece *a, const struct run_piece *b)
{
	if (a->thread != b->thread || a->s.state != b->s.state || a->occupant != b->occupant ||
	    a->depth != b->depth)
		return false;
	switch (a->s.state) {
	case SEGMENT_OWN:
	case SEGMENT_CALL:
	case SEGMENT_SYNC:
		return a->s.op == b->s.op && a->s.line == b->s.line &&
		       (a->s.flags & SEGMENT_SAMPLED) == (b->s.flags & SEGMENT_SAMPLED);
	case SEGMENT_RUNNABLE:
		return a->s.who == b->s.who;
	case SEGMENT_BLOCKED:
	case SEGMENT_UNENDED:
		return a->s.op == b->s.op && a->s.line == b->s.line && a->s.who == b->s.who &&
		       a->s.object == b->s.object && a->s.flags == b->s.flags;
	default:
		return true;
	}
}

static void print_leaf(const char *what, const struct run_piece *p)
{
	printf("#   %s: thread %u %s object %u who %u op %x line %u flags %x occupant %u depth "
	       "%u\n",
	       what, p->thread, run_state_text(p->s.state), p->s.object, p->s.who, p->s.op,
	       p->s.line, p->s.flags, p->occupant, p->depth);
}

/* Whether the thread is in a wait that ran into its time-out and was for somebody. */
static bool oracle_timed(const struct oracle *o, uint32_t thread, int64_t x)
{
	const struct event *off = oracle_off(o, thread, x);

	return off && x < oracle_ready(off) && oracle_in_the_end(o, thread, off);
}

/* The same, and somebody gave way behind that very wait. */
static bool oracle_asked(const struct oracle *o, uint32_t thread, int64_t x)
{
	const struct event *off = oracle_off(o, thread, x);

	return off && x < oracle_ready(off) && oracle_is_gil(off) && oracle_ran_out(off) &&
	       oracle_gave_way(o, thread, off);
}

struct seen {
	uint64_t state[SEGMENT_STATES], through, behind, timed, asked;
};

static uint64_t differences(const struct path_run *r, const struct oracle *o, struct path_stream *s,
			    struct seen *seen)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < path_anchors(r->path); i++) {
		struct path_anchor a = path_anchor(r->path, i);
		size_t n;
		const struct run_piece *v = run_of(r, a.thread, &n);

		for (unsigned k = 0; k < INSTANTS && n && a.end_ns > a.begin_ns; k++) {
			int64_t x = a.begin_ns +
				    (int64_t)stream_any(s, (uint64_t)(a.end_ns - a.begin_ns));
			struct run_piece want = { .anchor = a.thread };
			size_t at = 0;

			while (at + 1 < n && v[at].to_ns <= x)
				at++;
			oracle_leaf(o, a.thread, x, &want);
			seen->state[want.s.state]++;
			seen->through += want.depth > 0;
			seen->behind += want.occupant != 0;
			seen->timed += oracle_timed(o, a.thread, x);
			seen->asked += oracle_asked(o, a.thread, x);
			if (same(&v[at], &want))
				continue;
			if (wrong++ < 3) {
				printf("# anchor %u at %+" PRId64 " of %+" PRId64 "\n", a.thread,
				       x - STREAM_BEGIN, a.end_ns - STREAM_BEGIN);
				print_leaf("got", &v[at]);
				print_leaf("want", &want);
			}
		}
	}
	return wrong;
}

#define LONG   3
#define PYTHON 40 /* this one, and those behind it */

int main(void)
{
	/* Of the longest stream, what is held of a thread is given back as soon as it has ended. */
	const struct path_options forget = { .forget_ns = 1, .forget_least = 1 };
	struct seen seen = { 0 };
	unsigned forgotten = 0;
	uint64_t deep = 0, through = 0; /* of the streams before those of Python */

	for (unsigned seed = 1; seed <= 45; seed += seed == 9 ? 31 : 1) {
		struct path_stream s;
		struct path_run r;
		struct oracle o;

		if (seed == PYTHON) {
			deep = seen.state[SEGMENT_TOO_DEEP];
			through = seen.through;
		}
		path_stream_open_as(&s, seed, seed == LONG ? 1400000000 : 500000000, seed % 3 == 0,
				    seed >= PYTHON);
		oracle_open(&o, &s);
		run_open(&r, &s, seed == LONG ? &forget : NULL, NULL, NULL, false);
		for (uint32_t id = 0; id < s.n; id++)
			forgotten += path_is_over(r.path, s.t[id].thread);
		ok(path_anchors(r.path) >= 3 && r.before_end > r.v.n / 5,
		   "stream %u: %zu events, %zu anchors, %zu pieces, %zu of them told on the way",
		   seed, s.ev.n, path_anchors(r.path), r.v.n, r.before_end);
		is_u64(run_untiled(&r), 0, "stream %u: the pieces of each anchor tile its life",
		       seed);
		is_u64(differences(&r, &o, &s, &seen), 0,
		       "stream %u: every instant has the reason of the definition", seed);
		run_close(&r);
		oracle_close(&o);
		path_stream_close(&s);
	}
	ok(forgotten > 5, "threads that were forgotten: %u", forgotten);
	for (unsigned i = SEGMENT_OWN; i <= SEGMENT_UNENDED; i++) {
		if (i != SEGMENT_WAITING)
			ok(seen.state[i] > 0, "\"%s\" was met %" PRIu64 " times", run_state_text(i),
			   seen.state[i]);
	}
	ok(deep < through / 1000, "chains too deep: %" PRIu64, deep);
	/* Of many waits in a row that ran into their time-out, two threads' may be each other's. */
	ok(seen.state[SEGMENT_TOO_DEEP] - deep < (seen.through - through) / 100,
	   "of threads that give way: %" PRIu64, seen.state[SEGMENT_TOO_DEEP] - deep);
	ok(seen.timed > 50, "waits that ran into their time-out were met %" PRIu64 " times",
	   seen.timed);
	ok(seen.asked > 20,
	   "waits for the interpreter's lock whose holder then gave way were met %" PRIu64 " times",
	   seen.asked);
	ok(seen.through > 1000 && seen.behind > 100,
	   "of other threads %" PRIu64 ", behind the use of a CPU %" PRIu64, seen.through,
	   seen.behind);
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laws of the critical path when events are missing. An event that was lost, and is known to be,
 * never adds a culprit. Calls decide lines and operations alone: without any of them all states,
 * culprits and their nanoseconds are as they were.
 */
#include "tests/tap.h"

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "tests/laws/path_run.h"

/* The thread that a piece blames; 0: none, or the anchor itself. */
static uint32_t culprit_of(struct path_run *r, const struct run_piece *p)
{
	if (p->occupant && !path_is_partner(r->path, p->anchor, p->occupant))
		return p->occupant;
	switch (p->s.state) {
	case SEGMENT_UNKNOWN:
	case SEGMENT_WAKE_UP:
	case SEGMENT_STOLEN:
	case SEGMENT_TOO_DEEP:
		return 0;
	case SEGMENT_RUNNABLE:
		return p->s.who;
	case SEGMENT_BLOCKED:
		if (p->s.who && p->s.object != OBJECT_DISK)
			return p->s.who;
		break;
	default:
		break;
	}
	return p->thread != p->anchor ? p->thread : 0;
}

static bool is_anchor(const struct path_run *r, uint32_t thread)
{
	for (size_t i = 0; i < path_anchors(r->path); i++) {
		if (path_anchor(r->path, i).thread == thread)
			return true;
	}
	return false;
}

/* Of both paths' pieces of one anchor, the first at or after i that ends after x. */
static size_t piece_at(const struct run_piece *v, size_t n, size_t i, int64_t x)
{
	while (i + 1 < n && v[i].to_ns <= x)
		i++;
	return i;
}

/* How long of an anchor's life somebody is blamed by b, and somebody else or nobody by a. */
static uint64_t added_to(struct path_run *a, struct path_run *b, uint32_t anchor)
{
	size_t na, nb, i = 0;
	const struct run_piece *va = run_of(a, anchor, &na), *vb = run_of(b, anchor, &nb);
	uint64_t ns = 0;

	for (size_t k = 0; k < nb; k++) {
		uint32_t who = culprit_of(b, &vb[k]);

		for (int64_t x = vb[k].from_ns; who && na && x < vb[k].to_ns;) {
			int64_t to;

			i = piece_at(va, na, i, x);
			to = va[i].to_ns < vb[k].to_ns && va[i].to_ns > x ? va[i].to_ns
									  : vb[k].to_ns;
			if (culprit_of(a, &va[i]) != who) {
				if (!ns)
					printf("# of anchor %u at %" PRId64
					       " thread %u is blamed\n",
					       anchor, x - STREAM_BEGIN, who);
				ns += (uint64_t)(to - x);
			}
			x = to;
		}
	}
	return ns;
}

static uint64_t added(struct path_run *a, struct path_run *b)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < path_anchors(b->path); i++) {
		uint32_t anchor = path_anchor(b->path, i).thread;

		if (is_anchor(a, anchor))
			ns += added_to(a, b, anchor);
	}
	return ns;
}

static uint64_t blamed(struct path_run *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->v.n; i++)
		ns += culprit_of(r, &r->v.v[i]) ? (uint64_t)(r->v.v[i].to_ns - r->v.v[i].from_ns)
						: 0;
	return ns;
}

struct choice {
	size_t one; /* left out; SIZE_MAX: one of a hundred by seed */
	uint64_t seed;
};

static bool is_chosen(void *ctx, size_t i, const struct event *ev)
{
	const struct choice *c = ctx;

	(void)ev;
	return c->one == SIZE_MAX ? hash_u64(i * 0x9e3779b97f4a7c15u + c->seed) % 100 == 0
				  : i == c->one;
}

/* The same without what is chosen: how much blame that adds; and whether it leaves time without
 * a reason. */
static uint64_t lose(const struct path_stream *s, struct path_run *all, struct choice *c,
		     uint64_t *untiled, uint64_t *left)
{
	struct path_run r;
	uint64_t ns;

	run_open(&r, s, NULL, is_chosen, c, true);
	ns = added(all, &r);
	*untiled += run_untiled(&r);
	*left += blamed(&r);
	if (ns)
		printf("# %" PRIu64 " ns without event %zd, seed %" PRIu64 "\n", ns,
		       (ssize_t)c->one, c->seed);
	run_close(&r);
	return ns;
}

static void losses(struct path_stream *s, unsigned seed)
{
	uint64_t one = 0, many = 0, untiled = 0, left_one = 0, left_many = 0, had;
	struct path_run all;

	run_open(&all, s, NULL, NULL, NULL, false);
	had = blamed(&all);
	for (unsigned i = 0; i < 200; i++) {
		struct choice c = { .one = stream_any(s, s->ev.n) };

		one += lose(s, &all, &c, &untiled, &left_one);
	}
	for (unsigned i = 0; i < 20; i++) {
		struct choice c = { .one = SIZE_MAX, .seed = i };

		many += lose(s, &all, &c, &untiled, &left_many);
	}
	ok(left_one / 200 > had / 2 && left_many < left_one,
	   "stream %u: %" PRIu64 " ms are blamed; %" PRIu64 " where an event is lost, %" PRIu64
	   " where a hundredth are",
	   seed, had / 1000000, left_one / 200 / 1000000, left_many / 20 / 1000000);
	is_u64(one, 0, "stream %u: a lost event blames nobody else, at no instant", seed);
	is_u64(many, 0, "stream %u: nor do a hundredth of them", seed);
	is_u64(untiled, 0, "stream %u: and no time is left out", seed);
	run_close(&all);
}

/* ---- without calls ---- */

static bool is_call(void *ctx, size_t i, const struct event *ev)
{
	(void)ctx, (void)i;
	return op_builtin(ev->op)->flags & OP_CALL;
}

/* All of a piece that no call decides. */
static uint64_t key_of(const struct run_piece *p)
{
	unsigned state = p->s.state;
	uint64_t h = hash_u64((uint64_t)p->anchor << 32 | p->thread);

	if (state == SEGMENT_CALL || state == SEGMENT_SYNC)
		state = SEGMENT_OWN;
	/* What call own code is behind is no culprit. */
	h = hash_u64(h ^ ((uint64_t)p->occupant << 32 | (state == SEGMENT_OWN ? 0 : p->s.who)));
	return hash_u64(h ^ (state << 16 | p->s.object << 8 | (p->s.flags & SEGMENT_EXCLUSION)));
}

static struct map states(const struct path_run *r, const struct path_run *of)
{
	struct map m = { 0 };

	for (size_t i = 0; i < r->v.n; i++) {
		const struct run_piece *p = &r->v.v[i];
		uint64_t ns = 0;

		if (!is_anchor(of, p->anchor))
			continue;
		map_get(&m, key_of(p), &ns);
		if (!map_put(&m, key_of(p), ns + (uint64_t)(p->to_ns - p->from_ns)))
			abort();
	}
	return m;
}

static void without_calls(const struct path_stream *s, unsigned seed)
{
	struct path_run all, less;
	struct map a, b;
	uint64_t key, ns, other;
	unsigned differ = 0;

	run_open(&all, s, NULL, NULL, NULL, false);
	run_open(&less, s, NULL, is_call, NULL, false);
	a = states(&all, &less);
	b = states(&less, &less);
	for (size_t at = 0; map_each(&a, &at, &key, &ns);) {
		other = 0;
		map_get(&b, key, &other);
		differ += other != ns;
	}
	ok(a.n == b.n && a.n > 100 && !differ && path_anchors(less.path) >= 2,
	   "stream %u: without calls %zu sums of states and culprits are as they were", seed, a.n);
	map_free(&a);
	map_free(&b);
	run_close(&all);
	run_close(&less);
}

#define PYTHON 27 /* this one, and those behind it */

int main(void)
{
	for (unsigned seed = 21; seed <= 29; seed++) {
		struct path_stream s;

		path_stream_open_as(&s, seed, 60000000, seed % 2, seed >= PYTHON);
		losses(&s, seed);
		path_stream_close(&s);
		path_stream_open(&s, seed, 500000000, seed % 2);
		s.open.n = 0; /* these are calls, too */
		without_calls(&s, seed);
		path_stream_close(&s);
	}
	return tap_done();
}

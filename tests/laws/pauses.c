/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were not recorded because their probes were detached add no finding: with the calls of some tiers left only in
 * windows, and the recording saying so, an analysis finds nothing that it does not find with all of them.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "tests/laws/law.h"

#define DURATION_NS 10000000000

/* In each period the tiers are attached for so long, from the first period's beginning. */
struct windows {
	const char *name;
	unsigned tiers; /* bits by enum op_tier */
	int64_t period_ns, window_ns;
	int64_t until_ns; /* from then on all is recorded; INT64_MAX: the last pause has no end */
};

#define ONE(tier) (1u << (tier))
#define ALL                                                                                   \
	(ONE(TIER_LAUNCHES) | ONE(TIER_QUERIES) | ONE(TIER_SUBMITS) | ONE(TIER_ALLOCATIONS) | \
	 ONE(TIER_WAITS))

static const struct windows all_windows[] = {
	{ "launches, 500 ms of 2 s", ONE(TIER_LAUNCHES), 2000000000, 500000000, INT64_MAX },
	{ "launches, 1 ms of 700 ms", ONE(TIER_LAUNCHES), 700000000, 1000000, INT64_MAX },
	{ "launches, then all", ONE(TIER_LAUNCHES), 2000000000, 300000000, 5000000000 },
	{ "launches and submits, 300 ms of 1 s", ONE(TIER_LAUNCHES) | ONE(TIER_SUBMITS), 1000000000,
	  300000000, INT64_MAX },
	{ "allocations, 1 s of 3 s", ONE(TIER_ALLOCATIONS), 3000000000, 1000000000, INT64_MAX },
	{ "waits, 1 s of 3 s", ONE(TIER_WAITS), 3000000000, 1000000000, INT64_MAX },
	{ "everything, 500 ms of 2 s", ALL, 2000000000, 500000000, INT64_MAX },
	{ "everything after 3 s", ALL, INT64_MAX / 4, 3000000000, INT64_MAX },
};

struct pause {
	int64_t since_ns, until_ns; /* INT64_MAX: until the end */
};

struct pauses {
	VEC(struct pause) v;
	unsigned tiers;
};

static void pauses_make(struct pauses *p, const struct windows *w, int64_t start_ns)
{
	p->tiers = w->tiers;
	for (int64_t at = 0; at < DURATION_NS; at += w->period_ns) {
		struct pause one = { start_ns + at + w->window_ns, start_ns + at + w->period_ns };

		if (at >= w->until_ns)
			break;
		if (at + w->period_ns >= DURATION_NS)
			one.until_ns = INT64_MAX;
		if (!vec_push(&p->v, one))
			abort();
	}
}

static bool is_paused(const struct pauses *p, const struct event *ev)
{
	if (!(p->tiers >> op_tier(ev->op) & 1) || op_tier(ev->op) == TIER_KEPT)
		return false;
	for (size_t i = 0; i < p->v.n; i++)
		if (event_start(ev) < p->v.v[i].until_ns && ev->end_ns > p->v.v[i].since_ns)
			return true;
	return false;
}

/* A driver call that a runtime call makes to do what it is for has no event of its own. */
static bool is_folded(const struct event *ev, const struct event *outer)
{
	const struct op_def *op = op_builtin(ev->op), *of = op_builtin(outer->op);

	return op && of && op->source == SOURCE_DRIVER && of->source == SOURCE_CUDA &&
	       op->flags & OP_LAUNCH && of->flags & OP_LAUNCH;
}

/* By thread, the call that was met last at each depth, from the end of the stream on. */
struct nesting {
	struct outer {
		const struct event *ev;
		bool left_out;
	} at[16];
};

/* Which events are left out, and the depth of the others without them. */
static void thin(const struct law *l, const struct pauses *p, bool fold, bool *left_out,
		 struct event *out)
{
	uint32_t n = world_count(l->w, WORLD_THREAD) + 1;
	struct nesting *threads = calloc(n, sizeof(*threads));

	for (size_t i = l->ev.n; i-- > 0;) {
		const struct event *ev = &l->ev.v[i];
		const struct world_ctx *ctx = world_get_ctx(l->w, ev->ctx);
		const struct op_def *op = op_builtin(ev->op);
		struct nesting *t = &threads[ctx ? ctx->thread : 0];
		unsigned depth = 0;

		out[i] = *ev;
		left_out[i] = is_paused(p, ev);
		if (!op || op->track != TRACK_THREAD || !ctx || !ctx->thread)
			continue;
		for (unsigned d = 0; d < ev->depth && d < 16; d++) {
			const struct outer *o = &t->at[d];

			if (!o->ev || event_start(o->ev) > event_start(ev))
				continue;
			if (fold && d + 1u == ev->depth && is_folded(ev, o->ev))
				left_out[i] = true;
			depth += !o->left_out;
		}
		out[i].depth = (uint16_t)depth;
		if (op->flags & OP_CALL && ev->depth < 16)
			t->at[ev->depth] = (struct outer){ ev, left_out[i] };
	}
	free(threads);
}

static void tell(struct cause *c, const struct law *l, const struct pauses *p,
		 const struct pause *one, bool end)
{
	uint32_t nodes = world_count(l->w, WORLD_NODE);

	for (unsigned tier = 1; tier < TIERS; tier++)
		for (uint32_t node = 1; p->tiers >> tier & 1 && node <= (nodes ? nodes : 1);
		     node++) {
			struct record r = { .kind = RECORD_PAUSED };
			struct stream_item it = { .kind = STREAM_RECORD, .record = &r };

			REC_SET(&r, PAUSED, since_ns, one->since_ns);
			if (end)
				REC_SET(&r, PAUSED, until_ns, one->until_ns);
			REC_SET(&r, PAUSED, tier, tier);
			REC_SET(&r, PAUSED, reason, bytes_of("budget"));
			if (nodes > 1)
				REC_SET(&r, PAUSED, node, node);
			cause_item(c, &it, NULL);
		}
}

/* Analyze without what was paused; each pause is told when it begins and when it ends. */
static void analyze(const struct law *l, const struct pauses *p, bool fold, struct verdict *v,
		    size_t *left)
{
	bool *left_out = calloc(l->ev.n + 1, sizeof(*left_out));
	struct event *ev = calloc(l->ev.n + 1, sizeof(*ev));
	size_t rec = 0, begun = 0, over = 0;
	struct cause *c;

	memset(v, 0, sizeof(*v));
	v->sink.record = verdict_told;
	c = cause_new(l->w, NULL, &v->sink);
	thin(l, p, fold, left_out, ev);
	*left = 0;
	for (size_t i = 0; i <= l->ev.n; i++) {
		struct stream_item it = { .kind = STREAM_EVENTS, .events = &ev[i], .n = 1 };

		for (; rec < l->rec.n && l->rec_at.v[rec] <= i; rec++) {
			struct stream_item r = { .kind = STREAM_RECORD, .record = &l->rec.v[rec] };

			cause_item(c, &r, NULL);
		}
		if (i == l->ev.n)
			break;
		for (; over < begun && ev[i].end_ns > p->v.v[over].until_ns; over++)
			tell(c, l, p, &p->v.v[over], true);
		for (; begun < p->v.n && ev[i].end_ns > p->v.v[begun].since_ns; begun++) {
			tell(c, l, p, &p->v.v[begun], false);
			if (p->v.v[begun].until_ns < ev[i].end_ns) {
				tell(c, l, p, &p->v.v[begun], true);
				over = begun + 1;
			}
		}
		if (left_out[i])
			++*left;
		else
			cause_item(c, &it, NULL);
	}
	cause_finish(c, NULL);
	cause_free(c);
	free(left_out);
	free(ev);
}

static bool finds(const struct verdict *v, const struct chain *of)
{
	for (size_t i = 0; i < v->list.v.n; i++)
		if (bytes_equal(v->list.v.v[i].kind, of->kind))
			return true;
	return false;
}

static void check(const struct law *l, const char *scenario, const struct windows *w, bool fold,
		  const struct verdict *whole)
{
	struct pauses p = { 0 };
	unsigned strange = 0;
	struct verdict v;
	size_t left;

	if (w)
		pauses_make(&p, w, event_start(&l->ev.v[0]));
	analyze(l, &p, fold, &v, &left);
	for (size_t i = 0; i < v.list.v.n; i++) {
		const struct chain *c = &v.list.v.v[i];

		if (finds(whole, c))
			continue;
		printf("# %.*s: %.*s\n", (int)c->kind.n, c->kind.p, (int)c->summary.n,
		       c->summary.p);
		strange++;
	}
	ok(strange == 0, "%s without %zu of %zu events (%s%s): nothing new is found", scenario,
	   left, l->ev.n, w ? w->name : "no pause", fold ? ", folded" : "");
	verdict_free(&v);
	vec_free(&p.v);
}

int main(void)
{
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	for (unsigned i = 0; i < n; i++) {
		struct sim_options o;
		struct verdict whole;
		struct law l;

		sim_scenario_options(s[i].name, &o);
		o.duration_ns = DURATION_NS;
		o.seed = 3 + i;
		law_open(&l, &o);
		law_analyze(&l, 0, &whole);
		check(&l, s[i].name, NULL, true, &whole);
		for (unsigned k = 0; k < sizeof(all_windows) / sizeof(all_windows[0]); k++)
			check(&l, s[i].name, &all_windows[k], k % 2, &whole);
		verdict_free(&whole);
		law_close(&l);
	}
	return tap_done();
}

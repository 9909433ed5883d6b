/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generated recording as a recorder would have made it that detaches tiers of probes: their calls
 * are in it in windows only, PAUSED records say when they are not, and driver calls that runtime
 * calls make to launch are folded into these.
 */
#ifndef INGERO_TESTS_LAWS_PAUSED_H
#define INGERO_TESTS_LAWS_PAUSED_H

#include "lib/event/tier.h"
#include "tests/laws/law.h"

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

struct pause {
	int64_t since_ns, until_ns; /* INT64_MAX: until the end */
};

struct pauses {
	VEC(struct pause) v;
	unsigned tiers;
};

static inline void pauses_make(struct pauses *p, const struct windows *w, int64_t start_ns,
			       int64_t duration_ns)
{
	p->tiers = w->tiers;
	for (int64_t at = 0; at < duration_ns; at += w->period_ns) {
		struct pause one = { start_ns + at + w->window_ns, start_ns + at + w->period_ns };

		if (at >= w->until_ns)
			break;
		if (at + w->period_ns >= duration_ns)
			one.until_ns = INT64_MAX;
		if (!vec_push(&p->v, one))
			abort();
	}
}

static inline bool is_paused(const struct pauses *p, const struct event *ev)
{
	if (!(p->tiers >> op_tier(ev->op) & 1) || op_tier(ev->op) == TIER_KEPT)
		return false;
	for (size_t i = 0; i < p->v.n; i++)
		if (event_start(ev) < p->v.v[i].until_ns && ev->end_ns > p->v.v[i].since_ns)
			return true;
	return false;
}

/* A driver call that a runtime call makes to do what it is for has no event of its own. */
static inline bool is_folded(const struct event *ev, const struct event *outer)
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
static inline void thin(const struct law *l, const struct pauses *p, bool fold, bool *left_out,
			struct event *out, uint64_t *folded)
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
			if (fold && d + 1u == ev->depth && is_folded(ev, o->ev) && !left_out[i]) {
				left_out[i] = true;
				folded[ev->op]++;
			}
			depth += !o->left_out;
		}
		out[i].depth = (uint16_t)depth;
		if (op->flags & OP_CALL && ev->depth < 16)
			t->at[ev->depth] = (struct outer){ ev, left_out[i] };
	}
	free(threads);
}

/* Where items go; borrowed until it returns. */
typedef void paused_sink(void *ctx, const struct stream_item *it);

static inline void paused_tell(const struct law *l, const struct pauses *p, const struct pause *one,
			       bool end, paused_sink *put, void *ctx)
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
			put(ctx, &it);
		}
}

static inline void paused_tell_folded(const uint64_t *folded, int64_t end_ns, paused_sink *put,
				      void *ctx)
{
	for (unsigned op = 0; op <= UINT16_MAX; op++) {
		struct record r = { .kind = RECORD_FOLDED };
		struct stream_item it = { .kind = STREAM_RECORD, .record = &r };

		if (!folded[op])
			continue;
		REC_SET(&r, FOLDED, since_ns, 0);
		REC_SET(&r, FOLDED, until_ns, end_ns);
		REC_SET(&r, FOLDED, op, op);
		REC_SET(&r, FOLDED, calls, folded[op]);
		put(ctx, &it);
	}
}

/* The recording without what was paused, one event at a time; each pause is told when it begins and
 * when it ends. Returns how many events are not in it. */
static inline size_t paused_play(const struct law *l, const struct pauses *p, bool fold,
				 paused_sink *put, void *ctx)
{
	bool *left_out = calloc(l->ev.n + 1, sizeof(*left_out));
	struct event *ev = calloc(l->ev.n + 1, sizeof(*ev));
	uint64_t *folded = calloc(UINT16_MAX + 1, sizeof(*folded));
	size_t rec = 0, begun = 0, over = 0, left = 0;

	thin(l, p, fold, left_out, ev, folded);
	for (size_t i = 0; i <= l->ev.n; i++) {
		struct stream_item it = { .kind = STREAM_EVENTS, .events = &ev[i], .n = 1 };

		for (; rec < l->rec.n && l->rec_at.v[rec] <= i; rec++) {
			struct stream_item r = { .kind = STREAM_RECORD, .record = &l->rec.v[rec] };

			put(ctx, &r);
		}
		if (i == l->ev.n)
			break;
		for (; over < begun && ev[i].end_ns > p->v.v[over].until_ns; over++)
			paused_tell(l, p, &p->v.v[over], true, put, ctx);
		for (; begun < p->v.n && ev[i].end_ns > p->v.v[begun].since_ns; begun++) {
			paused_tell(l, p, &p->v.v[begun], false, put, ctx);
			if (p->v.v[begun].until_ns < ev[i].end_ns) {
				paused_tell(l, p, &p->v.v[begun], true, put, ctx);
				over = begun + 1;
			}
		}
		if (left_out[i])
			left++;
		else
			put(ctx, &it);
	}
	if (l->ev.n)
		paused_tell_folded(folded, l->ev.v[l->ev.n - 1].end_ns, put, ctx);
	free(left_out);
	free(folded);
	free(ev);
	return left;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends gaps: a gap that ends gets what its thread did in its epoch, and waits for the other threads
 * of its device.
 */
#include <string.h>

#include "lib/gpustate/gaps_internal.h"

/* So much of a gap is more than a little. */
static bool much_of(const struct gap *gap, int64_t ns)
{
	return ns > (gap->end_ns - gap->start_ns) / 10;
}

/* What is kept of the thread about the device; NULL: nothing. */
static const struct gap_hand *hand_in(const struct gap_thread *th, uint32_t device)
{
	for (size_t i = 0; th && i < th->hands.n; i++)
		if (th->hands.v[i].device == device)
			return &th->hands.v[i];
	return NULL;
}

/* What the thread did in this epoch of the device; NULL: nothing is known of it. */
static const struct gap_did *did_in(const struct gaps *g, const struct gap_thread *th,
				    uint32_t device)
{
	const struct gap_hand *h = hand_in(th, device);

	return h && h->epoch == g->side.v[device].epoch ? &h->did : NULL;
}

/* The first n of the pending gaps stand: passes them on. */
static bool emit_gaps(struct gaps *g, struct gap_side *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!g->sink->gap(g->sink, &s->pending.v[i]))
			return false;
	}
	s->pending.n -= n;
	memmove(s->pending.v, s->pending.v + n, s->pending.n * sizeof(*s->pending.v));
	return true;
}

bool gaps_stand_past(struct gaps *g, struct gap_side *s)
{
	int64_t past = INT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < s->threads.n; i++) {
		int64_t last = gaps_thread(g, s->threads.v[i])->last_ns;

		if (last < past) {
			past = last;
			s->laggard = s->threads.v[i];
		}
	}
	while (n < s->pending.n && s->pending.v[n].end_ns <= past)
		n++;
	return n == 0 || emit_gaps(g, s, n);
}

void gaps_take_back(struct gap_side *s, int64_t start_ns, int64_t end_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < s->pending.n; i++) {
		const struct gap *gap = &s->pending.v[i];
		int64_t from = start_ns > gap->start_ns ? start_ns : gap->start_ns,
			to = end_ns < gap->end_ns ? end_ns : gap->end_ns;

		if (!much_of(gap, to - from))
			s->pending.v[left++] = *gap;
	}
	s->pending.n = left;
}

static void add_activity(const struct gaps *g, uint32_t thread, struct gap *gap)
{
	const struct gap_did *d = did_in(g, gaps_thread(g, thread), gap->device);

	if (!d)
		return;
	gap->self_ns = d->self_ns;
	gap->kept_ns += d->kept_ns;
}

/* What else the thread gave work. */
static int64_t alone_since(const struct gaps *g, uint32_t thread, const struct gap *gap)
{
	const struct gap_thread *th = gaps_thread(g, thread);
	int64_t since = gap->start_ns;

	if (th && (!th->hands.n || th->hands.v[th->at].device != gap->device))
		return gap->end_ns;
	for (size_t i = 0; th && i < th->hands.n; i++) {
		const struct gap_side *s = &g->side.v[th->hands.v[i].device];

		if (i == th->at)
			continue;

		if (!s->idle)
			return gap->end_ns;
		since = s->idle_ns > since ? s->idle_ns : since;
	}
	return since < gap->end_ns ? since : gap->end_ns;
}

/* It waited in this epoch, and was then told to end: what a process computes on its way out is no
 * gap. */
static bool waited_long(const struct gaps *g, const struct gap_thread *th, uint32_t device)
{
	const struct gap_did *d = did_in(g, th, device);

	return d && d->longest_ns > d->self_ns && d->longest_ns >= GAP_LAST_NS;
}

bool gaps_last(struct gaps *g, uint32_t device)
{
	struct gap_side *s = &g->side.v[device];
	const struct gap_thread *th;
	struct gap gap = { .device = device,
			   .thread = s->since_thread,
			   .start_ns = s->idle_ns,
			   .unended = true,
			   .since_op = s->since_op,
			   .since_stack = s->since_stack,
			   .launches = s->gap_launches,
			   .kept_ns = s->tail_host_ns };

	if (!s->idle || g->partial)
		return true;
	th = gaps_thread(g, s->since_thread);
	if (!th)
		return true;
	gap.end_ns = th->last_ns;
	if (gap.end_ns <= gap.start_ns || gaps_paused(g, device, gap.start_ns, gap.end_ns) ||
	    (!th->blocked && !waited_long(g, th, device)))
		return true;
	for (size_t i = 0; i < s->threads.n && th->blocked; i++) {
		const struct gap_thread *peer = gaps_thread(g, s->threads.v[i]);

		if (!peer->blocked && peer->last_ns > gap.start_ns)
			return true; /* it may be about to submit */
	}
	gap.others_ns = gaps_others_since(g, device, s->others_ns, gap.end_ns,
					  (uint64_t)(gap.end_ns - s->idle_ns));
	gap.alone_ns = alone_since(g, s->since_thread, &gap);
	add_activity(g, s->since_thread, &gap);
	s->idle = false;
	return g->sink->gap(g->sink, &gap);
}

bool gaps_end(struct gaps *g, uint32_t device, const struct line_piece *p, int64_t end_ns,
	      bool unbounded)
{
	struct gap_side *s = &g->side.v[device];
	struct gap gap = { .device = device,
			   .thread = p->thread,
			   .start_ns = s->idle_ns,
			   .end_ns = end_ns,
			   .unbounded = unbounded,
			   .since_op = s->since_op,
			   .since_stack = s->since_stack,
			   .until_op = p->ev->op,
			   .until_stack = p->ev->stack,
			   .launches = s->gap_launches,
			   .some_launches = s->some_launches,
			   .kept_ns = s->tail_host_ns };

	if (end_ns <= s->idle_ns || gaps_paused(g, device, s->idle_ns, end_ns))
		return true;
	if (end_ns > p->start_ns)
		gap.kept_ns += parts_sum(p->parts, GAPS_HOST_PARTS);
	gap.others_ns =
		gaps_others_since(g, device, s->others_ns, end_ns, (uint64_t)(end_ns - s->idle_ns));
	gap.alone_ns = alone_since(g, p->thread, &gap);
	add_activity(g, p->thread, &gap);
	if (s->threads.n <= 1)
		return g->sink->gap(g->sink, &gap);
	if (s->pending.n == GAP_PENDING && !emit_gaps(g, s, 1))
		return false;
	return vec_push(&s->pending, gap);
}

bool gaps_settle(struct gaps *g, int64_t ns)
{
	for (size_t i = 0; i < g->side.n; i++) {
		struct gap_side *s = &g->side.v[i];
		size_t n = 0;

		while (n < s->pending.n &&
		       (ns == INT64_MAX || s->pending.v[n].end_ns < ns - GAP_STANDS_NS))
			n++;
		if ((n && !emit_gaps(g, s, n)) || (ns == INT64_MAX && !gaps_last(g, (uint32_t)i)))
			return false;
	}
	return true;
}

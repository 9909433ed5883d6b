/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of one thread do not overlap; what lies between them it was on its CPU. */
#include "lib/line/behind.h"

#define FOLLOWED (BEHIND_WAITS | 1u << PART_LOCK)

void behind_add(struct behind *b, const struct behind_item *more)
{
	unsigned least = 0;

	if (more->ns == 0)
		return;
	for (unsigned i = 0; i < b->n; i++) {
		struct behind_item *at = &b->v[i];

		if (at->thread == more->thread && at->part == more->part &&
		    at->stack == more->stack && at->culprit == more->culprit) {
			at->ns += more->ns;
			return;
		}
		if (at->ns < b->v[least].ns)
			least = i;
	}
	if (b->n < BEHIND)
		b->v[b->n++] = *more;
	else if (b->v[least].ns < more->ns)
		b->v[least] = *more;
}

/* Since when it is known what the thread did; INT64_MAX: it is not recorded. */
static int64_t known_since(const struct line_thread *h)
{
	const struct wakers *w = &h->wakers;

	return w->n ? w->v[(w->next - w->n) & (w->cap - 1)].start_ns : INT64_MAX;
}

static void follow(const struct threads *t, const struct losses *l, uint32_t victim,
		   uint32_t thread, int64_t from, int64_t to, unsigned hops, struct behind *out)
{
	const struct line_thread *h = threads_get(t, thread);
	int64_t since = h ? known_since(h) : INT64_MAX;
	const struct waker_interval *iv;
	struct behind_item item = { .thread = thread, .part = PART_SELF };
	uint64_t left;

	from = from > since ? from : since;
	if (from >= to || losses_within(l, from, to))
		return;
	left = (uint64_t)(to - from);
	for (uint32_t i = 1; (iv = wakers_back(&h->wakers, i, from)); i++) {
		uint64_t blocked = wakers_overlap(iv->start_ns, iv->ready_ns, from, to),
			 ready = wakers_overlap(iv->ready_ns, iv->end_ns, from, to);
		struct behind_item off = { .thread = thread,
					   .stack = iv->stack,
					   .culprit = iv->culprit,
					   .part = (enum part)iv->part,
					   .ns = blocked };

		left -= blocked + ready < left ? blocked + ready : left;
		if (blocked && FOLLOWED >> iv->part & 1 && iv->waker && iv->waker != victim &&
		    iv->waker != thread && hops < BEHIND_HOPS)
			follow(t, l, victim, iv->waker, iv->start_ns > from ? iv->start_ns : from,
			       iv->ready_ns < to ? iv->ready_ns : to, hops + 1, out);
		else
			behind_add(out, &off);
		off.part = iv->throttled_ns * 2 > (uint64_t)(iv->end_ns - iv->ready_ns)
				   ? PART_THROTTLED
			   : iv->preempted ? PART_PREEMPTED
					   : PART_RUNQ;
		off.culprit = 0;
		off.ns = ready;
		behind_add(out, &off);
	}
	item.ns = left;
	if (h->sample && h->sample_ns >= from && h->sample_ns <= to)
		item.stack = h->sample;
	behind_add(out, &item);
}

void behind_of(const struct threads *t, const struct losses *l, uint32_t victim, uint32_t waker,
	       int64_t from, int64_t to, struct behind *out)
{
	out->n = 0;
	if (waker && waker != victim)
		follow(t, l, victim, waker, from, to, 0, out);
}

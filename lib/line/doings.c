/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of stretches, added up by place.
 */
#include "lib/line/doings.h"

/* Waits that are told apart by what was asked for: to read, or to write. */
#define EITHER_WAY (1u << PART_FD | 1u << PART_SOCKET)

/* Waits that may have a time limit; a sleep has nothing else. */
#define TIMED \
	(1u << PART_IDLE | 1u << PART_FD | 1u << PART_POLL | 1u << PART_SOCKET | 1u << PART_BLOCKED)

static void add(struct doings *d, const struct doing *more)
{
	unsigned least = 0;

	for (unsigned i = 0; i < d->n; i++) {
		struct doing *at = &d->v[i];

		if (at->part == more->part && at->stack == more->stack &&
		    at->waker == more->waker && at->timed_out == more->timed_out &&
		    at->syscall == more->syscall) {
			at->ns += more->ns;
			for (unsigned k = 0; k < more->behind.n; k++)
				behind_add(&at->behind, &more->behind.v[k]);
			return;
		}
		if (at->ns < d->v[least].ns)
			least = i;
	}
	if (d->n < DOINGS)
		d->v[d->n++] = *more;
	else if (d->v[least].ns < more->ns)
		d->v[least] = *more;
}

/* Of all of the wait, ns of which count. */
static void take_behind(struct doing *d, const struct line_piece *p, uint64_t all_ns)
{
	for (unsigned i = 0; i < p->behind->n; i++) {
		struct behind_item item = p->behind->v[i];

		item.ns = (uint64_t)((unsigned __int128)item.ns * d->ns / all_ns);
		behind_add(&d->behind, &item);
	}
}

void doings_add(struct doings *d, const struct line_piece *p, int64_t from_ns)
{
	uint64_t host, rest, waker = 0, kind = WAKER_NONE, syscall = UINT32_MAX;

	if (p->start_ns > from_ns)
		from_ns = p->start_ns;
	if (p->end_ns <= from_ns)
		return;
	/* A wait ends in waiting for a CPU, so what is cut off at its front is not that. */
	rest = (uint64_t)(p->end_ns - from_ns);
	host = parts_sum(p->parts, PARTS_NOT_OWN);
	host = host > rest ? rest : host;
	d->ns += rest;
	d->host_ns += host;
	rest -= host;
	if (p->ev && event_get(p->ev, p->op, COL_WAKER_KIND, &kind) && kind == WAKER_TASK)
		event_get(p->ev, p->op, COL_WAKER, &waker);
	if (p->ev)
		event_get(p->ev, p->op, COL_SYSCALL, &syscall);
	for (uint32_t m = p->parts->mask & ~PARTS_NOT_OWN; m && rest; m &= m - 1) {
		enum part part = (enum part)__builtin_ctz(m);
		uint64_t ns = p->parts->ns[part] < rest ? p->parts->ns[part] : rest;
		struct doing more = { .part = part, .ns = ns };

		if (p->ev && part != PART_SELF) {
			more.stack = p->ev->stack;
			more.waker = (uint32_t)waker;
			more.syscall = EITHER_WAY >> part & 1 && syscall < UINT16_MAX
					       ? (uint32_t)syscall + 1
					       : 0;
			more.timed_out = kind == WAKER_TIMER && TIMED >> part & 1;
			if (p->behind)
				take_behind(&more, p, p->parts->ns[part]);
		}
		add(d, &more);
		rest -= ns;
	}
}

void doings_sample(struct doings *d, uint32_t stack)
{
	if (d->votes == 0)
		d->sample = stack;
	if (d->sample == stack)
		d->votes++;
	else
		d->votes--;
}

const struct doing *doings_most(const struct doings *d)
{
	const struct doing *most = NULL;

	for (unsigned i = 0; i < d->n; i++) {
		if (!most || d->v[i].ns > most->ns)
			most = &d->v[i];
	}
	return most;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For two machines a, b: a saw a collective done at d, b called it at c, so a's clock is behind b's
 * by no more than d - c. The least of those over all collectives, either way, is the room the two
 * clocks have. The clock that agrees with most others is kept, and the others are placed from it,
 * neighbours first.
 */
#include "lib/clock/clock_fit.h"

#include <stdlib.h>

#include "lib/base/map.h"

#define UNKNOWN INT64_MAX

struct fitting {
	uint32_t n;
	int64_t *room; /* [a * n + b]: so much later than now may b's clock be set, against a's */
	struct clock_fit *fits;
	uint32_t *queue;
};

static int by_meeting(const void *a, const void *b)
{
	const struct collective_time *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->called_ns != y->called_ns)
		return x->called_ns < y->called_ns ? -1 : 1;
	return (x->done_ns > y->done_ns) - (x->done_ns < y->done_ns);
}

/* One machine's ranks as one: the last that called, the first that saw it done. */
static size_t one_per_machine(struct collective_time *all, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct collective_time *last = kept ? &all[kept - 1] : NULL;

		if (last && last->machine == all[i].machine) {
			last->called_ns = all[i].called_ns;
			if (all[i].done_ns < last->done_ns)
				last->done_ns = all[i].done_ns;
		} else {
			all[kept++] = all[i];
		}
	}
	return kept;
}

/* Whether no rank was on two machines: if one was, these are two communicators of one name. */
static bool one_comm(const struct collective_time *all, size_t n, struct map *ranks, bool *nomem)
{
	map_clear(ranks);
	for (size_t i = 0; i < n && !*nomem; i++) {
		uint64_t machine;

		if (all[i].sequence != COLLECTIVE_TIMES_MADE)
			continue;
		if (map_get(ranks, all[i].rank, &machine) && machine != all[i].machine)
			return false;
		*nomem = !map_put(ranks, all[i].rank, all[i].machine);
	}
	return !*nomem;
}

static void add_collective(struct fitting *f, struct collective_time *all, size_t n)
{
	size_t machines;

	/* Ranks with different ops are not at the same collective. */
	for (size_t i = 1; i < n; i++)
		if (all[i].op != all[0].op && all[0].sequence != COLLECTIVE_TIMES_MADE)
			return;
	machines = one_per_machine(all, n);
	for (size_t i = 0; i < machines; i++)
		for (size_t k = 0; k < machines && all[i].done_ns != INT64_MAX; k++) {
			int64_t *room = &f->room[(size_t)all[i].machine * f->n + all[k].machine];
			int64_t here = all[i].done_ns - all[k].called_ns;

			if (i != k && here < *room)
				*room = here;
		}
}

/* Of one communicator. */
static void all_meetings(struct fitting *f, struct collective_time *all, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && all[next].sequence == all[i].sequence; next++)
			;
		add_collective(f, &all[i], next - i);
	}
}

/* Compares the clocks of a and b. 1: they agree; -1: one is wrong; 0: unknown, or no single offset
 * corrects them. */
static int compare_clocks(const struct fitting *f, uint32_t a, uint32_t b)
{
	int64_t to = f->room[(size_t)a * f->n + b], fro = f->room[(size_t)b * f->n + a];

	if (a == b || to == UNKNOWN || fro == UNKNOWN || to + fro < 0)
		return 0;
	return to >= 0 && fro >= 0 ? 1 : -1;
}

static void place_clock(struct fitting *f, uint32_t a, uint32_t b)
{
	const struct clock_fit *from = &f->fits[a];
	struct clock_fit *fit = &f->fits[b];
	int64_t latest = from->by_ns + f->room[(size_t)a * f->n + b],
		earliest = from->by_ns - f->room[(size_t)b * f->n + a];

	fit->known = true;
	fit->by_ns = earliest <= 0 && latest >= 0 ? 0 : earliest + (latest - earliest) / 2;
	fit->error_ns = from->error_ns + (uint64_t)(latest - fit->by_ns > fit->by_ns - earliest
							    ? latest - fit->by_ns
							    : fit->by_ns - earliest);
}

static void place_all(struct fitting *f)
{
	uint32_t in = 0, out = 0;

	for (;;) {
		unsigned most = 0;

		for (uint32_t a = 0; a < f->n; a++) {
			unsigned met = 0;

			for (uint32_t b = 0; b < f->n && !f->fits[a].known; b++)
				met += compare_clocks(f, a, b)
					       ? 1 + f->n * (compare_clocks(f, a, b) > 0)
					       : 0;
			if (met > most) {
				most = met;
				f->queue[in] = a;
			}
		}
		if (!most)
			return;
		f->fits[f->queue[in++]].known = true;
		for (; out < in; out++)
			for (uint32_t b = 0; b < f->n; b++)
				if (!f->fits[b].known && compare_clocks(f, f->queue[out], b)) {
					place_clock(f, f->queue[out], b);
					f->queue[in++] = b;
				}
	}
}

int clock_fit(struct collective_time_list *m, struct clock_fit *fits, uint32_t machines,
	      struct err *e)
{
	struct fitting f = { .n = machines, .fits = fits };
	struct map ranks = { 0 };
	bool nomem = false;
	int rc = 0;

	if (!m->all.n || machines < 2 || machines > CLOCK_FIT_MACHINES)
		return 0;
	f.room = calloc((size_t)machines * machines, sizeof(*f.room));
	f.queue = malloc((machines + 1) * sizeof(*f.queue));
	if (!f.room || !f.queue) {
		rc = err_nomem(e);
		goto out;
	}
	for (size_t i = 0; i < (size_t)machines * machines; i++)
		f.room[i] = UNKNOWN;
	if (m->all.n)
		qsort(m->all.v, m->all.n, sizeof(m->all.v[0]), by_meeting);
	for (size_t i = 0, next; i < m->all.n && !nomem; i = next) {
		for (next = i + 1; next < m->all.n && m->all.v[next].comm == m->all.v[i].comm;
		     next++)
			;
		if (one_comm(&m->all.v[i], next - i, &ranks, &nomem))
			all_meetings(&f, &m->all.v[i], next - i);
	}
	if (nomem)
		rc = err_nomem(e);
	else
		place_all(&f);
out:
	map_free(&ranks);
	free(f.room);
	free(f.queue);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes alternate, so that whether it has work from one on is the parity of its number. Most
 * questions are about the end.
 */
#include "lib/tracks/device_use.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"

/* As long as three of four take at most: the others may have been held up themselves. */
#define USUAL_QUANTILE 0.75
#define USUAL_MIN      8 /* so many tell */

/* A cell holds lengths below this. */
static uint64_t cell_end(unsigned cell)
{
	return (uint64_t)(17 + cell % 16) << (cell / 16 + 6);
}

static unsigned cell_of(uint64_t ns)
{
	unsigned octave;

	if (ns < 1024)
		return 0;
	octave = 53 - (unsigned)__builtin_clzll(ns);
	if (octave >= DEVICE_OCTAVES)
		return DEVICE_CELLS - 1;
	return octave * 16 + (unsigned)(ns >> (octave + 6) & 15);
}

static unsigned class_of(const struct device_change *begin, const struct device_change *end)
{
	uint32_t n = end->calls - begin->calls;

	return n < DEVICE_CLASSES - 1 ? n : DEVICE_CLASSES - 1;
}

static struct device_usual *usual_of(struct device_use *u, uint32_t owner)
{
	if (!vec_reach(&u->usual, owner))
		return NULL;
	if (!u->usual.v[owner])
		u->usual.v[owner] = calloc(1, sizeof(**u->usual.v));
	return u->usual.v[owner];
}

static bool length_add(struct device_use *u, uint32_t owner, const struct device_change *begin,
		       const struct device_change *end)
{
	struct device_usual *usual = usual_of(u, owner);
	struct device_lengths **l = usual ? &usual->of[class_of(begin, end)] : NULL;

	if (l && !*l)
		*l = calloc(1, sizeof(**l));
	if (!l || !*l)
		return false;
	(*l)->n++;
	(*l)->cells[cell_of((uint64_t)(end->ns - begin->ns))]++;
	return true;
}

/* What such a stretch usually takes; UINT64_MAX: too few are known. */
static uint64_t usual_ns(const struct device_lengths *l)
{
	uint64_t below = 0;
	unsigned cell = 0;

	if (!l || l->n < USUAL_MIN)
		return UINT64_MAX;
	for (; cell < DEVICE_CELLS; cell++) {
		below += l->cells[cell];
		if ((double)below >= USUAL_QUANTILE * (double)l->n)
			break;
	}
	return cell_end(cell);
}

static struct device_subject *subject_of(struct device_use *u, uint32_t subject)
{
	if (!vec_reach(&u->v, subject))
		return NULL;
	if (!u->v.v[subject])
		u->v.v[subject] = calloc(1, sizeof(**u->v.v));
	return u->v.v[subject];
}

bool device_use_change(struct device_use *u, uint32_t subject, uint32_t owner, int64_t ns,
		       bool busy, uint64_t calls)
{
	struct device_subject *p = subject_of(u, subject);
	const struct device_change fresh = { ns, (uint32_t)calls, 0 };

	if (!p)
		return false;
	if ((p->v.n & 1) == busy || (p->v.n && ns < p->v.v[p->v.n - 1].ns))
		return true;
	if (p->v.n >= DEVICE_CHANGES_MAX) {
		p->v.n -= DEVICE_CHANGES_MAX / 2;
		memmove(p->v.v, p->v.v + DEVICE_CHANGES_MAX / 2, p->v.n * sizeof(p->v.v[0]));
		p->cut = true;
	}
	return (busy || length_add(u, owner, &p->v.v[p->v.n - 1], &fresh)) &&
	       vec_push(&p->v, fresh);
}

/* How many changes there are up to ns. */
static size_t changes_until(const struct device_subject *p, int64_t ns)
{
	size_t low = 0, high = p->v.n;

	if (high && p->v.v[high - 1].ns <= ns)
		return high;
	bisect(i, low, high, p->v.v[i].ns <= ns);
	return low;
}

/* Of ns in the stretch before the i-th change, in which it has work: what is longer than usual. */
static uint64_t idle_in(const struct device_usual *usual, struct device_subject *p, size_t i,
			uint64_t ns)
{
	struct device_change *end = i < p->v.n ? &p->v.v[i] : NULL;
	uint64_t all, beyond, least;

	if (!i || !end || !usual)
		return 0;
	all = (uint64_t)(end->ns - end[-1].ns);
	least = usual_ns(usual->of[class_of(end - 1, end)]);
	beyond = (uint64_t)end->beyond_us * 1000;
	if (all <= least || all - least <= beyond)
		return 0;
	if (ns > all - least - beyond)
		ns = all - least - beyond;
	end->beyond_us += (uint32_t)((ns + 999) / 1000);
	return ns;
}

uint64_t device_use_idle_ns(struct device_use *u, uint32_t subject, uint32_t owner, int64_t from_ns,
			    int64_t to_ns)
{
	struct device_subject *p = subject < u->v.n ? u->v.v[subject] : NULL;
	uint64_t idle = 0;

	if (!p)
		return (uint64_t)(to_ns - from_ns);
	for (size_t i = changes_until(p, from_ns); from_ns < to_ns; i++) {
		int64_t until = i < p->v.n && p->v.v[i].ns < to_ns ? p->v.v[i].ns : to_ns;
		uint64_t ns = (uint64_t)(until - from_ns);

		if (i & 1)
			idle += idle_in(owner < u->usual.n ? u->usual.v[owner] : NULL, p, i, ns);
		else if (i || !p->cut)
			idle += ns;
		from_ns = until;
	}
	return idle;
}

void device_use_forget(struct device_use *u, uint32_t subject)
{
	struct device_subject *p = subject < u->v.n ? u->v.v[subject] : NULL;

	if (!p)
		return;
	vec_free(&p->v);
	free(p);
	u->v.v[subject] = NULL;
}

void device_use_forget_owner(struct device_use *u, uint32_t owner)
{
	struct device_usual *usual = owner < u->usual.n ? u->usual.v[owner] : NULL;

	if (!usual)
		return;
	for (unsigned k = 0; k < DEVICE_CLASSES; k++)
		free(usual->of[k]);
	free(usual);
	u->usual.v[owner] = NULL;
}

void device_use_free(struct device_use *u)
{
	for (size_t i = 0; i < u->v.n; i++)
		device_use_forget(u, (uint32_t)i);
	for (size_t i = 0; i < u->usual.n; i++)
		device_use_forget_owner(u, (uint32_t)i);
	vec_free(&u->v);
	vec_free(&u->usual);
}

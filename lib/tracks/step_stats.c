/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds steps until the pieces in them have come, then adds them to the series. Slow ones get their
 * pieces while they are held: a step that turns out to be slower than one of those kept takes its
 * place.
 */
#include "lib/tracks/step_stats.h"

#include <stdlib.h>
#include <string.h>

static void series_fold(struct step_series *s)
{
	for (unsigned i = 0; i < STEP_CELLS; i++) {
		const struct step_cell two = s->v[i];

		s->v[i] = (struct step_cell){ 0 };
		s->v[i / 2].count += two.count;
		s->v[i / 2].own_ns += two.own_ns;
		s->v[i / 2].device_ns += two.device_ns;
	}
	s->cell_ns *= 2;
	s->n = (s->n + 1) / 2;
}

static void series_add(struct step_series *s, const struct open_step *step)
{
	uint64_t ns = (uint64_t)(step->end_ns - step->begin_ns), at;
	struct step_cell *cell;

	if (!s->cell_ns) {
		s->cell_ns = STEP_CELL_NS;
		s->first_ns = step->end_ns;
	}
	while ((at = (uint64_t)(step->end_ns - s->first_ns) / (uint64_t)s->cell_ns) >= STEP_CELLS)
		series_fold(s);
	cell = &s->v[at];
	cell->count++;
	cell->own_ns += ns > step->lost_ns ? ns - step->lost_ns : 0;
	cell->device_ns += step->device_ns;
	if (s->n <= at)
		s->n = (unsigned)at + 1;
}

static int64_t length_of(const struct slow_step *s)
{
	return s->end_ns - s->begin_ns;
}

/* Keeps the step if it is one of the slowest so far. */
static bool keep_slow(struct step_stats *s, const struct loop_step *step)
{
	struct slow_step *least;

	if (s->slow.n < STEPS_SLOW) {
		if (!vec_push(&s->slow, (struct slow_step){ 0 }))
			return false;
		least = &s->slow.v[s->slow.n - 1];
	} else {
		least = &s->slow.v[0];
		for (unsigned i = 1; i < STEPS_SLOW; i++)
			if (length_of(&s->slow.v[i]) < length_of(least))
				least = &s->slow.v[i];
		if (step->end_ns - step->begin_ns <= length_of(least))
			return true;
	}
	least->number = step->number;
	least->begin_ns = step->begin_ns;
	least->end_ns = step->end_ns;
	least->sums.n = 0;
	return true;
}

static void drop_open(struct step_stats *s, size_t n)
{
	s->open.n -= n;
	if (s->open.n)
		memmove(s->open.v, s->open.v + n, s->open.n * sizeof(s->open.v[0]));
	s->at = s->at > n ? s->at - n : 0;
}

bool step_stats_add(struct step_stats *s, const struct loop_step *step)
{
	if (!step->certain)
		return true;
	if (s->open.n >= STEPS_OPEN_MAX)
		drop_open(s, STEPS_OPEN_MAX / 2);
	return keep_slow(s, step) &&
	       vec_push(&s->open, ((struct open_step){ .begin_ns = step->begin_ns,
						       .end_ns = step->end_ns,
						       .number = step->number }));
}

void step_stats_rewind(struct step_stats *s)
{
	s->at = 0;
}

/* NULL: out of memory. */
static struct track_total *find_total(struct slow_step *s, uint32_t number)
{
	for (size_t i = 0; i < s->sums.n; i++)
		if (s->sums.v[i].number == number)
			return &s->sums.v[i].total;
	if (!vec_push(&s->sums, (struct step_sum){ .number = number }))
		return NULL;
	return &s->sums.v[s->sums.n - 1].total;
}

static bool add_slow(struct step_stats *s, const struct open_step *step, uint32_t number,
		     const struct track_add *add)
{
	for (unsigned i = 0; i < s->slow.n; i++) {
		struct track_total *t;

		if (s->slow.v[i].number != step->number)
			continue;
		t = find_total(&s->slow.v[i], number);
		if (!t)
			return false;
		track_total_add(t, add);
	}
	return true;
}

bool step_stats_add_piece(struct step_stats *s, uint32_t number, const struct track_add *add,
			  enum step_piece_kind kind)
{
	bool ok = true;

	while (s->at < s->open.n && s->open.v[s->at].end_ns <= add->from_ns)
		s->at++;
	for (size_t i = s->at; ok && i < s->open.n && s->open.v[i].begin_ns < add->to_ns; i++) {
		struct open_step *step = &s->open.v[i];
		struct track_add in = *add;

		if (in.from_ns < step->begin_ns)
			in.from_ns = step->begin_ns;
		if (in.to_ns > step->end_ns)
			in.to_ns = step->end_ns;
		if (kind == STEP_PIECE_LOST)
			step->lost_ns += (uint64_t)(in.to_ns - in.from_ns);
		else if (kind == STEP_PIECE_DEVICE)
			step->device_ns += (uint64_t)(in.to_ns - in.from_ns);
		ok = add_slow(s, step, number, &in);
	}
	return ok;
}

bool step_stats_count(struct step_stats *s, int64_t until_ns)
{
	size_t n = 0;

	if (!s->open.n || s->open.v[0].end_ns > until_ns)
		return true;
	if (!s->series && !(s->series = calloc(1, sizeof(*s->series))))
		return false;
	while (n < s->open.n && s->open.v[n].end_ns <= until_ns)
		series_add(s->series, &s->open.v[n++]);
	drop_open(s, n);
	return true;
}

void step_stats_reset(struct step_stats *s)
{
	for (size_t i = 0; i < s->slow.n; i++)
		vec_free(&s->slow.v[i].sums);
	vec_free(&s->slow);
	vec_free(&s->open);
	free(s->series);
	memset(s, 0, sizeof(*s));
}

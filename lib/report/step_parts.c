/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the largest parts of a step: losses by their causes, work by the line of the loop that does
 * it.
 */
#include "lib/report/step_parts.h"

#include <string.h>

#include "lib/model/finding.h"

static bool is_before(const struct step_part *a, const struct step_part *b)
{
	return a->leads != b->leads ? a->leads : a->ns > b->ns;
}

static void keep_part(struct step_part best[VERDICT_PARTS], const struct step_part *part)
{
	unsigned at = VERDICT_PARTS;

	while (at > 0 && is_before(part, &best[at - 1]))
		at--;
	if (at == VERDICT_PARTS)
		return;
	for (unsigned k = VERDICT_PARTS - 1; k > at; k--)
		best[k] = best[k - 1];
	best[at] = *part;
}

/* Whether both are for one thread that did the same: it was waited for, held a lock or had the CPU.
 */
static bool is_for_same(struct bytes class, const struct paths_culprit *who,
			struct bytes other_class, const struct paths_culprit *other)
{
	return bytes_equal(class, other_class) && who->known && other->known &&
	       who->pid == other->pid && who->tid == other->tid && who->threads == other->threads;
}

/* Losses, wherever in a step they happen, with all that is for the same thread. A severe one comes
 * before work that is not slow, as it does among the findings. */
static void keep_losses(const struct step_track *t, struct step_part best[VERDICT_PARTS])
{
	const struct paths_cause *v = t->phase->causes.v;

	for (size_t i = 0; i < t->phase->causes.n; i++) {
		bool leads = t->loss_leads && v[i].severity >= FINDING_HIGH, told = false;
		struct step_part part = { leads, v[i].ns, 0, v[i].text, v[i].course };
		uint64_t most_ns = v[i].ns;

		for (size_t k = 0; v[i].severity && k < t->phase->causes.n; k++) {
			if (k == i ||
			    !is_for_same(v[i].class, &v[i].culprit, v[k].class, &v[k].culprit))
				continue;
			told |= v[k].severity && k < i;
			part.ns += v[k].ns;
			part.leads |= t->loss_leads && v[k].severity >= FINDING_HIGH;
			if (v[k].ns > most_ns) {
				most_ns = v[k].ns;
				part.text = v[k].text;
			}
		}
		part.otherwise_ns = part.ns - most_ns;
		if (v[i].severity && !told)
			keep_part(best, &part);
	}
}

static bool is_told_as_loss(const struct step_track *t, const struct paths_why *why)
{
	for (size_t i = 0; i < t->phase->causes.n; i++) {
		const struct paths_cause *c = &t->phase->causes.v[i];

		if (c->severity && is_for_same(c->class, &c->culprit, why->class, &why->culprit))
			return true;
	}
	return false;
}

/* The work of the text of row i's k-th cause, in all lines, and of others for the same thread.
 * False: one before it tells that, too. */
static bool sum_work(const struct step_track *t, size_t i, size_t k, struct step_part *part)
{
	const struct paths_why *of = &t->phase->rows.v[i].why.v[k];

	if (is_told_as_loss(t, of))
		return false;
	for (size_t r = 0; r < t->phase->rows.n; r++) {
		const struct paths_row *row = &t->phase->rows.v[r];

		for (size_t j = 0; j < row->why.n; j++) {
			const struct paths_why *why = &row->why.v[j];
			bool same = bytes_equal(why->text, of->text);

			if (why->severity || (!same && !is_for_same(why->class, &why->culprit,
								    of->class, &of->culprit)))
				continue;
			if (r < i || (r == i && j < k))
				return false;
			part->ns += why->ns;
			part->otherwise_ns += same ? 0 : why->ns;
		}
	}
	return true;
}

/* Work, by the line of the loop that does it. Lines that wait for the same thing count as one. */
static void keep_work(const struct step_track *t, struct step_part best[VERDICT_PARTS])
{
	for (size_t i = 0; i < t->phase->rows.n; i++) {
		const struct paths_row *row = &t->phase->rows.v[i];

		for (size_t k = 0; k < row->why.n; k++) {
			struct step_part part = { .text = row->why.v[k].text };

			if (row->why.v[k].severity || !sum_work(t, i, k, &part))
				continue;
			if (part.ns == row->why.v[k].ns)
				part.course = row->why.v[k].course;
			keep_part(best, &part);
		}
	}
}

void step_parts_find(const struct step_track *t, struct step_part best[VERDICT_PARTS])
{
	memset(best, 0, VERDICT_PARTS * sizeof(best[0]));
	keep_losses(t, best);
	keep_work(t, best);
}

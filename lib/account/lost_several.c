/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takers of a CPU of which each takes little of what all take: of a machine full of small programs
 * no single one is to blame, and a finding for each would hide what is.
 */
#include "lib/account/lost_several.h"

#include "lib/account/analysis_state.h"

#define SMALL_TAKER 0.25 /* of what all took (lib/tracks/causes.c) */

/* Who takes a CPU, and is neither of the program itself nor a container. */
static bool is_stranger(const struct cause *c, const struct loss *x)
{
	const struct line_culprit *who = culprit_get(c->tally.culprits, x->culprit);

	return x->family == LOSS_CPU && who && who->kind == CULPRIT_TASK && !who->related;
}

bool loss_is_small(const struct cause *c, const struct loss *x, double share)
{
	const struct loss_process *p = lost_time_process(&c->lost_time, x->process);
	uint64_t taken = 0;

	if (x->revision || cause_severity(share) >= 3 || !is_stranger(c, x))
		return false;
	for (size_t i = 0; i < p->at.n; i++) {
		const struct loss *other = &c->lost_time.v.v[p->at.v[i]];

		taken += other->family == LOSS_CPU ? other->ns : 0;
	}
	return (double)x->ns < SMALL_TAKER * (double)taken;
}

static bool add_loss(struct loss *all, const struct loss *x)
{
	if (!all->ns || x->first_ns < all->first_ns)
		all->first_ns = x->first_ns;
	if (!all->ns || x->last_ns > all->last_ns)
		all->last_ns = x->last_ns;
	all->ns += x->ns;
	all->count += x->count;
	all->idle_ns += x->idle_ns;
	all->beside_ns += x->beside_ns;
	for (unsigned i = 0; i < sizeof(x->states) / sizeof(x->states[0]); i++)
		loss_state_add(all, x->states[i].part, x->states[i].ns);
	for (unsigned i = 0; i < LOSS_WORST; i++) {
		loss_moment_add(all->intervals, &x->intervals[i]);
		loss_moment_add(all->calls, &x->calls[i]);
	}
	for (size_t i = 0; i < x->threads.n; i++) {
		struct loss_thread *th = loss_thread_of(all, x->threads.v[i].anchor);

		if (!th)
			return false;
		th->ns += x->threads.v[i].ns;
		th->idle_ns += x->threads.v[i].idle_ns;
		th->step_ns += x->threads.v[i].step_ns;
		th->step_idle_ns += x->threads.v[i].step_idle_ns;
	}
	for (size_t i = 0; i < x->elsewhere.of.n; i++)
		if (!loss_amount_add(&all->elsewhere, x->elsewhere.of.v[i].id,
				     x->elsewhere.of.v[i].ns))
			return false;
	return vec_push(&all->takers.of, (struct loss_amount){ x->culprit, x->ns });
}

static int compare_takers(const void *a, const void *b)
{
	const struct loss_amount *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

bool lost_time_several(struct cause *c, uint32_t process, struct loss **all, struct loss **most)
{
	struct lost_time *l = &c->lost_time;
	const struct loss_process *p = lost_time_process(l, process);

	loss_free(&l->several);
	l->several = (struct loss){ .process = process, .family = LOSS_CPU };
	*all = *most = NULL;
	for (size_t i = 0; i < p->at.n; i++) {
		struct loss *x = &l->v.v[p->at.v[i]];

		if (x->revision || !x->ns || !is_stranger(c, x))
			continue;
		if (!add_loss(&l->several, x))
			return false;
		if (!*most || x->ns > (*most)->ns)
			*most = x;
	}
	if (!*most)
		return true;
	qsort(l->several.takers.of.v, l->several.takers.of.n, sizeof(l->several.takers.of.v[0]),
	      compare_takers);
	*all = &l->several;
	return true;
}

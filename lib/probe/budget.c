/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of the time, moved from op to op; ops are few, so the one wanted next is looked for. */
#include "lib/probe/budget.h"

#define AIM	   0.9 /* of the budget is what remains when ops are given up */
#define ROOM	   0.8 /* of it must suffice before one is taken back */
#define HOLD_LEAST 2   /* seconds */
#define HOLD_MOST  64
#define KEPT_LONG  60 /* seconds after which an op begins anew */

static double share_of(const struct probe_budget *b, uint64_t calls, double ns)
{
	return (double)calls * ns / b->seconds / 1e9;
}

static void give_up(struct probe_budget_op *op)
{
	if (op->hold_s == 0 || op->kept_s >= KEPT_LONG)
		op->hold_s = HOLD_LEAST;
	else if (op->hold_s < HOLD_MOST)
		op->hold_s *= 2;
	op->given_up = true;
	op->fits_s = 0;
	op->verdict = PROBE_BUDGET_GIVE_UP;
}

static void shrink(const struct probe_budget *b, struct probe_budget_op *ops, size_t n,
		   double share)
{
	double gain = b->call_ns - b->skipped_ns;

	for (size_t i = 0; i < n; i++)
		ops[i].fits_s = 0;
	while (share > b->share * AIM) {
		struct probe_budget_op *most = NULL;

		for (size_t i = 0; i < n; i++)
			if (!ops[i].given_up && ops[i].recorded &&
			    (!most || ops[i].recorded > most->recorded))
				most = &ops[i];
		if (!most)
			return;
		give_up(most);
		share -= share_of(b, most->recorded, gain);
	}
}

/* Those with fewest calls first; one that has to wait still takes its room. */
static void grow(const struct probe_budget *b, struct probe_budget_op *ops, size_t n, double share)
{
	double gain = (b->call_ns - b->skipped_ns) / (b->sample ? b->sample : 1);
	uint64_t above = 0;
	bool first = true;

	for (;;) {
		struct probe_budget_op *least = NULL;
		uint64_t next;

		for (size_t i = 0; i < n; i++)
			if (ops[i].given_up && (first || ops[i].left_out > above) &&
			    (!least || ops[i].left_out < least->left_out))
				least = &ops[i];
		if (!least)
			return;
		next = least->left_out;
		for (size_t i = 0; i < n; i++) {
			struct probe_budget_op *op = &ops[i];

			if (!op->given_up || op->left_out != next)
				continue;
			share += share_of(b, next, gain);
			op->fits_s = share <= b->share * ROOM ? op->fits_s + 1 : 0;
			if (op->fits_s < op->hold_s || op->fits_s == 0)
				continue;
			op->given_up = false;
			op->kept_s = 0;
			op->verdict = PROBE_BUDGET_TAKE_BACK;
		}
		above = next;
		first = false;
	}
}

double probe_budget_decide(const struct probe_budget *b, struct probe_budget_op *ops, size_t n)
{
	double share = b->others;

	if (b->seconds <= 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		share += share_of(b, ops[i].recorded, b->call_ns) +
			 share_of(b, ops[i].left_out, b->skipped_ns);
		ops[i].kept_s += !ops[i].given_up && ops[i].kept_s < KEPT_LONG;
		ops[i].verdict = PROBE_BUDGET_STAYS;
	}
	if (b->call_ns <= b->skipped_ns)
		return share;
	if (share > b->share)
		shrink(b, ops, n, share);
	else
		grow(b, ops, n, share);
	return share;
}

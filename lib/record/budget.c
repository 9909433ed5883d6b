/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the credit and the windows of a recording's budget. */
#include "lib/record/budget.h"

#include <string.h>

#include "lib/base/fmt.h"

#define KEEP_MOST \
	0.7 /* of the budget may be spent on what is not paused: the rest is for windows */
#define WINDOW_LEAST_SHARE 0.2	/* of the budget is for windows, whatever else costs */
#define SHED_LEAST	   0.1	/* of the budget: a tier that costs less is not worth its loss */
#define SMOOTH_NS	   1e9	/* rates outside windows are of about the newest second */
#define JUMP_NS		   10e6 /* a load that lasts less is no reason to expect it again */
/* From a burst to the first tier that is tried, and from one to the next; and four times as long
 * behind one that costs too much. */
#define TRIAL_NS 100000000

/* Those whose loss costs least come first; TIER_KEPT is never paused. */
static const enum op_tier order[] = { TIER_LAUNCHES, TIER_QUERIES, TIER_SUBMITS, TIER_ALLOCATIONS,
				      TIER_WAITS };
#define NORDER (sizeof(order) / sizeof(order[0]))

void record_budget_start(struct record_budget *b, double share, int64_t now_ns)
{
	*b = (struct record_budget){ .share = share,
				     .last_ns = now_ns,
				     .credit_ns = share * BUDGET_SAVED_NS };
}

static double kept_rate(const struct record_budget *b)
{
	double sum = b->others;

	for (unsigned t = 0; t < TIERS; t++)
		sum += b->shed[t] ? 0 : b->rate[t];
	return sum;
}

static double shed_rate(const struct record_budget *b)
{
	double sum = 0;

	for (unsigned t = 0; t < TIERS; t++)
		sum += b->shed[t] ? b->rate[t] : 0;
	return sum;
}

/* Of the budget, when that is spent otherwise. */
static double what_is_left(const struct record_budget *b, double spent)
{
	double left = b->share - spent, least = WINDOW_LEAST_SHARE * b->share;

	return left > least ? left : least;
}

/* The share of time that windows may cost. */
static double spare_share(const struct record_budget *b)
{
	return what_is_left(b, kept_rate(b));
}

static double window_length(const struct record_budget *b)
{
	double rate = shed_rate(b), ns;

	if (rate <= 0)
		return BUDGET_WINDOW_LEAST_NS;
	ns = spare_share(b) / rate * BUDGET_PERIOD_NS;
	return ns < BUDGET_WINDOW_LEAST_NS  ? BUDGET_WINDOW_LEAST_NS
	       : ns > BUDGET_WINDOW_MOST_NS ? BUDGET_WINDOW_MOST_NS
					    : ns;
}

/* Credit that a window needs beyond what comes in meanwhile. */
static double window_needs(const struct record_budget *b)
{
	double excess = shed_rate(b) - spare_share(b);

	return excess > 0 ? window_length(b) * excess : 0;
}

static void shed_more(struct record_budget *b)
{
	for (size_t i = 0; i < NORDER && kept_rate(b) > KEEP_MOST * b->share; i++)
		b->shed[order[i]] |= b->rate[order[i]] > SHED_LEAST * b->share;
	b->shedding = true;
	b->in_window = false;
}

static void update_rates(struct record_budget *b, double ns, const double cost_ns[TIERS])
{
	double weight = ns < SMOOTH_NS ? ns / SMOOTH_NS : 1;

	for (unsigned t = 0; t < TIERS; t++) {
		double w = b->trial_gap_ns && t == b->tried ? ns / TRIAL_NS : weight;

		if (b->shedding && b->shed[t])
			continue; /* of the window as a whole */
		b->rate[t] += (w < 1 ? w : 1) * (cost_ns[t] / ns - b->rate[t]);
	}
	if (!b->in_window)
		return;
	b->phase_ns += ns;
	for (unsigned t = 0; t < TIERS; t++)
		b->phase_cost[t] += cost_ns[t];
}

static void end_window(struct record_budget *b)
{
	for (unsigned t = 0; t < TIERS; t++)
		if (b->shed[t] && b->phase_ns > 0)
			b->rate[t] = b->phase_cost[t] / b->phase_ns;
	b->in_window = false;
}

static void begin_window(struct record_budget *b, int64_t now_ns)
{
	b->trial_gap_ns = 0;
	b->in_window = true;
	b->window_ns = now_ns + (int64_t)window_length(b);
	b->phase_ns = 0;
	memset(b->phase_cost, 0, sizeof(b->phase_cost));
}

/* A window that is over: closed, or left open because what it costs is within the budget now. */
static void leave_window(struct record_budget *b)
{
	end_window(b);
	memset(b->shed, 0, sizeof(b->shed));
	b->shedding = false;
	if (kept_rate(b) > b->share)
		shed_more(b); /* what it takes now, which may be less than before */
}

/* In a window that costs far more than it was planned for, or without windows: at once. */
static bool is_overdrawn(const struct record_budget *b)
{
	double most = b->share * BUDGET_SAVED_NS, planned = window_needs(b);

	if (!b->shedding)
		return b->credit_ns < 0;
	return b->credit_ns < -(b->in_window && planned > most ? planned : most);
}

/* Load has grown since the rates were measured: that of the last look holds where it breaks the
 * budget alone. */
static void raise_rates(struct record_budget *b, double ns, const double cost_ns[TIERS])
{
	for (unsigned t = 0; t < TIERS; t++) {
		double rate = cost_ns[t] / (ns > JUMP_NS ? ns : JUMP_NS);

		if (rate > b->share && rate > b->rate[t])
			b->rate[t] = rate;
	}
}

/* More was spent than there was credit for. Behind a burst that is paused already, only what still
 * costs too much is. */
static void pay_back(struct record_budget *b, double ns, const double cost_ns[TIERS])
{
	bool attached = !b->shedding || b->in_window;

	if (b->in_window)
		end_window(b);
	if (attached)
		raise_rates(b, ns, cost_ns);
	if (!b->shedding) {
		b->trial_gap_ns = TRIAL_NS;
		b->trial_ns = b->last_ns + TRIAL_NS;
		b->tried = TIER_KEPT;
	}
	shed_more(b);
}

/* What waits, copies and allocations cost is known when they are attached. Launches and queries are
 * left to windows. */
static void try_tier(struct record_budget *b)
{
	bool failed = b->tried != TIER_KEPT && b->shed[b->tried];

	if (failed)
		b->trial_gap_ns *= 4;
	else if (b->tried != TIER_KEPT)
		b->trial_gap_ns = TRIAL_NS;
	b->trial_ns = b->last_ns + (failed ? b->trial_gap_ns : TRIAL_NS);
	b->tried = TIER_KEPT;
	if (failed)
		return;
	for (size_t i = NORDER; i-- > 0 && order[i] != TIER_QUERIES;) {
		if (!b->shed[order[i]])
			continue;
		b->tried = order[i];
		b->shed[order[i]] = false;
		b->rate[order[i]] = 0;
		return;
	}
}

void record_budget_look(struct record_budget *b, int64_t now_ns, const double cost_ns[TIERS],
			double others, bool paused[TIERS])
{
	double ns = (double)(now_ns - b->last_ns), most;

	if (ns > 0) {
		b->last_ns = now_ns;
		b->others = others;
		b->credit_ns += what_is_left(b, others) * ns;
		for (unsigned t = 0; t < TIERS; t++)
			b->credit_ns -= cost_ns[t];
		update_rates(b, ns, cost_ns);
		most = b->share * BUDGET_SAVED_NS;
		if (b->shedding && window_needs(b) > most)
			most = window_needs(b);
		if (b->credit_ns > most)
			b->credit_ns = most;
		if (is_overdrawn(b)) {
			pay_back(b, ns, cost_ns);
		} else if (b->in_window && now_ns >= b->window_ns) {
			leave_window(b);
		} else if (b->shedding && !b->in_window && b->credit_ns >= window_needs(b)) {
			begin_window(b, now_ns);
		} else if (b->shedding && !b->in_window) {
			shed_more(b); /* what has grown since leaves nothing for windows */
			if (b->trial_gap_ns && now_ns >= b->trial_ns)
				try_tier(b);
		}
	}
	for (unsigned t = 0; t < TIERS; t++)
		paused[t] = b->shedding && !b->in_window && b->shed[t];
}

bool record_budget_text(struct buf *out, const uint64_t paused_ns[TIERS], double wall_ns,
			double share)
{
	bool any = false;

	for (unsigned t = 0; t < TIERS; t++) {
		if (!paused_ns[t] || wall_ns <= 0)
			continue;
		buf_printf(out, "%s%s%s %s%s", any ? ", " : "", op_tier_name(t),
			   any ? "" : " were recorded",
			   fmt_percent(1 - (double)paused_ns[t] / wall_ns).s,
			   any ? "" : " of the time");
		any = true;
	}
	if (any)
		buf_printf(out,
			   ", to stay within %s (--budget): their counts in reports are estimates "
			   "(~)",
			   fmt_percent(share).s);
	return any;
}

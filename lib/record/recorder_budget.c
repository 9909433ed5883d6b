/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a recording within its budget (budget.h decides): pauses tiers of probes and resumes them,
 * writes PAUSED records, and compares the programs' progress with and without probes (progress.h),
 * which is what a call is taken to cost.
 */
#include "lib/record/recorder_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/host/clock.h"

/* The programs' own progress may say so many times what calls cost by calibration. */
#define REAL_FACTOR_LEAST 0.5
#define REAL_FACTOR_MOST  2.0
#define FACTOR_CERTAIN	  0.5 /* the interval may be so wide, as a share of the slowdown */
#define BUSIEST_NS	  500000000

void recorder_budget_count(struct recorder_budget *b, const struct event *ev)
{
	b->calls[b->tier_of[ev->op % OPS_COUNTED]]++;
	if (ev->ctx >= b->by_ctx.n) {
		size_t more = ev->ctx + 1 - b->by_ctx.n;

		if (!vec_reserve(&b->by_ctx, more))
			return;
		memset(b->by_ctx.v + b->by_ctx.n, 0, more * sizeof(*b->by_ctx.v));
		b->by_ctx.n += more;
	}
	if (b->by_ctx.v[ev->ctx]++ == 0)
		vec_push(&b->touched, ev->ctx);
}

void recorder_budget_free(struct recorder_budget *b)
{
	vec_free(&b->by_ctx);
	vec_free(&b->touched);
}

static bool has_python(const struct recorder *r)
{
	size_t n;
	struct probe_python_file *const *f = probe_pythons_files(r->pythons, &n);

	for (size_t i = 0; i < n; i++)
		if (f[i]->python.kind != SYM_PYTHON_NONE)
			return true;
	return false;
}

/* The share of all calls since the last time that one process made. */
static void find_busiest(struct recorder *r)
{
	struct recorder_budget *b = &r->spent.budget;
	struct map sums = { 0 };
	uint64_t all = 0, most = 0;

	for (size_t i = 0; i < b->touched.n; i++) {
		uint32_t ctx = b->touched.v[i], process = world_ctx_process_id(r->world, ctx);
		uint64_t sum = 0;

		map_get(&sums, process, &sum);
		sum += b->by_ctx.v[ctx];
		map_put(&sums, process, sum);
		most = sum > most ? sum : most;
		all += b->by_ctx.v[ctx];
		b->by_ctx.v[ctx] = 0;
	}
	map_free(&sums);
	b->touched.n = 0;
	if (all)
		b->busiest = (double)most / (double)all;
}

double recorder_budget_factor(const struct recorder_budget *b)
{
	struct progress_estimate p;

	if (!record_progress_estimate(&b->progress, &p) ||
	    p.high - p.low > FACTOR_CERTAIN * p.slowdown)
		return 1;
	return p.factor < REAL_FACTOR_LEAST  ? REAL_FACTOR_LEAST
	       : p.factor > REAL_FACTOR_MOST ? REAL_FACTOR_MOST
					     : p.factor;
}

/* What calls since the last look cost the busiest process, by tier and by calibration. */
static void measure_costs(struct recorder *r, double cost_ns[TIERS])
{
	struct recorder_budget *b = &r->spent.budget;
	double call_ns = record_cost_call(&r->spent.cost);
	uint64_t folded[SPEC_TIERS];

	probe_session_folded_by_tier(r->session, folded);
	for (unsigned t = 0; t < TIERS; t++) {
		cost_ns[t] = (double)(b->calls[t] - b->seen[t]) * call_ns +
			     (double)(folded[t] - b->folded_seen[t]) *
				     record_cost_skipped(&r->spent.cost);
		b->seen[t] = b->calls[t];
		b->folded_seen[t] = folded[t];
	}
	for (unsigned t = 0; t < TIERS; t++) {
		cost_ns[t] *= b->busiest;
		b->cost_ns += cost_ns[t];
		if (b->plan.shed[t])
			b->interval_cost += cost_ns[t];
	}
}

static int write_pause(struct recorder *r, unsigned tier, int64_t until, const char *reason,
		       struct err *e)
{
	struct record rec = { .kind = RECORD_PAUSED };

	REC_SET(&rec, PAUSED, since_ns, r->spent.budget.paused_since[tier]);
	if (until)
		REC_SET(&rec, PAUSED, until_ns, until);
	REC_SET(&rec, PAUSED, tier, tier);
	REC_SET(&rec, PAUSED, reason, bytes_of(reason));
	return ige_writer_record(r->writer, &rec, e);
}

static int pause_tier(struct recorder *r, unsigned tier, struct err *e)
{
	struct recorder_budget *b = &r->spent.budget;

	b->paused_since[tier] = probe_tiers_pause(library_instances_tiers(r->copies), tier);
	b->paused[tier] = true;
	b->pauses++;
	return write_pause(r, tier, 0, "budget", e);
}

static int resume_tier(struct recorder *r, unsigned tier, struct err *e)
{
	struct recorder_budget *b = &r->spent.budget;
	struct err why = { 0 };
	int64_t now;

	if (!probe_tiers_resume(library_instances_tiers(r->copies), tier, &why)) {
		if (!b->refused_told)
			recorder_tell(r, RECORD_WARNING, "the probes of %s cannot be put back: %s",
				      op_tier_name(tier), why.text);
		b->refused_told = true;
		return 0; /* tried again in the next window */
	}
	now = host_clock_mono();
	b->paused[tier] = false;
	b->paused_ns[tier] += (uint64_t)(now - b->paused_since[tier]);
	return write_pause(r, tier, now, "budget", e);
}

/* Share of the busiest process's time that programs elsewhere take, and the interrupts behind CPU
 * samples, as of one that has a CPU all the time. */
static double others_share(const struct recorder *r)
{
	double host = record_cost_host(&r->spent.cost);

	return (host > 0 ? host / 1e9 * r->spent.budget.busiest : 0) +
	       probe_session_cpu_hz(r->session) * r->spent.tick_ns / 1e9;
}

/* Calls that are recorded with and without a window. */
static uint64_t progress_units(const struct recorder_budget *b)
{
	uint64_t n = 0;

	for (unsigned t = 0; t < TIERS; t++)
		n += b->plan.shed[t] ? 0 : b->calls[t];
	return n;
}

static void begin_interval(struct recorder_budget *b, int64_t now)
{
	b->interval_ns = now;
	b->interval_units = progress_units(b);
	b->interval_cost = 0;
}

static void notify_shedding(struct recorder *r)
{
	struct buf names = { 0 };

	for (unsigned t = 0; t < TIERS; t++)
		if (r->spent.budget.plan.shed[t])
			buf_printf(&names, "%s%s", names.n ? ", " : "", op_tier_name(t));
	recorder_tell(r, RECORD_LINE,
		      "recording all calls costs more than %s of the time: %s are recorded in "
		      "windows (--budget none records all)",
		      fmt_percent(r->opt.budget).s, buf_text(&names));
	buf_free(&names);
}

static int follow_plan(struct recorder *r, const bool paused[TIERS], bool probed, bool same_kind,
		       int64_t now, struct err *e)
{
	struct recorder_budget *b = &r->spent.budget;
	int rc = 0;

	if (same_kind)
		record_progress_add(&b->progress, probed, (double)(now - b->interval_ns),
				    (double)(progress_units(b) - b->interval_units),
				    b->interval_cost);
	else
		record_progress_break(&b->progress);
	/* The driver's half of a launch goes with the runtime's: they are one tier. */
	for (unsigned t = 0; rc == 0 && t < TIERS; t++) {
		if (paused[t] && !b->paused[t])
			rc = pause_tier(r, t, e);
		else if (!paused[t] && b->paused[t])
			rc = resume_tier(r, t, e);
	}
	begin_interval(b, host_clock_mono());
	if (b->plan.shedding && !b->told && rc == 0) {
		b->told = true;
		notify_shedding(r);
	}
	return rc;
}

int recorder_keep_budget(struct recorder *r, int64_t now, struct err *e)
{
	struct recorder_budget *b = &r->spent.budget;
	bool was_shedding = b->plan.shedding, was_shed[TIERS], paused[TIERS], probed = true;
	double cost_ns[TIERS], factor;

	if (!r->session)
		return 0;
	if (now >= b->next_busiest_ns) {
		b->next_busiest_ns = now + BUSIEST_NS;
		find_busiest(r);
		r->spent.cost.interpreted = has_python(r);
	}
	if (r->opt.budget > 0 && b->plan.last_ns == 0) {
		record_budget_start(&b->plan, r->opt.budget, now);
		begin_interval(b, now);
	}
	measure_costs(r, cost_ns);
	if (r->opt.budget <= 0)
		return 0;
	factor = recorder_budget_factor(b);
	for (unsigned t = 0; t < TIERS; t++) {
		cost_ns[t] *= factor;
		probed &= !b->paused[t];
	}
	memcpy(was_shed, b->plan.shed, sizeof(was_shed));
	record_budget_look(&b->plan, now, cost_ns, others_share(r), paused);
	if (memcmp(paused, b->paused, sizeof(paused)) == 0)
		return 0;
	return follow_plan(r, paused, probed,
			   was_shedding && memcmp(was_shed, b->plan.shed, sizeof(was_shed)) == 0,
			   now, e);
}

int recorder_end_budget(struct recorder *r, int64_t now, struct err *e)
{
	int rc = 0;

	for (unsigned t = 0; rc == 0 && t < TIERS; t++) {
		if (!r->spent.budget.paused[t])
			continue;
		r->spent.budget.paused_ns[t] += (uint64_t)(now - r->spent.budget.paused_since[t]);
		rc = write_pause(r, t, now, "budget", e);
		r->spent.budget.paused[t] = false;
	}
	return rc;
}

int recorder_repeat_pauses(struct recorder *r, struct err *e)
{
	int rc = 0;

	for (unsigned t = 0; rc == 0 && t < TIERS; t++)
		if (r->spent.budget.paused[t])
			rc = write_pause(r, t, 0, "budget", e);
	return rc;
}

struct recorder_slowdown recorder_slowdown(const struct recorder *r)
{
	const struct recorder_budget *b = &r->spent.budget;
	struct recorder_slowdown s = { 0 };
	struct progress_estimate p;
	double wall = (double)(r->spent.since_ns - r->start_ns),
	       spent = wall > 0 ? b->cost_ns / wall : 0, others = others_share(r);

	s.share = spent * recorder_budget_factor(b) + others;
	if (record_progress_estimate(&b->progress, &p) && p.slowdown > 0) {
		s.windows = p.windows;
		s.share = spent * p.factor + others;
		s.low = spent * p.factor * (p.low > 0 ? p.low / p.slowdown : 0) + others;
		s.high = spent * p.factor * (p.high / p.slowdown) + others;
	}
	return s;
}

void recorder_tell_budget(struct recorder *r)
{
	struct buf text = { 0 };

	if (record_budget_text(&text, r->spent.budget.paused_ns,
			       (double)(r->spent.since_ns - r->start_ns), r->opt.budget))
		recorder_tell(r, RECORD_LINE, "%s", buf_text(&text));
	buf_free(&text);
}

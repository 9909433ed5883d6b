/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throughput-drop: the steps of a program take longer from some moment on. Proven by a change of
 * level in the time that steps take of themselves (lib/stat/period.h, lib/tracks/step_stats.h),
 * against what the same loop took before, until its end. Not this: what is lost in them, which has
 * kinds of its own; a slow step now and then; a slow beginning; another loop; a loop that ends.
 */
#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/sampling.h"
#include "lib/account/fact.h"
#include "lib/tracks/loop_text.h"
#include "lib/stat/period.h"

#define CHANCE	  1e-4
#define SLOWER	  1.10	/* than before */
#define LOST_MAX  0.001 /* of the events: more say nothing of how long steps take */
#define BEFORE	  8	/* cells, at least */
#define AFTER	  8
#define LOOPS_MAX 256
#define PROBED	  0.05 /* of the time: so much more of it afterwards is no chance */

/* A loop that became slower. */
struct slower {
	size_t at; /* cell */
	double chance, before_ns, after_ns, device_before_ns, device_after_ns;
	uint64_t lost_ns, steps;
};

static double compute_mean(uint64_t ns, uint64_t count)
{
	return count ? (double)ns / (double)count : 0;
}

/* The cells that have steps, the last and unfinished one left out. */
static bool slower_of(const struct step_series *s, struct slower *out)
{
	double x[STEP_CELLS];
	unsigned cell[STEP_CELLS], n = 0, split;
	struct step_cell before = { 0 }, after = { 0 }, last = { 0 };

	for (unsigned i = 0; i + 1 < s->n; i++) {
		if (s->v[i].count == 0)
			continue;
		x[n] = compute_mean(s->v[i].own_ns, s->v[i].count);
		cell[n++] = i;
	}
	out->chance = change_chance(x, n, &out->at);
	if (out->chance > CHANCE || out->at < BEFORE || n - out->at < AFTER)
		return false;
	split = (unsigned)out->at;
	out->at = cell[split];
	for (unsigned i = 0; i < s->n; i++) {
		struct step_cell *side = i < out->at ? &before : &after;

		side->count += s->v[i].count;
		side->own_ns += s->v[i].own_ns;
		side->device_ns += s->v[i].device_ns;
		if (n >= 4 && i >= cell[n - 4]) {
			last.count += s->v[i].count;
			last.own_ns += s->v[i].own_ns;
		}
	}
	out->before_ns = compute_mean(before.own_ns, before.count);
	out->after_ns = compute_mean(after.own_ns, after.count);
	out->device_before_ns = compute_mean(before.device_ns, before.count);
	out->device_after_ns = compute_mean(after.device_ns, after.count);
	out->steps = after.count;
	if (out->after_ns < SLOWER * out->before_ns ||
	    compute_mean(last.own_ns, last.count) < SLOWER * out->before_ns)
		return false;
	out->lost_ns = (uint64_t)((out->after_ns - out->before_ns) * (double)after.count + 0.5);
	return true;
}

/* How much of the time probes were detached, of whatever tier. */
static double paused_share(const struct cause *c, uint32_t node, int64_t from_ns, int64_t to_ns)
{
	double all = (double)(to_ns - from_ns);

	return all > 0 ? (double)paused_any_ns(&c->paused, node, TIERS_ALL, from_ns, to_ns) / all
		       : 0;
}

static int64_t changed_ns(const struct step_series *s, const struct slower *x)
{
	return s->first_ns + (int64_t)x->at * s->cell_ns;
}

/* Calls take longer while they are recorded: where they were for more of the time afterwards, it
 * may be that. */
static bool by_probes(const struct cause *c, const struct loop *l, int64_t changed_ns)
{
	const struct world_thread *th = world_get_thread(c->w, l->thread);
	const struct world_process *v = th ? world_get_process(c->w, th->process) : NULL;
	uint32_t node = v ? v->node : 0;

	return c->paused.lists.n && paused_share(c, node, l->first_ns, changed_ns) >
					    paused_share(c, node, changed_ns, l->last_ns) + PROBED;
}

/* Where the call that tells steps is missing two of them are one. */
static bool by_losses(const struct cause *c)
{
	const struct line_totals *totals = line_totals(c->line);

	return (double)totals->lost > LOST_MAX * (double)totals->events;
}

/* Else it is the program's own code, as far as is known what the host took. */
static bool by_device(const struct slower *x)
{
	return x->device_after_ns - x->device_before_ns > (x->after_ns - x->before_ns) / 2;
}

static int report_finding(struct cause *c, const struct track *t, const struct step_series *series,
			  const struct slower *x, struct err *e)
{
	int64_t from = changed_ns(series, x);
	bool device = by_device(x);
	struct fact_told told = { 0 };
	struct fact f = { .kind = "throughput-drop",
			  .process = cause_process_of(c, t->anchor),
			  .first_ns = from,
			  .last_ns = t->loop->last_ns,
			  .lost_ns = x->lost_ns,
			  .count = x->steps,
			  .counted = "steps",
			  .gain = FACT_GAIN_ALL,
			  .culprit.kind = device ? "gpu" : "code",
			  .culprit.text = device ? "the GPU" : "its own code",
			  .share = cause_share(c, x->lost_ns),
			  .op = t->loop->op };
	struct buf place = { 0 };

	/* A loop that was found by its calls has one that tells its steps; of Python it has a
	 * function. */
	if (t->loop->period) {
		f.nsites = 1;
		f.sites[0] = (struct where_place){ .stack = t->loop->stack,
						   .op = t->loop->op,
						   .lost_ns = x->lost_ns,
						   .affected = x->steps,
						   .count = t->loop->count };
	}
	loop_text_print(&place, c->w, t->loop);
	f.identity = details_text(&f.found, &place);
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " became slower %s after the start: a step takes %s instead of ",
		   fmt_ns((uint64_t)(from - c->start_ns)).s, fmt_ns((uint64_t)x->after_ns).s);
	buf_printf(&f.summary, "%s, because of %s, which lost ", fmt_ns((uint64_t)x->before_ns).s,
		   f.culprit.text);
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, "; steps of %s", f.identity);
	fact_evidence(&f, "a step before", x->before_ns, "ns");
	fact_evidence(&f, "a step after", x->after_ns, "ns");
	fact_evidence(&f, "of which waiting for the device, before", x->device_before_ns, "ns");
	fact_evidence(&f, "of which waiting for the device, after", x->device_after_ns, "ns");
	fact_evidence(&f, "chance of such a change", x->chance, "");
	fact_fix(&f,
		 device ? "Look at the device's clocks, temperature and other users at that moment"
			: "Look at what the program began to do at that moment",
		 device ? "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE"
			: sampling_command(c, world_process_pid(c->w, f.process), &f.found),
		 0, x->lost_ns, "from nothing, if it is meant to do more, to all of it");
	return fact_tell(c, &f, &told, e);
}

/* Whether the steps of that track became slower, and it matters. */
static bool find_drop(const struct cause *c, size_t i, struct track *t,
		      const struct step_series **series, struct slower *x)
{
	const struct step_stats *stats = path_tracks_steps(c->tracks, i);

	*t = path_tracks_get(c->tracks, i);
	if (!stats || !stats->series || !t->loop)
		return false;
	*series = stats->series;
	return slower_of(*series, x) && !(cause_blind(c) && !by_device(x)) &&
	       !by_probes(c, t->loop, changed_ns(*series, x)) && !by_losses(c) &&
	       fact_material(c, x->lost_ns, x->steps, cause_wall_ns(c));
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	unsigned loops = 0;
	int rc = 0;

	/* Whether it lasts is known in the end. */
	if (pane != INT64_MAX)
		return 0;
	for (size_t i = 0; i < path_tracks_count(c->tracks) && rc == 0; i++) {
		const struct step_series *series;
		struct slower x = { 0 };
		struct track t;

		if (find_drop(c, i, &t, &series, &x) && loops++ < LOOPS_MAX)
			rc = report_finding(c, &t, series, &x, e);
	}
	return rc;
}

const struct detector detector_throughput_drop = { .flush_window = flush_window };

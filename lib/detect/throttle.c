/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throttle: a GPU that has work runs below its clock because something holds it down. Proven by
 * NVML's reasons bit by bit and by the clock itself, sampled; only time in which the GPU was busy
 * counts, and only reasons that are a fault of the machine or a cap somebody set: not idle clocks,
 * not clocks an application asked for. Lost is the work that the missing share of the clock would
 * have done: an upper bound, as kernels that wait for memory lose less.
 */
#include <stdio.h>

#include "lib/base/fmt.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/fact.h"

/* nvmlClocksEventReasons, nvml.h */
#define REASON_POWER_CAP	0x4u
#define REASON_HARDWARE		0x8u
#define REASON_THERMAL_SOFTWARE 0x20u
#define REASON_THERMAL_HARDWARE 0x40u
#define REASON_POWER_BRAKE	0x80u

#define BUSY_PERCENT 10.0 /* below, its clocks do not matter */
#define CLOCK_LOST   0.05 /* of the clock: less is within what boost clocks vary by */
#define SAMPLE_MAX_NS \
	20000000000 /* between two samples: longer is a gap, of which nothing is known */

static const struct {
	unsigned bit;
	const char *what, *fix, *command;
} reasons[] = {
	{ REASON_THERMAL_HARDWARE, "too hot (hardware slowdown)",
	  "Mend its cooling: airflow, fans, a neighbour that heats it",
	  "nvidia-smi -q -d TEMPERATURE,PERFORMANCE" },
	{ REASON_THERMAL_SOFTWARE, "too hot (software slowdown)",
	  "Mend its cooling: airflow, fans, a neighbour that heats it",
	  "nvidia-smi -q -d TEMPERATURE,PERFORMANCE" },
	{ REASON_POWER_BRAKE, "the machine's power supply asks it to use less (power brake)",
	  "Have the machine's power supplies checked", "nvidia-smi -q -d POWER,PERFORMANCE" },
	{ REASON_HARDWARE, "hardware slowdown", "Have the machine's power and cooling checked",
	  "nvidia-smi -q -d PERFORMANCE" },
	{ REASON_POWER_CAP, "at its power limit",
	  "Raise its power limit, where the machine's supplies allow it",
	  "nvidia-smi -q -d POWER" },
};
#define NREASONS (sizeof(reasons) / sizeof(reasons[0]))

struct limited_gpu {
	bool seen;
	double busy, clock, clock_max, power, power_limit, temperature_max, clock_best, clock_least;
	uint64_t bits;
	int64_t bits_ns; /* since then; 0: not sampled yet */
	uint64_t busy_ns, reason_ns[NREASONS], lost_ns[NREASONS], count[NREASONS];
	int64_t first_ns[NREASONS], last_ns[NREASONS];
	struct fact_told told[NREASONS];
};

struct throttle {
	VEC(struct limited_gpu) v; /* by world id */
};

/* What the last statement on its limits stood for, up to now. Of reasons given together the first
 * in the table counts. */
static void account_sample(struct limited_gpu *g, int64_t now_ns)
{
	int64_t ns = now_ns - g->bits_ns;
	double best = g->clock_max > 0 ? g->clock_max : g->clock_best;

	if (g->bits_ns == 0 || ns <= 0 || ns > SAMPLE_MAX_NS || g->busy < BUSY_PERCENT)
		return;
	g->busy_ns += (uint64_t)ns;
	for (unsigned i = 0; i < NREASONS; i++) {
		double missing = best > 0 && g->clock > 0 ? 1 - g->clock / best : 0;

		if (!(g->bits & reasons[i].bit))
			continue;
		if (g->count[i]++ == 0)
			g->first_ns[i] = g->bits_ns;
		g->last_ns[i] = now_ns;
		g->reason_ns[i] += (uint64_t)ns;
		if (missing > CLOCK_LOST)
			g->lost_ns[i] += (uint64_t)((double)ns * missing * g->busy / 100);
		return;
	}
}

static bool on_record(void *state, struct cause *c, const struct record *r)
{
	struct throttle *s = state;
	const struct rec_SAMPLE *v = &r->u.SAMPLE;
	struct limited_gpu *g;

	if (r->kind != RECORD_SAMPLE || !REC_HAS(r, SAMPLE, gpu) || v->gpu > UINT16_MAX ||
	    REC_HAS(r, SAMPLE, process))
		return true;
	if (!vec_reach(&s->v, v->gpu))
		return false;
	g = &s->v.v[v->gpu];
	g->seen = true;
	switch (v->metric) {
	case METRIC_GPU_BUSY:
		g->busy = v->value;
		break;
	case METRIC_GPU_SM_CLOCK:
		g->clock = v->value;
		g->clock_best = v->value > g->clock_best ? v->value : g->clock_best;
		if (g->busy >= BUSY_PERCENT && (g->clock_least == 0 || v->value < g->clock_least))
			g->clock_least = v->value;
		break;
	case METRIC_GPU_SM_CLOCK_MAX:
		g->clock_max = v->value;
		break;
	case METRIC_GPU_POWER:
		g->power = v->value > g->power ? v->value : g->power;
		break;
	case METRIC_GPU_POWER_LIMIT:
		g->power_limit = v->value;
		break;
	case METRIC_GPU_TEMPERATURE:
		g->temperature_max = v->value > g->temperature_max ? v->value : g->temperature_max;
		break;
	case METRIC_GPU_CLOCK_LIMITS:
		account_sample(g, v->time_ns);
		g->bits = (uint64_t)v->value;
		g->bits_ns = v->time_ns;
		break;
	default:
		break;
	}
	return true;
}

static int report_finding(struct cause *c, struct limited_gpu *g, uint32_t gpu, unsigned i,
			  double share, struct err *e)
{
	char reason[16];
	struct fact f = { .kind = "throttle",
			  .first_ns = g->first_ns[i],
			  .last_ns = g->last_ns[i],
			  .lost_ns = g->lost_ns[i],
			  .count = g->count[i],
			  .counted = "samples",
			  .upper_bound = true,
			  .share = share };

	snprintf(reason, sizeof(reason), "%u", reasons[i].bit);
	fact_blame_gpu(c, &f, gpu, reason);
	buf_printf(&f.summary, "%s ran below its clock for %s while it had work: %s; lost ",
		   f.culprit.text, fmt_ns(g->reason_ns[i]).s, reasons[i].what);
	fact_amount(&f, &f.summary);
	fact_evidence(&f, "time with work", (double)g->busy_ns, "ns");
	fact_evidence(&f, "time held down for that reason", (double)g->reason_ns[i], "ns");
	fact_evidence(&f, "lowest clock with work", g->clock_least / 1e6, "MHz");
	if (g->clock_max > 0)
		fact_evidence(&f, "highest clock it is made for", g->clock_max / 1e6, "MHz");
	if (g->temperature_max > 0)
		fact_evidence(&f, "highest temperature", g->temperature_max, "C");
	if (g->power > 0)
		fact_evidence(&f, "most power", g->power, "W");
	if (g->power_limit > 0)
		fact_evidence(&f, "power limit", g->power_limit, "W");
	fact_fix(&f, reasons[i].fix, reasons[i].command, 0, f.lost_ns,
		 "kernels that wait for memory gain less than the clock does");
	return fact_tell(c, &f, &g->told[i], e);
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct throttle *s = state;
	int rc = 0;

	for (uint32_t i = 0; i < s->v.n; i++) {
		struct limited_gpu *g = &s->v.v[i];
		const struct world_gpu *wg = world_get_gpu(c->w, i);

		if (c->ended && g->seen)
			account_sample(g, cause_node_end(c, wg ? wg->node : 0));
		for (unsigned k = 0; k < NREASONS && g->seen && rc == 0; k++) {
			double share = cause_share(c, g->lost_ns[k]);

			if ((fact_material(c, g->lost_ns[k], g->count[k], cause_wall_ns(c)) ||
			     (c->ended && g->told[k].revision)) &&
			    fact_due(c, &g->told[k], g->lost_ns[k], share))
				rc = report_finding(c, g, i, k, share, e);
		}
	}
	return rc;
}

static void free_state(void *state)
{
	vec_free(&((struct throttle *)state)->v);
}

const struct detector detector_throttle = {
	.size = sizeof(struct throttle),
	.on_record = on_record,
	.flush_window = flush_window,
	.free = free_state,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync-storm: the program waits for the device after every few launches, so that the device has nothing to do each time
 * until the next launch has gone through. Proven by the launches between two waits at one place and by what
 * follows each wait: a short gap in which the thread is on its CPU. Not this: a wait per step of many launches or graphs,
 * and gaps in which the thread sleeps, waits or computes for long (gpu-idle).
 */
#include <inttypes.h>

#include "lib/base/human.h"
#include "lib/detect/gpu_work.h"
#include "lib/account/names.h"

/* Launching takes 5 to 20 us; a gap of ten times that has another reason. */
#define SHORT_NS 200000
/* A step of a model has dozens. */
#define FEW_LAUNCHES 4
/* Of a place's gaps, so many are short. */
#define MOST 0.8
/* Below that a step that computes a little between two waits would be told. */
#define MIN_SHARE 0.02

bool gpu_wait_storms(const struct gpu_wait *w)
{
	return w->told || (w->launches <= FEW_LAUNCHES * w->waits && 2 * w->launches >= w->waits &&
			   (double)w->shorts >= MOST * (double)w->waits);
}

bool sync_storm_gap(const struct cause *c, struct gpu_wait *w, const struct gap *gap)
{
	uint64_t ns = (uint64_t)(gap->end_ns - gap->start_ns), other = gap->kept_ns;

	if (gap->unbounded || gap->some_launches)
		return true;
	w->waits++;
	w->launches += gap->launches;
	other = other > ns ? ns : other;
	if (ns - other > SHORT_NS || ns - other == 0)
		return true;
	w->shorts++;
	cause_sum_add(c, &w->sum,
		      &(struct sum_worst){ .end_ns = gap->end_ns,
					   .dur_ns = ns,
					   .lost_ns = ns - other,
					   .thread = gap->thread,
					   .op = gap->until_op,
					   .tiers = TIERS_ALL });
	return true;
}

static int tell(struct gpu_work *g, struct gpu_wait *w, struct cause *c, struct err *e)
{
	const struct device *d = gaps_device(g->gaps, w->device);
	double launches = (double)w->launches / (double)w->waits;
	struct fact f = { .kind = "sync-storm",
			  .process = d->process,
			  .counted = "waits",
			  .culprit.kind = "code",
			  .explained = -1,
			  .unexplained = -1,
			  .op = w->op,
			  .nsites = 1 };
	struct buf place = { 0 };
	int rc;

	f.sites[0] = (struct where_place){ .stack = w->stack,
					   .op = w->op,
					   .lost_ns = w->sum.ns,
					   .affected = w->shorts,
					   .count = w->waits };
	cause_sum_fill(c, &w->sum, &f,
		       "the device had nothing to do from the end of a wait to the next call");
	fact_place(c, &f.sites[0], &place);
	f.identity = f.culprit.text = buf_text(&place);
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " waits for the GPU after every ");
	if (launches < 1.5)
		buf_puts(&f.summary, "launch");
	else
		buf_printf(&f.summary, "%.1f launches", launches);
	buf_printf(&f.summary, ", %s: the GPU had nothing to do meanwhile for ", f.culprit.text);
	fact_amount(&f, &f.summary);
	fact_evidence(&f, "launches per wait", launches, "");
	fact_evidence(&f, "waits", (double)w->waits, "");
	fact_evidence(&f, "mean gap after a wait", (double)w->sum.ns / (double)w->sum.count, "ns");
	fact_evidence(&f, "share of the device's idle time",
		      100 * (double)w->sum.ns / (double)g->devices.v[w->device].idle_ns[0], "%");
	fact_fix_code(
		&f,
		"Wait once per step: keep results on the device and read them later, all together",
		name_python(c->w, w->stack)
			? "loss_sum += loss.detach()  # and once in a while: print(loss_sum.item())"
			: "cudaMemcpyAsync(&result[i], found, bytes, cudaMemcpyDeviceToHost, "
			  "stream); "
			  "/* one wait behind the last */",
		w->sum.ns / 2, w->sum.ns,
		"the gaps behind the waits; some remain where a result decides what is launched "
		"next");
	w->told = true;
	rc = fact_tell(c, &f, &w->sum.told, e);
	buf_free(&place);
	fact_free(&f);
	return rc;
}

int sync_storm_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < g->waits.n && rc == 0; i++) {
		struct gpu_wait *w = &g->waits.v[i];

		if (gpu_wait_storms(w) && cause_sum_due(c, &w->sum, pane, MIN_SHARE))
			rc = tell(g, w, c, e);
	}
	return rc;
}

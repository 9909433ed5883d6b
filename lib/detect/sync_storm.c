/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync-storm: the program waits for the device after every few launches, so that the device has
 * nothing to do each time until the next launch has gone through. Proven by the launches between
 * two waits at one place and by what follows each wait: a short gap in which the thread is on its
 * CPU. Not this: a wait per step of many launches or graphs, and gaps in which the thread sleeps,
 * waits or computes for long (gpu-idle).
 */
#include "lib/detect/gpu_work_internal.h"
#include "lib/account/names.h"

/* Launching takes 5 to 20 us; a gap of ten times that has another reason. */
#define SHORT_NS 200000
/* A step of a model has dozens. */
#define FEW_LAUNCHES 4
/* Of a place's gaps, so many are short. */
#define MOST 0.8
/* Below that, steps that compute a little between two waits would be reported. */
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
	return toll_add_moment(c, &w->at.row.toll,
			       &(struct fact_moment){ .end_ns = gap->end_ns,
						      .dur_ns = ns,
						      .lost_ns = ns - other,
						      .thread = gap->thread,
						      .op = gap->until_op },
			       TIERS_ALL);
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	return gpu_wait_storms((const struct gpu_wait *)r) && toll_due(c, &r->toll, pane, share) &&
	       (*share >= MIN_SHARE || (c->ended && r->toll.told.revision));
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct gpu_work *g = state;
	struct gpu_wait *w = (struct gpu_wait *)r;
	double launches = (double)w->launches / (double)w->waits;

	f->share = toll_share(c, &r->toll);
	f->identity = gpu_place_blame(c, &w->at, f, w->shorts, w->waits);
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " waits for the GPU after every ");
	if (launches < 1.5)
		buf_puts(&f->summary, "launch");
	else
		buf_printf(&f->summary, "%.1f launches", launches);
	buf_printf(&f->summary, ", %s: the GPU had nothing to do meanwhile for ", f->culprit.text);
	fact_amount(f, &f->summary);
	fact_evidence(f, "launches per wait", launches, "");
	fact_evidence(f, "waits", (double)w->waits, "");
	fact_evidence(f, "mean gap after a wait", (double)r->toll.ns / (double)r->toll.count, "ns");
	fact_evidence(f, "share of the device's idle time",
		      100 * (double)r->toll.ns / (double)g->idle_ns.v[w->at.device], "%");
	fact_fix_code(
		f,
		"Wait once per step: keep results on the device and read them later, all together",
		name_python(c->w, w->at.stack)
			? "loss_sum += loss.detach()  # and once in a while: print(loss_sum.item())"
			: "cudaMemcpyAsync(&result[i], found, bytes, cudaMemcpyDeviceToHost, "
			  "stream); /* one wait behind the last */",
		r->toll.ns / 2, r->toll.ns,
		"the gaps behind the waits; some remain where a result decides what is launched "
		"next");
	w->told = true;
}

const struct tolls_def sync_storm = {
	.kind = "sync-storm",
	.counted = "waits",
	.row = sizeof(struct gpu_wait),
	.most = GPU_CAUSES_MAX,
	.one_lane = true,
	.moment = "the device had nothing to do from the end of a wait to the next call",
	.due = is_due,
	.tell = fill_finding,
};

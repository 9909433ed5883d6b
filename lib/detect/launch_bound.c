/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-bound: the device is done with each of many short kernels before the next has been launched, so that the time
 * of launching is the time of the step. Proven by bursts of launches at whose end the program waits and finds the device
 * already done. The device worked during part of that time, so what is lost is at most it. Not this: few launches,
 * launches that the device does not keep up with, and work of the program between them.
 */
#include <inttypes.h>

#include "lib/base/hash.h"
#include "lib/base/human.h"
#include "lib/detect/gpu_work.h"
#include "lib/account/names.h"

#define MANY_LAUNCHES 16
/* A wait that finds the device done returns so soon. */
#define DONE_NS	   20000
#define DONE_SHARE 0.05
/* Of a burst, so much is launching and not something else. */
#define MOST	  0.8
#define MIN_SHARE 0.02

bool launch_bound_run(struct gpu_work *g, const struct gap_run *run)
{
	uint64_t all = run->wait_ns > run->start_ns ? (uint64_t)(run->wait_ns - run->start_ns) : 0,
		 issue = run->issue_ns > all ? all : run->issue_ns, key, at;
	struct issue_cause fresh = { .device = run->device, .stack = run->stack, .op = run->op };
	struct issue_cause *x;
	bool full;

	if (run->launches < MANY_LAUNCHES || (double)issue < MOST * (double)all ||
	    (run->device_ns > DONE_NS && (double)run->device_ns > DONE_SHARE * (double)all))
		return true;
	key = hash_u64(((uint64_t)run->device << 32 | run->stack) ^ hash_u64(run->op));
	if (!map_get(&g->issue_by, key, &at)) {
		fresh.key = key;
		at = gpu_place(&g->issue, &g->unused_issue, &g->issue_by, fresh, &full);
		if (at == UINT32_MAX)
			return full;
	}
	x = &g->issue.v[at];
	x->launches += run->launches;
	cause_sum_add(g->c, &x->sum,
		      &(struct sum_worst){ .end_ns = run->wait_ns,
					   .dur_ns = all,
					   .lost_ns = issue,
					   .thread = run->issuer,
					   .op = run->op,
					   .event_ns = run->issued_ns,
					   .tiers = TIERS_ALL });
	return true;
}

static int tell(struct gpu_work *g, struct issue_cause *x, struct cause *c, struct err *e)
{
	const struct device *d = gaps_device(g->gaps, x->device);
	double each = (double)x->sum.ns / (double)x->launches;
	struct fact f = { .kind = "launch-bound",
			  .process = d->process,
			  .counted = "bursts",
			  .culprit.kind = "code",
			  .upper_bound = true,
			  .explained = -1,
			  .unexplained = -1,
			  .op = x->op,
			  .nsites = 1 };
	struct buf place = { 0 };
	int rc;

	f.sites[0] = (struct where_place){ .stack = x->stack,
					   .op = x->op,
					   .lost_ns = x->sum.ns,
					   .affected = x->sum.count,
					   .count = x->launches };
	cause_sum_fill(c, &x->sum, &f,
		       "launches that the device was done with before the program waited");
	fact_place(c, &f.sites[0], &place);
	f.identity = f.culprit.text = buf_text(&place);
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " is limited by launching: ");
	fact_number(&f, x->launches, &f.summary);
	buf_printf(&f.summary, " kernels, one each %s, all done when it waited, for ",
		   human_ns((uint64_t)each).s);
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ", first %s", f.culprit.text);
	fact_evidence(&f, "launches", (double)x->launches, "");
	fact_evidence(&f, "launches per burst", (double)x->launches / (double)x->sum.count, "");
	fact_evidence(&f, "launch rate in bursts", 1e9 / each, "/s");
	fact_evidence(&f, "time from one launch to the next", each, "ns");
	fact_fix_code(
		&f, "Launch the step as one CUDA graph, or fuse its kernels",
		name_python(c->w, x->stack) ? "step = torch.compile(step, mode='reduce-overhead')"
					    : "cudaStreamBeginCapture(stream, mode); step(); "
					      "cudaStreamEndCapture(stream, &graph);",
		0, x->sum.ns,
		"from nothing, if the kernels take as long, to all but a few microseconds per "
		"graph");
	rc = fact_tell(c, &f, &x->sum.told, e);
	buf_free(&place);
	fact_free(&f);
	return rc;
}

int launch_bound_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < g->issue.n && rc == 0; i++) {
		struct issue_cause *x = &g->issue.v[i];

		if (cause_sum_due(c, &x->sum, pane, MIN_SHARE))
			rc = tell(g, x, c, e);
	}
	return rc;
}

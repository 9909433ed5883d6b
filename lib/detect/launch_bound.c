/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-bound: the device is done with each of many short kernels before the next has been
 * launched, so that the time of launching is the time of the step. Proven by bursts of launches at
 * whose end the program waits and finds the device already done. The device worked during part of
 * that time, so what is lost is at most it. Not this: few launches, launches that the device does
 * not keep up with, and work of the program between them.
 */
#include "lib/base/fmt.h"
#include "lib/detect/gpu_work_internal.h"
#include "lib/account/loss_background.h"
#include "lib/account/names.h"

#define MANY_LAUNCHES 16
/* A wait that finds the device done returns so soon. */
#define DONE_NS	   20000
#define DONE_SHARE 0.05
/* Of a burst, so much is launching and not something else. */
#define MOST	  0.8
#define MIN_SHARE 0.02

struct issue {
	struct gpu_place at;
	uint64_t launches;
};

bool launch_bound_run(struct gpu_work *g, const struct gap_run *run)
{
	uint64_t all = run->wait_ns > run->start_ns ? (uint64_t)(run->wait_ns - run->start_ns) : 0,
		 issue = run->issue_ns > all ? all : run->issue_ns;
	struct gpu_place place = { .device = run->device, .stack = run->stack, .op = run->op };
	struct issue *x;
	bool nomem;

	if (run->launches < MANY_LAUNCHES || (double)issue < MOST * (double)all ||
	    (run->device_ns > DONE_NS && (double)run->device_ns > DONE_SHARE * (double)all))
		return true;
	x = gpu_place_of(g, &g->issue, place, run->stack, &nomem);
	if (!x)
		return !nomem;
	x->launches += run->launches;
	return toll_add_moment(g->c, &x->at.row.toll,
			       &(struct fact_moment){ .end_ns = run->wait_ns,
						      .dur_ns = all,
						      .lost_ns = issue,
						      .thread = run->issuer,
						      .op = run->op,
						      .event_ns = run->issued_ns },
			       TIERS_ALL);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct issue *x = (struct issue *)r;
	double each = (double)r->toll.ns / (double)x->launches;
	bool paced = loss_paced_ns(&c->lost_time, f->process) >= r->toll.ns;

	f->upper_bound = true;
	f->share = toll_share(c, &r->toll);
	f->identity = gpu_place_blame(c, &x->at, f, r->toll.count, x->launches);
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " is limited by launching: ");
	fact_number(f, x->launches, &f->summary);
	buf_printf(&f->summary, " kernels, one each %s, all done when it waited, for ",
		   fmt_ns((uint64_t)each).s);
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", first %s", f->culprit.text);
	if (paced) {
		buf_puts(&f->summary, "; it keeps a pace, and has the time");
		f->severity = 1;
		f->gain = FACT_GAIN_NOTHING;
	}
	fact_evidence(f, "launches", (double)x->launches, "");
	fact_evidence(f, "launches per burst", (double)x->launches / (double)r->toll.count, "");
	fact_evidence(f, "launch rate in bursts", 1e9 / each, "/s");
	fact_evidence(f, "time from one launch to the next", each, "ns");
	fact_fix_code(f, "Launch the step as one CUDA graph, or fuse its kernels",
		      name_python(c->w, x->at.stack)
			      ? "step = torch.compile(step, mode='reduce-overhead')"
			      : "cudaStreamBeginCapture(stream, mode); step(); "
				"cudaStreamEndCapture(stream, &graph);",
		      0, paced ? 0 : r->toll.ns,
		      "from nothing, if the kernels take as long, to all but a few microseconds "
		      "per graph");
}

const struct tolls_def launch_bound = {
	.kind = "launch-bound",
	.counted = "bursts",
	.row = sizeof(struct issue),
	.most = GPU_CAUSES_MAX,
	.one_lane = true,
	.min_share = MIN_SHARE,
	.moment = "launches that the device was done with before the program waited",
	.tell = fill_finding,
};

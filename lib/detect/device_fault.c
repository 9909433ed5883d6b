/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detector for device-fault: XIDs, memory errors that could not be corrected, and a PCIe link with
 * fewer lanes than both sides have, each as the driver states it. A slower link generation is no
 * fault while the device is idle: links save power then.
 */
#include <stdio.h>

#include "lib/detect/detect_internal.h"
#include "lib/account/fact.h"

#define BUSY_PERCENT  10.0
#define XIDS	      8 /* different ones kept of a device */
#define SAMPLES_LEAST 3 /* a link is only called slow when it is seen so often with work */

/* What NVIDIA's list of XIDs says of those that are met. */
static const struct {
	unsigned xid;
	enum { XID_DEVICE, XID_APP, XID_BEHIND, XID_REMAP } means;
	const char *what;
} xids[] = {
	{ 13, XID_APP,
	  "graphics engine exception: often a kernel that reads or writes out of bounds" },
	{ 31, XID_APP, "memory page fault: often a kernel that uses memory that is not its own" },
	{ 43, XID_APP, "the device stopped processing: a fault of the program" },
	{ 45, XID_BEHIND, "work removed: the program ended, or another error came first" },
	{ 48, XID_DEVICE, "a memory error of two bits that could not be corrected" },
	{ 61, XID_DEVICE, "internal error of the device's microcontroller" },
	{ 62, XID_DEVICE, "internal error of the device's microcontroller" },
	{ 63, XID_REMAP, "a page or row of its memory is to be retired or remapped" },
	{ 64, XID_DEVICE, "a page or row of its memory could not be retired or remapped" },
	{ 74, XID_DEVICE, "NVLink error" },
	{ 79, XID_DEVICE, "the device has fallen off the bus" },
	{ 92, XID_DEVICE, "many memory errors of one bit" },
	{ 94, XID_DEVICE, "a memory error, contained to the program that met it" },
	{ 95, XID_DEVICE, "a memory error that could not be contained" },
	{ 119, XID_DEVICE, "its system processor does not answer" },
	{ 120, XID_DEVICE, "its system processor reports an error" },
};

/* By what they mean. XID_APP: what programs do wrong shows this way, too. XID_BEHIND: says of
 * itself nothing. */
static const struct {
	uint32_t severity;
	const char *fix, *command;
} advice[] = {
	[XID_DEVICE] = { 3, "Take the device out of use and have it looked at",
			 "dmesg | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER" },
	[XID_APP] = { 3, "Look for a kernel that uses memory that is not its own",
		      "compute-sanitizer --tool memcheck COMMAND" },
	[XID_BEHIND] = { 1, "Look for what came first: another XID, or that the program was killed",
			 "sudo dmesg -T | grep -iE 'xid|killed process'" },
	[XID_REMAP] = { 2, "Reset the device when it has no work: that makes it take effect",
			"nvidia-smi -q -d PAGE_RETIREMENT,ROW_REMAPPER" },
};

struct xid_seen {
	unsigned xid;
	uint64_t count;
	int64_t first_ns, last_ns;
	struct fact_told told;
};

struct fault_gpu {
	bool seen;
	struct xid_seen xid[XIDS];
	unsigned nxids;
	double busy, width, width_max, gen, gen_max; /* width, gen: the latest that were too low */
	uint64_t narrow, slow;			     /* samples with work */
	double ecc_first, ecc_last;
	uint64_t ecc_n;
	int64_t narrow_ns[2], slow_ns[2], ecc_ns; /* the first and the last */
	struct fact_told ecc_told, width_told, gen_told;
};

struct faults {
	VEC(struct fault_gpu) v; /* by world id */
};

static void add_xid(struct fault_gpu *g, unsigned number, int64_t time_ns)
{
	unsigned i = 0;

	while (i < g->nxids && g->xid[i].xid != number)
		i++;
	if (i == XIDS)
		return;
	if (i == g->nxids)
		g->xid[g->nxids++] = (struct xid_seen){ .xid = number, .first_ns = time_ns };
	g->xid[i].count++;
	g->xid[i].last_ns = time_ns;
}

/* With work, a link that is not what it could be. */
static void link_low(const struct fault_gpu *g, const struct rec_SAMPLE *v, double most,
		     double *low, uint64_t *n, int64_t ns[2])
{
	if (g->busy < BUSY_PERCENT || v->value <= 0 || v->value >= most)
		return;
	*low = v->value;
	ns[(*n)++ > 0] = v->time_ns;
	ns[1] = v->time_ns;
}

static bool on_record(void *state, struct cause *c, const struct record *r)
{
	struct faults *s = state;
	const struct rec_SAMPLE *v = &r->u.SAMPLE;
	struct fault_gpu *g;

	if (r->kind != RECORD_SAMPLE || !REC_HAS(r, SAMPLE, gpu) || v->gpu > UINT16_MAX)
		return true;
	if (!vec_reach(&s->v, v->gpu))
		return false;
	g = &s->v.v[v->gpu];
	g->seen = true;
	switch (v->metric) {
	case METRIC_GPU_XID:
		add_xid(g, (unsigned)v->value, v->time_ns);
		break;
	case METRIC_GPU_BUSY:
		if (!REC_HAS(r, SAMPLE, process))
			g->busy = v->value;
		break;
	case METRIC_GPU_PCIE_WIDTH_MAX:
		g->width_max = v->value;
		break;
	case METRIC_GPU_PCIE_GEN_MAX:
		g->gen_max = v->value;
		break;
	case METRIC_GPU_PCIE_WIDTH:
		link_low(g, v, g->width_max, &g->width, &g->narrow, g->narrow_ns);
		break;
	case METRIC_GPU_PCIE_GEN:
		link_low(g, v, g->gen_max, &g->gen, &g->slow, g->slow_ns);
		break;
	case METRIC_GPU_ECC_UNCORRECTED:
		if (g->ecc_n++ == 0)
			g->ecc_first = v->value;
		if (v->value > g->ecc_last && v->value > g->ecc_first)
			g->ecc_ns = v->time_ns;
		g->ecc_last = v->value;
		break;
	default:
		break;
	}
	return true;
}

struct fault {
	const char *what, *text, *fix, *command;
	uint64_t count;
	int64_t first_ns, last_ns;
	uint32_t severity;
};

static int report_finding(struct cause *c, uint32_t gpu, const struct fault *k,
			  struct fact_told *told, struct err *e)
{
	struct fact f = { .kind = "device-fault",
			  .first_ns = k->first_ns,
			  .last_ns = k->last_ns,
			  .count = k->count,
			  .counted = "times",
			  .severity = k->severity };

	if (!c->ended && told->revision && told->count == k->count)
		return 0;
	fact_blame_gpu(c, &f, gpu, k->what);
	buf_printf(&f.summary, "%s: %s: %s", f.culprit.text, k->what, k->text);
	f.moments[f.nmoments++] = (struct fact_moment){ .end_ns = k->first_ns, .text = k->what };
	fact_fix(&f, k->fix, k->command, 0, 0, "the time that is lost is not known from here");
	return fact_tell(c, &f, told, e);
}

static int report_xid(struct cause *c, uint32_t gpu, struct xid_seen *x, struct err *e)
{
	char what[24];
	struct fault k = { .what = what,
			   .text = "NVIDIA's list of XIDs says what it means",
			   .count = x->count,
			   .first_ns = x->first_ns,
			   .last_ns = x->last_ns };
	unsigned means = XID_DEVICE;

	snprintf(what, sizeof(what), "XID %u", x->xid);
	for (unsigned i = 0; i < sizeof(xids) / sizeof(xids[0]); i++) {
		if (xids[i].xid != x->xid)
			continue;
		k.text = xids[i].what;
		means = xids[i].means;
	}
	k.severity = advice[means].severity;
	k.fix = advice[means].fix;
	k.command = advice[means].command;
	return report_finding(c, gpu, &k, &x->told, e);
}

/* That its link has fewer lanes than it could have, or that they are slower. */
static int report_link(struct fault_gpu *g, struct cause *c, uint32_t gpu, bool slow, struct err *e)
{
	const int64_t *ns = slow ? g->slow_ns : g->narrow_ns;
	struct fault k = { .command = "lspci -vv | grep -E 'NVIDIA|LnkSta:'",
			   .count = slow ? g->slow : g->narrow,
			   .first_ns = ns[0],
			   .last_ns = ns[1],
			   .severity = slow ? 1 : 2 };
	char text[64];

	if (!c->ended || k.count < SAMPLES_LEAST)
		return 0;
	if (slow)
		snprintf(text, sizeof(text), "generation %.0f of %.0f, with work", g->gen,
			 g->gen_max);
	else
		snprintf(text, sizeof(text), "%.0f of %.0f lanes", g->width, g->width_max);
	k.text = text;
	k.what = slow ? "its PCIe link is slower than it could be"
		      : "its PCIe link has lost lanes";
	k.fix = slow ? "Look at the slot, the riser and the BIOS's settings of the link"
		     : "Seat the card, the riser and its slot anew, or use another slot";
	return report_finding(c, gpu, &k, slow ? &g->gen_told : &g->width_told, e);
}

static int flush_gpu(struct fault_gpu *g, struct cause *c, uint32_t gpu, struct err *e)
{
	struct fault k = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < g->nxids && rc == 0; i++)
		rc = report_xid(c, gpu, &g->xid[i], e);
	if (rc == 0 && g->ecc_n > 1 && g->ecc_last > g->ecc_first) {
		k = (struct fault){ .what = "memory errors that could not be corrected",
				    .text = "results may be wrong, and programs that meet them end",
				    .fix = "Take the device out of use and reset it",
				    .command = "nvidia-smi -q -d ECC,ROW_REMAPPER",
				    .count = (uint64_t)(g->ecc_last - g->ecc_first),
				    .first_ns = g->ecc_ns,
				    .last_ns = g->ecc_ns,
				    .severity = 3 };
		rc = report_finding(c, gpu, &k, &g->ecc_told, e);
	}
	for (unsigned i = 0; i < 2 && rc == 0; i++)
		rc = report_link(g, c, gpu, i, e);
	return rc;
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct faults *s = state;
	int rc = 0;

	for (uint32_t i = 0; i < s->v.n && rc == 0; i++)
		if (s->v.v[i].seen)
			rc = flush_gpu(&s->v.v[i], c, i, e);
	return rc;
}

static void free_state(void *state)
{
	vec_free(&((struct faults *)state)->v);
}

const struct detector detector_device_fault = {
	.size = sizeof(struct faults),
	.on_record = on_record,
	.flush_window = flush_window,
	.free = free_state,
};

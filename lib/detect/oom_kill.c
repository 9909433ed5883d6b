/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom-kill: the kernel chose a process to die for want of memory. A fact of its own: the kernel
 * said so. Told once per process that died, with who asked for the memory and what was known of the
 * machine's and the cgroup's memory then. Whose it was that ran out is not in what the kernel says:
 * a cgroup's whose limit was hit, unless the machine had little left, too.
 */
#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define KILLS_MAX 4096
#define LITTLE	  0.1 /* of the machine's memory: it may have been that */

struct kill {
	struct toll_row row; /* its toll has no time, only when it was */
	uint32_t trigger, cgroup;
	double available, used, swap; /* bytes; below 0: not sampled before */
};

static unsigned subscribe_op(const struct op_def *op)
{
	return op && op->id == OP_PROC_OOM ? SUBSCRIBE_EVENTS : 0;
}

static double latest_metric(const struct cause *c, uint32_t node, enum metric_id metric)
{
	const struct cause_metric *m = cause_nodes_metric(&c->nodes, node, metric);

	return m->n ? m->last : -1;
}

static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	uint32_t process = world_ctx_process_id(c->w, ev->ctx);
	uint64_t trigger = 0;
	struct kill *k;
	bool nomem;

	if (!process)
		return true;
	k = tolls_row(state, process, 0, &nomem);
	if (!k || k->row.toll.count) /* two recorders report it */
		return k || !nomem;
	event_get(ev, op, COL_TRIGGER, &trigger);
	toll_count(&k->row.toll, &(struct fact_moment){ .end_ns = ev->end_ns,
							.thread = ctx->thread,
							.op = ev->op,
							.text = "chosen to die" });
	k->cgroup = ctx->cgroup;
	k->trigger = (uint32_t)trigger;
	k->available = latest_metric(c, ctx->node, METRIC_MEM_AVAILABLE);
	k->used = latest_metric(c, ctx->node, METRIC_MEM_USED);
	k->swap = latest_metric(c, ctx->node, METRIC_SWAP_USED);
	return true;
}

/* The machine had so little left that it may have been that. */
static bool is_memory_low(const struct kill *k)
{
	return k->available >= 0 && k->used >= 0 &&
	       k->available < LITTLE * (k->available + k->used);
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	*share = 0;
	return c->ended || r->toll.told.revision == 0;
}

/* Who asked for the memory. */
static void print_trigger(const struct cause *c, const struct world_thread *by, struct fact *f)
{
	const struct world_process *p = world_get_process(c->w, by->process);
	struct bytes comm = world_text(c->w, by->comm);

	f->culprit.kind = "process";
	f->culprit.pid = p ? p->tgid : by->tid;
	f->culprit.text =
		details_print(&f->found, "%.*s (tid %" PRIu32 ")", (int)comm.n, comm.p, by->tid);
	buf_printf(&f->summary, ", asked for by %s", f->culprit.text);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct kill *k = (struct kill *)r;
	/* The event says in which cgroup the thread is, samples in which of them its memory counts.
	 */
	uint32_t of = cause_cgroups_limit(&c->cgroups, r->process, k->cgroup);
	const struct cause_cgroup *g = cause_cgroup(&c->cgroups, of);
	const struct world_thread *by = world_get_thread(c->w, k->trigger);
	struct bytes path = world_cgroup_path(c->w, of);
	bool hit = g && g->limit > 0 && cause_counted(&g->limit_hits) > 0,
	     limit = hit && !is_memory_low(k);
	const char *cgroup = details_print(&f->found, "%.*s", (int)path.n, path.p ? path.p : "");
	struct buf command = { 0 };

	f->severity = FINDING_HIGH; /* work stopped */
	f->culprit.kind = "none";
	f->culprit.text = hit ? "host memory" : "the machine's memory";
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " was killed by the kernel for want of memory");
	if (by)
		print_trigger(c, by, f);
	if (limit) {
		buf_printf(&f->summary, ": the limit of cgroup %s, %s, was reached", cgroup,
			   fmt_bytes((uint64_t)g->limit).s);
		f->culprit.kind = "cgroup";
		f->culprit.text = f->culprit.cgroup = cgroup;
	}
	if (hit && !limit)
		buf_printf(&f->summary,
			   ": for want of the machine's, of which %s was left, or at the limit of "
			   "cgroup %s, %s, which was reached, too: the recording does not say",
			   fmt_bytes((uint64_t)k->available).s, cgroup,
			   fmt_bytes((uint64_t)g->limit).s);
	if (g && g->limit > 0)
		fact_evidence(f, "limit of its cgroup", g->limit, "B");
	if (g)
		fact_evidence(f, "most memory of its cgroup, as sampled", g->used_max, "B");
	if (k->available >= 0)
		fact_evidence(f, "memory available on the machine before", k->available, "B");
	if (k->swap >= 0)
		fact_evidence(f, "swap in use before", k->swap, "B");
	buf_puts(&command, "cat ");
	name_cgroup_file(&command, path,
			 name_cgroup_v1(path) ? "memory.oom_control" : "memory.events");
	fact_fix(f,
		 limit ? "Raise the limit, or use less: fewer loader workers, less prefetch"
		       : "Use less host memory: fewer loader workers, less prefetch, no copies of "
			 "the data set per worker",
		 limit ? buf_text(&command) : "free -h; ps -eo pid,rss,comm --sort=-rss | head", 0,
		 0, "the process lives on when its memory fits");
	buf_free(&command);
}

static const struct tolls_def oom_kill = { .kind = "oom-kill",
					   .counted = "kills",
					   .row = sizeof(struct kill),
					   .most = KILLS_MAX,
					   .due = is_due,
					   .tell = fill_finding };

const struct detector detector_oom_kill = {
	.size = sizeof(struct tolls),
	.tolls = { &oom_kill },
	.subscribe_op = subscribe_op,
	.on_event = on_event,
};

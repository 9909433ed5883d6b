/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom-kill: the kernel chose a process to die for want of memory. A fact of its own: the kernel said so. Told once per
 * process that died, with who asked for the memory and what was known of the machine's and the cgroup's memory then. Whose
 * it was that ran out is not in what the kernel says: a cgroup's whose limit was hit, unless the machine had little left, too.
 */
#include <inttypes.h>

#include "lib/base/human.h"
#include "lib/detect/watches.h"
#include "lib/account/fact.h"
#include "lib/account/names.h"

#define KILLS_MAX 4096
#define LITTLE	  0.1 /* of the machine's memory: it may have been that */

struct kill {
	uint32_t process, thread, trigger, cgroup;
	int64_t time_ns;
	double available, used, swap; /* bytes; below 0: not sampled before */
	struct fact_told told;
};

struct kills {
	VEC(struct kill) v;
};

static unsigned wants(const struct op_def *op)
{
	return op && op->id == OP_PROC_OOM ? WATCH_EVENT : 0;
}

static double latest(const struct cause *c, uint32_t node, enum metric_id metric)
{
	const struct cause_metric *m = cause_nodes_metric(&c->nodes, node, metric);

	return m->n ? m->last : -1;
}

static bool event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	struct kills *s = state;
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	const struct world_image *im = ctx ? world_get_image(c->w, ctx->image) : NULL;
	const struct world_thread *th = ctx ? world_get_thread(c->w, ctx->thread) : NULL;
	struct kill k = { .time_ns = ev->end_ns };
	uint64_t trigger = 0;

	if (!ctx || s->v.n >= KILLS_MAX)
		return true;
	k.process = im ? im->process : th ? th->process : 0;
	for (size_t i = 0; i < s->v.n; i++) {
		if (s->v.v[i].process == k.process) /* two recorders tell of it */
			return true;
	}
	k.thread = ctx->thread;
	k.cgroup = ctx->cgroup;
	if (event_get(ev, op, COL_TRIGGER, &trigger))
		k.trigger = (uint32_t)trigger;
	k.available = latest(c, ctx->node, METRIC_MEM_AVAILABLE);
	k.used = latest(c, ctx->node, METRIC_MEM_USED);
	k.swap = latest(c, ctx->node, METRIC_SWAP_USED);
	return vec_push(&s->v, k);
}

/* The machine had so little left that it may have been that. */
static bool little(const struct kill *k)
{
	return k->available >= 0 && k->used >= 0 &&
	       k->available < LITTLE * (k->available + k->used);
}

static int tell(struct cause *c, struct kill *k, struct err *e)
{
	/* The event says in which cgroup the thread is, samples in which of them its memory counts. */
	uint32_t of = cause_cgroups_limit(&c->cgroups, k->process, k->cgroup);
	const struct cause_cgroup *g = cause_cgroup(&c->cgroups, of);
	const struct world_cgroup *cg = world_get_cgroup(c->w, of);
	const struct world_thread *by = world_get_thread(c->w, k->trigger);
	struct bytes path = cg ? world_text(c->w, cg->path) : (struct bytes){ 0 };
	bool hit = g && g->limit > 0 && cause_counted(&g->limit_hits) > 0,
	     limit = hit && !little(k);
	struct buf who = { 0 }, cgroup = { 0 }, command = { 0 };
	struct fact f = { .kind = "oom-kill",
			  .process = k->process,
			  .first_ns = k->time_ns,
			  .last_ns = k->time_ns,
			  .count = 1,
			  .counted = "kills",
			  .severity = 3, /* work stopped */
			  .explained = -1,
			  .unexplained = -1 };
	int rc;

	buf_add(&cgroup, path.p ? path.p : "", path.n);
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, " was killed by the kernel for want of memory");
	if (by) {
		const struct world_process *p = world_get_process(c->w, by->process);
		struct bytes comm = world_text(c->w, by->comm);

		buf_printf(&who, "%.*s (tid %" PRIu32 ")", (int)comm.n, comm.p, by->tid);
		f.culprit.pid = p ? p->tgid : by->tid;
		buf_printf(&f.summary, ", asked for by %s", buf_text(&who));
	}
	if (limit) {
		buf_printf(&f.summary, ": the limit of cgroup %s, %s, was reached",
			   buf_text(&cgroup), human_bytes((uint64_t)g->limit).s);
		f.culprit.kind = "cgroup";
		f.culprit.text = f.culprit.cgroup = buf_text(&cgroup);
	} else {
		f.culprit.kind = by ? "process" : "none";
		f.culprit.text = by ? buf_text(&who) : hit ? "host memory" : "the machine's memory";
	}
	if (hit && !limit)
		buf_printf(&f.summary,
			   ": for want of the machine's, of which %s was left, or at the limit of "
			   "cgroup %s, %s, which was reached, too: the recording does not say",
			   human_bytes((uint64_t)k->available).s, buf_text(&cgroup),
			   human_bytes((uint64_t)g->limit).s);
	if (g && g->limit > 0)
		fact_evidence(&f, "limit of its cgroup", g->limit, "B");
	if (g)
		fact_evidence(&f, "most memory of its cgroup, as sampled", g->used_max, "B");
	if (k->available >= 0)
		fact_evidence(&f, "memory available on the machine before", k->available, "B");
	if (k->swap >= 0)
		fact_evidence(&f, "swap in use before", k->swap, "B");
	f.moments[f.nmoments++] = (struct fact_moment){ .end_ns = k->time_ns,
							.thread = k->thread,
							.op = OP_PROC_OOM,
							.text = "chosen to die" };
	buf_puts(&command, "cat ");
	name_cgroup_file(&command, path,
			 name_cgroup_v1(path) ? "memory.oom_control" : "memory.events");
	fact_fix(&f,
		 limit ? "Raise the limit, or use less: fewer loader workers, less prefetch"
		       : "Use less host memory: fewer loader workers, less prefetch, no copies of "
			 "the data set per worker",
		 limit ? buf_text(&command) : "free -h; ps -eo pid,rss,comm --sort=-rss | head", 0,
		 0, "the process lives on when its memory fits");
	rc = fact_tell(c, &f, &k->told, e);
	fact_free(&f);
	buf_free(&who);
	buf_free(&cgroup);
	buf_free(&command);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct kills *s = state;
	int rc = 0;

	(void)pane;
	for (size_t i = 0; i < s->v.n && rc == 0; i++) {
		if (s->v.v[i].process && (c->ended || s->v.v[i].told.revision == 0))
			rc = tell(c, &s->v.v[i], e);
	}
	return rc;
}

static void end(void *state)
{
	vec_free(&((struct kills *)state)->v);
}

const struct watch_def watch_oom_kill = {
	.name = "oom-kill",
	.size = sizeof(struct kills),
	.wants = wants,
	.event = event,
	.settle = settle,
	.free = end,
};

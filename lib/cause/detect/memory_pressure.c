/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory-pressure: threads had to find memory themselves. Proven by the kernel's own marks: direct reclaim, compaction,
 * and major faults on memory that had been swapped out. Faults that read a mapped file are a disk-stall: what they
 * wait for is the file, and more memory need not help. Where one is within another, each nanosecond counts once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/human.h"
#include "lib/base/shell.h"
#include "lib/cause/detect/watches.h"
#include "lib/cause/names.h"
#include "lib/cause/tolls.h"

#define NESTED_MAX 8 /* sections of a thread that may lie in one to come */
#define PAGE_BYTES 4096.0

enum section { RECLAIM, COMPACT, SWAP_IN, FILE_READ, SECTIONS };

struct process_memory {
	struct toll_row row; /* of: 1 of FILE_READ, 0 of all others together */
	uint32_t cgroup;
	uint64_t ns[SECTIONS], n[SECTIONS], pages;
	uint64_t file_id, file_ns; /* read most */
};

struct span {
	int64_t start_ns, end_ns;
};

struct thread_spans {
	struct span v[NESTED_MAX];
	unsigned n;
	/* Where it slept longest in the fault to come: the kernel tells of a fault when it is over, without a stack. */
	uint32_t stack;
	int64_t slept_at_ns;
	uint64_t slept_ns;
};

struct pressure {
	struct tolls tolls;
	VEC(struct thread_spans) threads; /* by world id */
};

static const struct tolls_def pressing;

static unsigned wants(const struct op_def *op)
{
	if (op && op->id == OP_SCHED_OFFCPU)
		return WATCH_OFFCPU;
	return op && (op->id == OP_MEM_RECLAIM || op->id == OP_MEM_COMPACT ||
		      op->id == OP_MEM_FAULT)
		       ? WATCH_EVENT
		       : 0;
}

/* NULL: out of memory. */
static struct thread_spans *spans_of(struct pressure *s, uint32_t thread)
{
	while (s->threads.n <= thread) {
		if (!vec_push(&s->threads, (struct thread_spans){ 0 }))
			return NULL;
	}
	return &s->threads.v[thread];
}

static bool piece(void *state, struct cause *c, const struct line_piece *p)
{
	uint64_t ns = parts_get(p->parts, PART_FAULT);
	struct thread_spans *t;

	(void)c;
	if (ns == 0 || p->ev->stack == 0)
		return true;
	t = spans_of(state, p->thread);
	if (!t)
		return false;
	if (ns > t->slept_ns) {
		t->stack = p->ev->stack;
		t->slept_at_ns = p->start_ns;
		t->slept_ns = ns;
	}
	return true;
}

/* The stack of a section; of a fault the one in which it slept, 0 not known. */
static uint32_t stack_of(struct thread_spans *t, const struct event *ev)
{
	uint32_t stack = ev->stack;

	if (ev->op != OP_MEM_FAULT)
		return stack;
	if (!stack && t->slept_ns && t->slept_at_ns >= event_start(ev))
		stack = t->stack;
	t->slept_ns = 0;
	return stack;
}

/* What of this section no section inside it has already been told to take. */
static uint64_t own_ns(struct thread_spans *t, const struct event *ev)
{
	int64_t start = event_start(ev);
	uint64_t ns = ev->dur_ns;

	while (t->n && t->v[t->n - 1].start_ns >= start) {
		const struct span *in = &t->v[--t->n];
		uint64_t inner = (uint64_t)(in->end_ns - in->start_ns);

		ns -= inner < ns ? inner : ns;
	}
	if (t->n == NESTED_MAX) { /* the oldest lies behind everything that is still to come */
		for (unsigned i = 1; i < NESTED_MAX; i++)
			t->v[i - 1] = t->v[i];
		t->n--;
	}
	t->v[t->n++] = (struct span){ start, ev->end_ns };
	return ns;
}

static bool event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	struct pressure *s = state;
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	const struct world_thread *th = ctx ? world_get_thread(c->w, ctx->thread) : NULL;
	uint64_t file = 0, pages = 0, ns;
	struct thread_spans *spans;
	struct process_memory *m;
	enum section section;

	if (!th)
		return true;
	section = ev->op == OP_MEM_RECLAIM		       ? RECLAIM
		  : ev->op == OP_MEM_COMPACT		       ? COMPACT
		  : event_get(ev, op, COL_FILE, &file) && file ? FILE_READ
							       : SWAP_IN;
	spans = spans_of(s, ctx->thread);
	if (!spans)
		return false;
	ns = own_ns(spans, ev);
	m = tolls_row(&s->tolls, &pressing, th->process, section == FILE_READ, NULL);
	if (!m)
		return false;
	if (ctx->cgroup)
		m->cgroup = ctx->cgroup;
	m->ns[section] += ns;
	m->n[section]++;
	if (event_get(ev, op, COL_PAGES, &pages))
		m->pages += pages;
	if (section == FILE_READ && ns > m->file_ns) {
		m->file_id = file;
		m->file_ns = ns;
	}
	return where_add(&s->tolls.where, m->row.at, 0, stack_of(spans, ev), ns, ev->dur_ns) &&
	       toll_add(c, &m->row.toll, ctx->thread, ev->op, event_start(ev), ev->end_ns, ns);
}

static void grown(struct fact *f, const struct cause *c, enum metric_id metric, const char *what,
		  double scale, const char *unit)
{
	const struct world_process *p = world_get_process(c->w, f->process);
	const struct cause_metric *m = cause_nodes_metric(&c->nodes, p ? p->node : 0, metric);

	if (m->n > 1 && m->last > m->first)
		fact_evidence(f, what, (m->last - m->first) * scale, unit);
}

/* The events say in which cgroup a thread is, samples in which of them its memory counts. */
static uint32_t limit_of(const struct cause *c, const struct process_memory *m)
{
	return cause_cgroups_limit(&c->cgroups, m->row.process, m->cgroup);
}

/* " in lookup (data.py:31)" */
static void place(struct fact *f, const struct cause *c)
{
	for (unsigned i = 0; i < f->nsites; i++) {
		uint32_t frame = name_site_frame(c->w, f->sites[i].stack);

		if (!frame)
			continue; /* too short for its stack to be told */
		buf_puts(&f->summary, " in ");
		name_frame(&f->summary, c->w, frame);
		return;
	}
}

static void pressure_text(struct fact *f, const struct cause *c, const struct process_memory *m)
{
	static const char *const what[] = { [RECLAIM] = "reclaiming memory for itself",
					    [COMPACT] = "compacting memory for itself",
					    [SWAP_IN] = "reading back what was swapped out" };
	uint32_t cgroup = limit_of(c, m);
	const struct cause_cgroup *g = cause_cgroup(&c->cgroups, cgroup);
	const struct world_cgroup *cg = world_get_cgroup(c->w, cgroup);
	struct bytes path = cg ? world_text(c->w, cg->path) : (struct bytes){ 0 };
	bool limited = g && g->limit > 0 && cause_counted(&g->limit_hits) > 0;
	double high = g && !limited ? cause_counted(&g->high_hits) : 0;
	struct buf command = { 0 };
	unsigned most = RECLAIM;

	for (unsigned i = 0; i < FILE_READ; i++)
		most = m->ns[i] > m->ns[most] ? i : most;
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " lost ");
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, " for want of memory, mostly %s", what[most]);
	place(f, c);
	for (unsigned i = 0; i < FILE_READ; i++) {
		if (m->n[i])
			fact_evidence(f, what[i], (double)m->ns[i], "ns");
	}
	if (m->pages)
		fact_evidence(f, "memory it reclaimed", (double)m->pages * PAGE_BYTES, "B");
	if (g) {
		fact_evidence(f, "most memory of its cgroup", g->used_max, "B");
		if (g->limit > 0)
			fact_evidence(f, "limit of its cgroup", g->limit, "B");
		fact_evidence(f, "times its cgroup was at its limit", cause_counted(&g->limit_hits),
			      "");
	}
	grown(f, c, METRIC_PSI_MEM_SOME, "time in which tasks of the machine waited for memory",
	      1e3, "ns");
	grown(f, c, METRIC_VM_SWAP_IN, "pages swapped in on the machine", 1, "");
	if (limited) {
		buf_printf(&f->summary, ": its cgroup %.*s is at its limit of %s", (int)path.n,
			   path.p ? path.p : "", human_bytes((uint64_t)g->limit).s);
		f->culprit.kind = "cgroup";
		buf_printf(&command, "echo %.0f | sudo tee ", g->limit * 1.5);
		name_cgroup_file(&command, path,
				 name_cgroup_v1(path) ? "memory.limit_in_bytes" : "memory.max");
		fact_fix(f, "Give its cgroup (container, pod) more memory", buf_text(&command), 0,
			 f->lost_ns, "all of it, if what it touches fits then");
	} else if (high > 0) {
		buf_printf(&f->summary,
			   ": its cgroup %.*s was held back at its memory.high %.0f times",
			   (int)path.n, path.p ? path.p : "", high);
		f->culprit.kind = "cgroup";
		if (g->used_max > 0)
			buf_printf(&command, "echo %.0f | sudo tee ", g->used_max * 1.5);
		else
			buf_puts(&command, "echo max | sudo tee ");
		name_cgroup_file(&command, path, "memory.high");
		fact_fix(f,
			 "Let its cgroup (container, pod) use more memory before it is held back",
			 buf_text(&command), 0, f->lost_ns,
			 "all of it, if what it touches fits then");
	} else {
		fact_fix(f,
			 "Use less memory at once: fewer loader workers, smaller batches or "
			 "prefetch, "
			 "or a machine with more",
			 "ps -eo pid,rss,comm --sort=-rss | head", 0, f->lost_ns,
			 "all of it, if what is in use fits then");
	}
	buf_free(&command);
}

static void file_text(struct fact *f, const struct cause *c, const struct process_memory *m)
{
	const char *name = cause_files_name(&c->files, m->file_id), *end = name;
	struct buf command = { 0 };

	/* The path, without what stands behind it in brackets. */
	for (const char *at = name; at && (at = strstr(at, " (")); at++)
		end = at;
	fact_victim(f, c, &f->summary);
	buf_puts(&f->summary, " waited ");
	fact_amount(f, &f->summary);
	buf_puts(&f->summary, " for pages of mapped files to be read");
	place(f, c);
	buf_printf(&f->summary, "%s%s", name ? ", longest for " : "", name ? name : "");
	buf_puts(&command, "vmtouch -t ");
	if (name)
		shell_word(&command, (struct bytes){ name, (size_t)(end - name) });
	else
		buf_puts(&command, "FILE");
	fact_fix(f, "Read the file ahead before it is used, or copy it to memory or a faster disk",
		 buf_text(&command), 0, f->lost_ns,
		 "from nothing, if it must be read first, to all of the wait");
	buf_free(&command);
}

static void tell(void *state, const struct cause *c, struct toll_row *r, struct telling *t)
{
	const struct process_memory *m = (struct process_memory *)r;
	const struct world_cgroup *cg = world_get_cgroup(c->w, limit_of(c, m));
	struct bytes path = cg ? world_text(c->w, cg->path) : (struct bytes){ 0 };
	const char *name = r->of ? cause_files_name(&c->files, m->file_id) : NULL;
	struct fact *f = &t->f;

	(void)state;
	f->culprit.kind = "none";
	if (r->of) {
		f->kind = "disk-stall";
		f->identity = "mapped files";
		f->counted = "page faults";
		file_text(f, c, m);
	} else {
		pressure_text(f, c, m);
	}
	if (f->culprit.kind[0] == 'c') {
		buf_add(&t->who, path.p ? path.p : "", path.n);
		f->culprit.cgroup = f->culprit.text = buf_text(&t->who);
	} else {
		f->culprit.text = name ? name : r->of ? "a mapped file" : "the machine's memory";
	}
}

static const struct tolls_def pressing = { .kind = "memory-pressure",
					   .counted = "times",
					   .row = sizeof(struct process_memory),
					   .tell = tell };

static void end(void *state)
{
	vec_free(&((struct pressure *)state)->threads);
	tolls_free(state);
}

const struct watch_def watch_memory_pressure = {
	.name = "memory-pressure",
	.size = sizeof(struct pressure),
	.wants = wants,
	.event = event,
	.offcpu = piece,
	.settle = tolls_settle,
	.forget = tolls_forget,
	.free = end,
};

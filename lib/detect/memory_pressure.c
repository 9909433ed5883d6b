/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory-pressure: threads had to find memory themselves. Proven by the kernel's own marks: direct
 * reclaim, compaction, and major faults on memory that had been swapped out. Faults that read a
 * mapped file are a disk-stall, as what they wait for is the file and more memory need not help,
 * unless the cgroup stands at its limit: then pages that were dropped are read again.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/shell.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"
#include "lib/advice/disk_advice.h"

/* " in lookup (data.py:31)" */
static void print_where(const struct loss_view *f, struct buf *out)
{
	if (strncmp(f->where, "mostly in ", 10) == 0)
		buf_puts(out, f->where + 6);
}

/* ---- memory-pressure ---- */

enum work { RECLAIM, COMPACT, SWAP_IN, READ_AGAIN, WORKS };

static const char *const works[WORKS] = { "reclaiming memory for itself",
					  "compacting memory for itself",
					  "reading back what was swapped out",
					  "reading pages of files again that were dropped" };

static uint64_t work_ns(const struct loss *x, enum work work)
{
	switch (work) {
	case COMPACT:
		return x->of.memory.compact_ns;
	case SWAP_IN:
		return x->of.memory.swap_ns;
	case READ_AGAIN:
		return x->of.memory.file_ns;
	default:
		return x->ns - x->of.memory.compact_ns - x->of.memory.swap_ns -
		       x->of.memory.file_ns;
	}
}

/* What the memory of the process counts against. */
struct limit {
	const struct cause_cgroup *g; /* NULL: not known */
	struct bytes path;
	bool reached;
	double high; /* times it was held back; 0: it is not that */
};

/* The events say in which cgroup a thread is, samples in which of them its memory counts. */
static struct limit limit_of(const struct loss_view *f)
{
	const struct cause *c = f->c;
	uint32_t cgroup =
		cause_cgroups_limit(&c->cgroups, f->loss->process,
				    lost_time_process(&c->lost_time, f->loss->process)->cgroup);
	struct limit l = { .g = cause_cgroup(&c->cgroups, cgroup),
			   .path = world_cgroup_path(c->w, cgroup) };

	l.reached = l.g && l.g->limit > 0 && cause_counted(&l.g->limit_hits) > 0;
	l.high = l.g && !l.reached ? cause_counted(&l.g->high_hits) : 0;
	return l;
}

static void print_pressure(const struct loss_view *f, struct buf *out)
{
	struct limit l = limit_of(f);
	enum work most = RECLAIM;

	for (enum work i = RECLAIM; i < WORKS; i++)
		most = work_ns(f->loss, i) > work_ns(f->loss, most) ? i : most;
	buf_printf(out, "%s lost ", f->victim);
	detect_amount(f, out);
	buf_printf(out, " for want of memory, mostly %s", works[most]);
	print_where(f, out);
	if (l.reached)
		buf_printf(out, ": its cgroup %.*s is at its limit of %s", (int)l.path.n,
			   l.path.p ? l.path.p : "", fmt_bytes((uint64_t)l.g->limit).s);
	else if (l.high > 0)
		buf_printf(out, ": its cgroup %.*s was held back at its memory.high %.0f times",
			   (int)l.path.n, l.path.p ? l.path.p : "", l.high);
}

static void add_growth(const struct loss_view *f, struct finding *to, enum metric_id metric,
		       const char *what, double scale, const char *unit)
{
	const struct cause_metric *m = cause_nodes_metric(
		&f->c->nodes, world_process_node(f->c->w, f->loss->process), metric);

	if (m->n > 1 && m->last > m->first)
		details_add_number(to, what, (m->last - m->first) * scale, unit);
}

static void add_pressure(const struct loss_view *f, struct finding *to)
{
	struct limit l = limit_of(f);

	for (enum work i = RECLAIM; i < WORKS; i++)
		if (work_ns(f->loss, i))
			details_add_number(to, works[i], (double)work_ns(f->loss, i), "ns");
	if (l.g)
		details_add_number(to, "most memory of its cgroup", l.g->used_max, "B");
	if (l.g && l.g->limit > 0)
		details_add_number(to, "limit of its cgroup", l.g->limit, "B");
	if (l.g)
		details_add_number(to, "times its cgroup was at its limit",
				   cause_counted(&l.g->limit_hits), "");
	add_growth(f, to, METRIC_PSI_MEM_SOME,
		   "time in which tasks of the machine waited for memory", 1e3, "ns");
	add_growth(f, to, METRIC_VM_SWAP_IN, "pages swapped in on the machine", 1, "");
	if (!l.reached && l.high <= 0)
		return;
	to->culprit.kind = bytes_of("cgroup");
	to->culprit.cgroup = to->culprit.text = finding_copy(to, l.path);
}

static void recommend_more(const struct loss_view *f, struct finding *to)
{
	struct limit l = limit_of(f);
	const char *basis = "all of it, if what it touches fits then",
		   *file = l.high > 0		    ? "memory.high"
			   : name_cgroup_v1(l.path) ? "memory.limit_in_bytes"
						    : "memory.max";
	double bytes = l.reached ? l.g->limit : l.high > 0 ? l.g->used_max : 0;
	struct buf command = { 0 };

	if (bytes > 0)
		buf_printf(&command, "echo %.0f | sudo tee ", bytes * 1.5);
	else
		buf_puts(&command, "echo max | sudo tee ");
	name_cgroup_file(&command, l.path, file);
	if (l.reached)
		detect_recommend(f, to, "Give its cgroup (container, pod) more memory",
				 buf_text(&command), 0, basis);
	else if (l.high > 0)
		detect_recommend(
			f, to,
			"Let its cgroup (container, pod) use more memory before it is held back",
			buf_text(&command), 0, basis);
	else
		detect_recommend(f, to,
				 "Use less memory at once: fewer loader workers, smaller batches "
				 "or prefetch, or a machine with more",
				 "ps -eo pid,rss,comm --sort=-rss | head", 0,
				 "all of it, if what is in use fits then");
	buf_free(&command);
}

/* ---- disk-stall: pages of mapped files ---- */

static void print_pages(const struct loss_view *f, struct buf *out)
{
	const char *name = cause_files_mapped(&f->c->files, f->loss->process);

	buf_printf(out, "%s waited ", f->victim);
	detect_amount(f, out);
	buf_puts(out, " for pages of mapped files to be read");
	print_where(f, out);
	buf_printf(out, "%s%s", name ? ", longest for " : "", name ? name : "");
}

static void name_pages(const struct loss_view *f, struct finding *to)
{
	const char *name = cause_files_mapped(&f->c->files, f->loss->process);

	if (name)
		to->culprit.text = finding_copy(to, bytes_of(name));
}

static void recommend_pages(const struct loss_view *f, struct finding *to)
{
	const char *name = cause_files_mapped(&f->c->files, f->loss->process), *end = name;
	struct buf command = { 0 };

	if (disk_advice_held_back(f, to))
		return;
	/* The path, without what stands behind it in brackets. */
	for (const char *at = name; at && (at = strstr(at, " (")); at++)
		end = at;
	buf_puts(&command, "vmtouch -t ");
	if (name)
		shell_word(&command, (struct bytes){ name, (size_t)(end - name) });
	else
		buf_puts(&command, "FILE");
	detect_recommend(f, to,
			 "Read the file ahead before it is used, or copy it to memory or a faster "
			 "disk",
			 details_text(to, &command), 0,
			 "from nothing, if it must be read first, to all of the wait");
}

const struct loss_detector detect_memory_pressure = {
	.kind = "memory-pressure",
	.family = LOSS_MEMORY,
	.summary = print_pressure,
	.recommend = recommend_more,
	.evidence = add_pressure,
	.nobody = "the machine's memory",
	.moment = "getting memory",
	.counted = "times",
};

const struct loss_detector detect_file_pages = {
	.kind = "disk-stall",
	.family = LOSS_PAGES,
	.summary = print_pages,
	.recommend = recommend_pages,
	.evidence = name_pages,
	.nobody = "a mapped file",
	.moment = "reading in a page",
	.counted = "page faults",
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the section of the machine of ingero-stat. A metric without a known whole, such as load
 * without the number of CPUs, has no bar. */
#include "lib/report/view_system.h"

#include <stdio.h>

#include "lib/base/fmt.h"

/* From where on a bar is yellow, red. Pressure: tasks that wait at all are news; the kernel's own
 * documentation (Documentation/accounting/psi.rst) triggers at 15 %. */
#define BUSY_LOW  0.7
#define BUSY_HIGH 0.9
#define PSI_LOW	  0.05
#define PSI_HIGH  0.15

struct machine {
	const struct view *v;
	uint32_t node;
	const struct report_text_style *st;
};

static const struct view_metric *find_metric(const struct machine *m, enum metric_id id)
{
	return view_find(m->v, VIEW_NODE, m->node, 0, id);
}

static void append_cpu_part(struct buf *out, const struct machine *m, enum metric_id id,
			    const char *name, bool *any)
{
	const struct view_metric *x = find_metric(m, id);

	if (!x || view_mean(x) < 0.05)
		return;
	buf_printf(out, "%s%s %.1f%%", *any ? ", " : "; ", name, view_mean(x));
	*any = true;
}

static void print_cpu(struct buf *out, const struct machine *m)
{
	const struct view_metric *busy = find_metric(m, METRIC_CPU_BUSY);
	bool any = false;

	if (!busy)
		return;
	view_bar(out, m->st, "CPU", view_mean(busy) / 100, BUSY_LOW, BUSY_HIGH);
	buf_printf(out, "%.1f%% busy, at most %.1f%%", view_mean(busy), busy->max);
	append_cpu_part(out, m, METRIC_CPU_USER, "user", &any);
	append_cpu_part(out, m, METRIC_CPU_SYSTEM, "system", &any);
	append_cpu_part(out, m, METRIC_CPU_IOWAIT, "waiting for I/O", &any);
	append_cpu_part(out, m, METRIC_CPU_STEAL, "stolen", &any);
	view_course(out, m->st, busy, 100);
}

static void print_memory(struct buf *out, const struct machine *m, uint64_t all)
{
	const struct view_metric *used = find_metric(m, METRIC_MEM_USED),
				 *left = find_metric(m, METRIC_MEM_AVAILABLE),
				 *swap = find_metric(m, METRIC_SWAP_USED);

	if (!all && used && left)
		all = view_bytes(used->last + left->last);
	if (used) {
		view_bar(out, m->st, "memory", all ? used->last / (double)all : -1, BUSY_LOW,
			 BUSY_HIGH);
		buf_printf(out, "%s used", fmt_bytes(view_bytes(used->last)).s);
		if (all)
			buf_printf(out, " of %s", fmt_bytes(all).s);
		if (left)
			buf_printf(out, ", %s available", fmt_bytes(view_bytes(left->last)).s);
		view_course(out, m->st, used, (double)all);
	}
	if (swap && swap->max > 0) {
		view_bar(out, m->st, "swap", -1, 0, 0);
		buf_printf(out, "%s used, at most %s", fmt_bytes(view_bytes(swap->last)).s,
			   fmt_bytes(view_bytes(swap->max)).s);
		view_course(out, m->st, swap, 0);
	}
}

static void print_load(struct buf *out, const struct machine *m, uint32_t cpus)
{
	const struct view_metric *x = find_metric(m, METRIC_LOAD_1);

	if (!x)
		return;
	view_bar(out, m->st, "load", cpus ? x->last / cpus : -1, BUSY_LOW, 1);
	buf_printf(out, "%.2f, at most %.2f", x->last, x->max);
	if (cpus)
		buf_printf(out, ", %u CPU%s", cpus, cpus == 1 ? "" : "s");
	view_course(out, m->st, x, 0);
}

static void print_pressure(struct buf *out, const struct machine *m)
{
	static const struct {
		enum metric_id id;
		const char *label, *what;
	} all[] = {
		{ METRIC_PSI_CPU_SOME, "CPU pressure", "some task waited for a CPU" },
		{ METRIC_PSI_IO_SOME, "I/O pressure", "some task waited for I/O" },
		{ METRIC_PSI_IO_FULL, "I/O full", "all tasks that could run waited for I/O" },
		{ METRIC_PSI_MEM_SOME, "mem pressure", "some task waited for memory" },
		{ METRIC_PSI_MEM_FULL, "memory full",
		  "all tasks that could run waited for memory" },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct view_metric *x = find_metric(m, all[i].id);
		double share;

		if (!x || x->n < 2)
			continue;
		share = view_growth(x) / 1e6; /* microseconds in a second */
		view_bar(out, m->st, all[i].label, share, PSI_LOW, PSI_HIGH);
		buf_printf(out, "%s %s of the time", all[i].what, fmt_percent(share).s);
		view_course(out, m->st, x, 1e6);
	}
}

bool view_system_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st)
{
	struct machine m = { s->view, UINT32_MAX, st };
	bool any = false;
	char title[128];

	for (size_t i = 0; i < s->view->metrics.n; i++) {
		const struct view_metric *x = &s->view->metrics.v[i];
		struct ops_machine has = ops_machine_of(s, x->node);
		const struct world_node *n;
		struct bytes name;

		if (x->scope != VIEW_NODE || x->node == m.node)
			continue;
		m.node = x->node;
		n = world_get_node(w, m.node);
		name = n && s->nodes > 1 ? world_text(w, n->name) : (struct bytes){ 0 };
		snprintf(title, sizeof(title), "System%s%.*s", name.n ? " of " : "",
			 name.n < 64 ? (int)name.n : 64, name.n ? name.p : "");
		view_heading(out, st, title);
		print_cpu(out, &m);
		print_memory(out, &m, has.memory_bytes);
		print_load(out, &m, has.cpus);
		print_pressure(out, &m);
		any = true;
	}
	return any;
}

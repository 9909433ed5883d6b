/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the sections of ingero-stat in order, with the lines above and below them. Names from the
 * recorded programs go through fmt_safe. */
#include "lib/report/ops_text.h"

#include "lib/base/fmt.h"
#include "lib/base/timetext.h"
#include "lib/report/group_by_text.h"
#include "lib/report/ops_coverage.h"
#include "lib/report/ops_tables.h"
#include "lib/report/report_internal.h"
#include "lib/report/view_lines.h"
#include "lib/report/view_system.h"

#define PROCESSES_SHOWN 16

static bool process_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	double wall = (double)(s->end_ns - s->start_ns);
	size_t shown = 0, with_calls = 0;
	const char *about;
	uint64_t calls;

	/* Those in calls come first; of those without, none where some have. */
	while (shown < s->processes.n && shown < PROCESSES_SHOWN &&
	       (s->processes.v[shown].calls || !s->processes.v[0].calls))
		shown++;
	for (size_t i = shown; i < s->processes.n; i++)
		with_calls += s->processes.v[i].calls > 0;
	for (size_t i = 0; i < shown; i++) {
		const struct ops_process *p = &s->processes.v[i];
		const struct world_process *id = world_get_process(w, p->process);

		buf_printf(out, "process %u ", id ? id->tgid : 0);
		fmt_safe(out,
			 world_text(w, world_process_name(w, p->process, p->image, INT64_MAX)));
		if (world_process_was(w, p->process, p->image)) {
			buf_puts(out, " (was ");
			fmt_safe(out, world_text(w, world_process_was(w, p->process, p->image)));
			buf_putc(out, ')');
		}
		view_on(out, w, id ? id->node : 0);
		about = estimate_mark(&p->all);
		calls = p->outer_calls ? p->outer_calls : p->calls;
		if (p->all.is)
			calls = (uint64_t)((double)calls * (double)p->all.count / (double)p->calls +
					   0.5);
		buf_printf(out, ": %s thread%s, %s%s call%s", fmt_count(p->threads).s,
			   p->threads == 1 ? "" : "s", about, fmt_count(calls).s,
			   calls == 1 ? "" : "s");
		if (p->all.count > calls)
			buf_printf(out, " (%s%s with those inside)", about,
				   fmt_count(p->all.count).s);
		if (wall > 0 && p->outer_calls)
			buf_printf(out, " taking %s%s of wall time", about,
				   fmt_percent((double)p->all.total_ns / wall).s);
		if (p->lost_ns)
			buf_printf(out, ", %s lost to the host", fmt_ns(p->lost_ns).s);
		buf_putc(out, '\n');
	}
	if (s->processes.n > shown)
		buf_printf(out, "and %zu more process%s%s (--json has them all)\n",
			   s->processes.n - shown, s->processes.n - shown == 1 ? "" : "es",
			   with_calls	      ? ""
			   : s->uncovered.v.n ? " without recorded calls"
					      : " without calls");
	return shown > 0;
}

static void head_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	char when[64];

	if (s->hostname)
		fmt_safe(out, world_text(w, s->hostname));
	else
		buf_puts(out, "recording");
	if (s->nodes > 1)
		buf_printf(out, " and %u more node%s", s->nodes - 1, s->nodes == 2 ? "" : "s");
	buf_printf(out, ": %s", fmt_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (s->has_real)
		buf_printf(out, " from %s",
			   time_local(when, sizeof(when), s->start_ns + s->real_minus_mono_ns,
				      true));
	buf_putc(out, '\n');
}

#define FINDINGS_SHOWN 4

/* What the stream says of causes. */
static bool finding_lines(struct buf *out, const struct ops_summary *s)
{
	size_t n = s->findings.n < FINDINGS_SHOWN ? s->findings.n : FINDINGS_SHOWN;

	for (size_t i = 0; i < n; i++) {
		const struct ops_finding *f = &s->findings.v[i];

		buf_printf(out, "found: %s ", finding_severity_name(f->severity));
		fmt_safe(out, bytes_of(f->summary));
		buf_putc(out, '\n');
	}
	if (s->findings.n > n)
		buf_printf(out, "found: %zu more (ingero-explain tells them)\n", s->findings.n - n);
	return n > 0;
}

bool ops_section_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      enum view_section which, const struct report_text_style *st, bool *few)
{
	bool any;

	switch (which) {
	case VIEW_PROCESSES:
		return process_lines(out, w, s);
	case VIEW_SYSTEM:
		return s->view && view_system_text(out, w, s, st);
	case VIEW_TIME:
		return s->view && view_time_text(out, w, s, st);
	case VIEW_RUNTIME:
		return ops_layer_table(out, s, w, "runtime", st, few);
	case VIEW_DRIVER:
		return ops_layer_table(out, s, w, "driver", st, few);
	case VIEW_GRAPHS:
		any = ops_layer_table(out, s, w, "graph", st, few);
		return (s->view && view_graphs_text(out, w, s, st, !any)) || any;
	case VIEW_NCCL:
		any = ops_layer_table(out, s, w, "nccl", st, few);
		return (s->view && view_comms_text(out, w, s, st, !any)) || any;
	case VIEW_MARKS:
		return ops_layer_table(out, s, w, "mark", st, few);
	case VIEW_HOST:
		return ops_layer_table(out, s, w, NULL, st, few);
	case VIEW_KERNELS:
		return ops_kernel_table(out, s, w, st);
	case VIEW_IO:
		return s->view && view_io_text(out, w, s, st);
	case VIEW_NET:
		return s->view && view_net_text(out, w, s, st);
	case VIEW_GPU:
		return s->view && view_gpu_text(out, w, s, st);
	case VIEW_MEMORY:
		return s->view && view_memory_text(out, w, s, st);
	case VIEW_RATES:
		return s->view && view_rates_text(out, s, st);
	case VIEW_LATENCY:
		return view_latency_text(out, s, st);
	case VIEW_ERRORS:
		return ops_error_lines(out, s, w, st);
	case VIEW_CAUSES:
		if (s->findings.n)
			buf_putc(out, '\n');
		return finding_lines(out, s);
	case VIEW_COUNT:
		break;
	}
	return true;
}

/* Of what is always recorded where it happens its absence says nothing. */
#define SAID_WHEN_ASKED                                                              \
	(VIEW_BIT(MARKS) | VIEW_BIT(KERNELS) | VIEW_BIT(ERRORS) | VIEW_BIT(CAUSES) | \
	 VIEW_BIT(LATENCY))

/* Which of them were asked for and are not there, of VIEW_BIT. */
static unsigned print_sections(struct buf *out, const struct world *w, const struct ops_summary *s,
			       const struct report_text_style *st, unsigned which, bool *few)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < VIEW_COUNT; i++) {
		if (!(which & 1u << i) ||
		    ops_section_text(out, w, s, (enum view_section)i, st, few))
			continue;
		if (st->asked || !(SAID_WHEN_ASKED & 1u << i))
			missing |= 1u << i;
	}
	return missing;
}

static void missing_line(struct buf *out, unsigned which)
{
	bool any = false;

	for (unsigned i = 0; i < VIEW_COUNT; i++) {
		if (!(which & 1u << i))
			continue;
		buf_printf(out, "%s%s", any ? ", " : "not in this recording: ",
			   view_section_name((enum view_section)i));
		any = true;
	}
	if (any)
		buf_putc(out, '\n');
}

void ops_text(struct buf *out, const struct world *w, const struct ops_summary *s,
	      const struct report_text_style *st)
{
	unsigned missing = 0;
	bool few = false;

	head_lines(out, w, s);
	if (s->by) {
		process_lines(out, w, s);
		few = by_text(out, w, s, st->top, st->color, st->columns);
		ops_error_lines(out, s, w, st);
		ops_section_text(out, w, s, VIEW_CAUSES, st, &few);
	} else {
		missing = print_sections(out, w, s, st, st->sections, &few);
	}
	if (s->rows.n == 0)
		buf_puts(out, s->events ? "\nno event is what was asked for\n" : "\nno events\n");
	buf_putc(out, '\n');
	/* What needs events one by one may be there: nobody looked. */
	if (s->rows.n && !s->brief)
		missing_line(out, missing);
	ops_coverage_lines(out, w, s, true, few);
}

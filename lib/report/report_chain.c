/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one finding as text: when, how much, who, where in the code, the intervals that show it
 * best, and what to do about it. */
#include "lib/report/report_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/shorten.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/report/report_internal.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_without.h"
#include "lib/report/report_recording.h"

static void print_node(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	if (c->node.n && report_others(r, c->node)) {
		report_chain_heading(out, r, color, "Node");
		fmt_safe(out, c->node);
		buf_putc(out, '\n');
	}
}

static void print_when(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	char a[64], b[64];

	report_chain_heading(out, r, color, "When");
	buf_printf(out, "%s to %s after the start",
		   report_ns(a, sizeof(a), (double)c->first_after_ns),
		   report_ns(b, sizeof(b), (double)c->last_after_ns));
	if (r->has_real) {
		buf_printf(out, " (from %s",
			   time_local(a, sizeof(a), c->first_ns + r->real_minus_mono_ns, true));
		buf_printf(out, " to %s)",
			   time_local(b, sizeof(b), c->last_ns + r->real_minus_mono_ns, false));
	}
	buf_putc(out, '\n');
}

static void print_parts(struct buf *out, const struct finding *c)
{
	char t[48];

	if (c->parts.n < 2)
		return;
	for (size_t i = 0; i < c->parts.n; i++) {
		buf_puts(out, i ? ", " : " (");
		fmt_safe(out, c->parts.v[i].name);
		buf_printf(out, " %s", report_ns(t, sizeof(t), (double)c->parts.v[i].value));
	}
	buf_putc(out, ')');
}

static void print_lost(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct bytes of = finding_counted(c);
	char t[48];

	if (c->lost_ns == 0) { /* a fact that takes no time */
		report_chain_heading(out, r, color, "Count");
		fmt_counted(out, c->count, of);
		buf_putc(out, '\n');
		return;
	}
	report_chain_heading(out, r, color, "Lost");
	buf_printf(out, "%s%s%s in %s", c->coverage.upper_bound && !c->at_least ? "up to " : "",
		   report_about(c), report_ns(t, sizeof(t), (double)c->lost_ns), report_about(c));
	fmt_counted(out, c->count, of);
	buf_printf(out, ", %s%.1f ms per second of wall time", report_about(c), c->lost_ms_per_s);
	print_parts(out, c);
	buf_putc(out, '\n');
	if (c->explained >= 0) {
		report_chain_heading(out, r, color, "Explained");
		buf_printf(out,
			   bytes_equal(of, bytes_of("waits"))
				   ? "%.1f%% of what the host took from it; %.1f%% has no name\n"
				   : "%.1f%% of all time lost in this way; %.1f%% in others\n",
			   c->explained * 100, (c->unexplained > 0 ? c->unexplained : 0) * 100);
	}
}

static void print_culprit(struct buf *out, const struct report *r, const struct finding *c,
			  bool color)
{
	const struct finding_culprit *who = &c->culprit;

	report_chain_heading(out, r, color, "Culprit");
	report_print_text(out, who->text, "?");
	if (bytes_equal(who->kind, bytes_of("own")))
		buf_puts(out, who->tids.n == 1 ? ": another thread of its own"
					       : ": its own other threads");
	if (who->parent > 1)
		buf_printf(out, ", started by pid %" PRIu32, who->parent);
	for (size_t i = 0; i < who->via.n; i++) {
		buf_puts(out, i ? ", " : "; it also kept from releasing a lock: ");
		fmt_safe(out, who->via.v[i]);
	}
	buf_putc(out, '\n');
}

/* Sites that hold memory lost no time. */
static bool holds_bytes(const struct finding *c)
{
	return c->sites.n && c->sites.v[0].bytes && !c->sites.v[0].lost_ns;
}

static void site_cells(struct table *t, const struct finding *c, const struct finding_site *s,
		       bool bytes)
{
	struct buf text = { 0 };
	char ns[48];

	if (bytes) {
		table_cell(t, "%s", fmt_bytes(s->bytes).s);
	} else if (c->lost_ns) {
		table_cell(t, "%s", report_ns(ns, sizeof(ns), (double)s->lost_ns));
		table_cell(t, "%s", fmt_count(s->affected).s);
	}
	table_cell(t, "%s", s->calls ? fmt_count(s->calls).s : "");
	for (unsigned k = 0; k < 2 && !bytes; k++) {
		uint64_t v = k ? s->max_ns : s->avg_ns;

		table_cell(t, "%s",
			   s->calls && v ? report_ns(ns, sizeof(ns), (double)v)
			   : s->calls	 ? "-"
					 : "");
	}
	report_print_text(&text, s->op, "");
	table_cell(t, "%s", buf_text(&text));
	buf_reset(&text);
	report_print_text(&text, s->text, "(no stack)");
	table_cell(t, "%s", buf_text(&text));
	buf_free(&text);
}

static void print_sites(struct buf *out, const struct report *r, const struct finding *c,
			bool color)
{
	static const char *const timed[] = { ">lost", ">affected", ">calls", ">avg",
					     ">max",  ">call",	   "from",   NULL };
	static const char *const counted[] = { ">calls", ">avg", ">max", ">call", "from", NULL };
	static const char *const held[] = { ">bytes", ">calls", ">call", "from", NULL };
	bool bytes = holds_bytes(c);
	struct table *t = c->sites.n ? table_new(bytes	      ? held
						 : c->lost_ns ? timed
							      : counted)
				     : NULL;

	out->failed |= c->sites.n && !t;
	for (size_t i = 0; t && i < c->sites.n; i++)
		site_cells(t, c, &c->sites.v[i], bytes);
	if (t) {
		report_chain_title(out, r, color,
				   report_has_paused(r)
					   ? "Call sites (calls as recorded, in windows)"
					   : "Call sites");
		table_fold(out, t, 8, false, r->columns);
	}
	table_free(t);
}

/* "launches per synchronization 3.2", one number a line. */
static void print_evidence(struct buf *out, const struct report *r, const struct finding *c,
			   bool color)
{
	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct finding_evidence *o = &c->evidence.v[i];

		report_chain_heading(out, r, color, i ? "" : "Evidence");
		fmt_safe(out, o->what);
		buf_puts(out, ": ");
		if (o->is_number && o->value >= 0)
			report_value(out, o->value, o->unit);
		else
			fmt_safe(out, o->text);
		buf_putc(out, '\n');
	}
	if (c->evidence.n && *report_about(c)) {
		report_chain_heading(out, r, color, "");
		buf_puts(out, "as recorded, in windows\n");
	}
}

/* How much a fix gives back, ns: a range where its ends read differently. */
static void print_gain(struct buf *out, const struct finding_fix *f, const char *about)
{
	char a[48], b[48];

	if (!f->gain_high_ns)
		return;
	report_ns(a, sizeof(a), (double)f->gain_low_ns);
	report_ns(b, sizeof(b), (double)f->gain_high_ns);
	buf_puts(out, "expected gain ");
	if (!f->gain_low_ns)
		buf_printf(out, "up to %s%s", about, b);
	else if (strcmp(a, b) == 0)
		buf_printf(out, "%s%s", about, a);
	else
		buf_printf(out, "%s%s to %s%s", about, a, about, b);
	buf_puts(out, ": ");
}

static void print_fixes(struct buf *out, const struct report *r, const struct finding *c,
			bool color)
{
	for (size_t i = 0; i < c->fixes.n; i++) {
		const struct finding_fix *f = &c->fixes.v[i];

		report_chain_heading(out, r, color, i ? "" : "Fix");
		fmt_safe(out, f->action);
		buf_puts(out, "\n                  ");
		buf_puts(out, finding_fix_is_code(f) ? FMT_CODE : FMT_SHELL);
		report_style(out, color, "36");
		fmt_safe(out, f->command);
		report_style(out, color, "0");
		buf_puts(out, "\n                  ");
		print_gain(out, f, report_about(c));
		fmt_safe(out, f->basis);
		buf_putc(out, '\n');
	}
}

#define KERNEL_CHARS 64

/* Templates have no end. */
static void of_kernel(struct buf *out, struct bytes name)
{
	struct buf text = { 0 };

	if (name.n) {
		buf_puts(out, " of ");
		shorten_one(&text, name, KERNEL_CHARS);
		fmt_safe(out, buf_bytes(&text));
		out->failed |= text.failed;
	}
	buf_free(&text);
}

#define SYMPTOM_CALLS  10  /* a handful of calls has no tail */
#define QUANTILE_CALLS 100 /* the p99 of fewer is their largest */

static bool tail_moved(const struct finding_symptom *s)
{
	return (double)s->p99_ns > (double)s->p99_without_ns * 1.25;
}

/* Of the operations that lost time, most first, the first whose tail it moved; where rare waits
 * moved none, the first. */
static void symptom_line(struct buf *out, const struct report *r, const struct finding *c,
			 bool color)
{
	const struct finding_symptom *s = NULL;
	char a[48], b[48];

	for (size_t i = 0; i < c->symptoms.n && !(s && tail_moved(s)); i++) {
		const struct finding_symptom *at = &c->symptoms.v[i];

		if (at->n >= SYMPTOM_CALLS && (!s || tail_moved(at)))
			s = at;
	}
	if (!s)
		return;
	report_chain_heading(out, r, color, "Symptom");
	fmt_safe(out, s->op);
	of_kernel(out, s->kernel);
	report_ns(b, sizeof(b), (double)s->p99_ns);
	if (tail_moved(s)) {
		buf_printf(out, ": p99 %s", b);
		buf_printf(out, ", %s without what the host took",
			   report_ns(a, sizeof(a), (double)s->p99_without_ns));
	} else {
		buf_printf(out, ": at most %s", report_ns(a, sizeof(a), (double)s->max_ns));
		if (s->n >= QUANTILE_CALLS)
			buf_printf(out, ", p99 %s", b);
	}
	buf_printf(out, "; p50 %s over ", report_ns(a, sizeof(a), (double)s->p50_ns));
	buf_puts(out, fmt_count(s->n).s);
	buf_puts(out, report_has_paused(r) ? " recorded calls alike\n" : " calls alike\n");
}

void report_chain(struct buf *out, const struct report *r, const struct finding *c, unsigned at,
		  bool summary, bool color)
{
	buf_putc(out, '\n');
	report_style(out, color,
		     c->severity >= FINDING_HIGH     ? "1;31"
		     : c->severity == FINDING_MEDIUM ? "1;33"
						     : "1");
	buf_printf(out, "[%u] %s ", at, finding_severity_name(c->severity));
	fmt_safe(out, c->kind);
	report_style(out, color, "0");
	buf_puts(out, "  ");
	if (summary)
		fmt_safe(out, c->summary);
	buf_puts(out, summary ? "  (" : "(");
	fmt_safe(out, c->id);
	buf_puts(out, ")\n");
	report_chain_facts(out, r, c, color);
}

void report_chain_facts(struct buf *out, const struct report *r, const struct finding *c,
			bool color)
{
	print_node(out, r, c, color);
	print_when(out, r, c, color);
	print_lost(out, r, c, color);
	print_culprit(out, r, c, color);
	symptom_line(out, r, c, color);
	report_without(out, r, c, color);
	print_evidence(out, r, c, color);
	print_sites(out, r, c, color);
	report_moments(out, r, c, color);
	print_fixes(out, r, c, color);
}

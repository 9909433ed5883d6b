/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One chain for people: when, how much, who, where in the code, the intervals that show it best, and
 * what to do about it.
 */
#include "lib/emit/report_chain.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/human.h"
#include "lib/base/shorten.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/emit/report_moments.h"
#include "lib/emit/report_parts.h"
#include "lib/emit/report_recording.h"

static void machine(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json node = json_get(c->body, "node");

	if (json_bytes(node).n && report_others(r, json_bytes(node))) {
		report_chain_heading(out, r, color, "Node");
		human_safe(out, json_bytes(node));
		buf_putc(out, '\n');
	}
	json_free(node);
}

static void when(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	char a[64], b[64];
	double first = report_number(c->body, "first_ns"), last = report_number(c->body, "last_ns");

	report_chain_heading(out, r, color, "When");
	buf_printf(out, "%s to %s after the start", report_ns(a, sizeof(a), first),
		   report_ns(b, sizeof(b), last));
	if (r->has_real)
		buf_printf(out, " (from %s)",
			   time_local(a, sizeof(a), c->first_ns + r->real_minus_mono_ns, true));
	buf_putc(out, '\n');
}

static bool is_number(struct json o, const char *key)
{
	struct json v = json_get(o, key);
	bool is = json_double(v, -1) >= 0;

	json_free(v);
	return is;
}

static bool is_bound(struct json body)
{
	struct json coverage = json_get(body, "coverage"), v = json_get(coverage, "upper_bound");
	bool is = json_is_true(v);

	json_free(v);
	json_free(coverage);
	return is;
}

static void lost(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json counted = json_get(c->body, "counted");
	struct bytes of = json_bytes(counted).n ? json_bytes(counted) : bytes_of("waits");
	bool of_waits = bytes_equal(of, bytes_of("waits"));
	struct json parts = json_get(c->body, "lost"), key, v;
	char t[48];
	int at = 0;
	unsigned n = 0;

	if (c->lost_ns == 0) { /* a fact that takes no time */
		report_chain_heading(out, r, color, "Count");
		human_counted(out, c->count, of);
		buf_putc(out, '\n');
		json_free(counted);
		json_free(parts);
		return;
	}
	report_chain_heading(out, r, color, "Lost");
	buf_printf(out, "%s%s%s in %s",
		   is_bound(c->body) && *report_about(c) != '>' ? "up to " : "", report_about(c),
		   report_ns(t, sizeof(t), (double)c->lost_ns), report_about(c));
	human_counted(out, c->count, of);
	buf_printf(out, ", %s%.1f ms per second of wall time", report_about(c),
		   report_number(c->body, "lost_ms_per_s"));
	if (json_length(parts) > 1) {
		while (json_each(parts, &at, &key, &v)) {
			buf_puts(out, n++ ? ", " : " (");
			human_safe(out, json_bytes(key));
			buf_printf(out, " %s", report_ns(t, sizeof(t), json_double(v, 0)));
			json_free(key);
			json_free(v);
		}
		buf_putc(out, ')');
	}
	buf_putc(out, '\n');
	json_free(parts);
	if (is_number(c->body, "explained")) {
		report_chain_heading(out, r, color, "Explained");
		buf_printf(out,
			   of_waits ? "%.1f%% of what the host took from it; %.1f%% has no name\n"
				    : "%.1f%% of all time lost in this way; %.1f%% in others\n",
			   report_number(c->body, "explained") * 100,
			   report_number(c->body, "unexplained") * 100);
	}
	json_free(counted);
}

static void culprit(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json who = json_get(c->body, "culprit"), via = json_get(who, "via"), v;

	report_chain_heading(out, r, color, "Culprit");
	report_member(out, who, "text", "?");
	v = json_get(who, "kind");
	if (json_bytes(v).n == 3 && memcmp(json_bytes(v).p, "own", 3) == 0)
		buf_puts(out, ": its own other threads");
	json_free(v);
	if (report_number(who, "parent") > 1)
		buf_printf(out, ", started by pid %.0f", report_number(who, "parent"));
	for (size_t i = 0; i < json_length(via); i++) {
		v = json_at(via, i);
		buf_puts(out, i ? ", " : "; it also kept from releasing a lock: ");
		human_safe(out, json_bytes(v));
		json_free(v);
	}
	buf_putc(out, '\n');
	json_free(via);
	json_free(who);
}

/* Sites that hold memory lost no time. */
static bool holds_bytes(struct json all)
{
	struct json first = json_at(all, 0);
	bool is = report_number(first, "bytes") > 0 && report_number(first, "lost_ns") == 0;

	json_free(first);
	return is;
}

static void sites(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	static const char *const timed[] = { ">lost", ">affected", ">calls", ">avg",
					     ">max",  ">call",	   "from",   NULL };
	static const char *const counted[] = { ">calls", ">avg", ">max", ">call", "from", NULL };
	static const char *const held[] = { ">bytes", ">calls", ">call", "from", NULL };
	struct json all = json_get(c->body, "sites");
	size_t n = json_length(all);
	bool bytes = n && holds_bytes(all);
	struct table *t = n ? table_new(bytes ? held : c->lost_ns ? timed : counted) : NULL;
	struct buf text = { 0 };
	char ns[48];

	out->failed |= n && !t;
	for (size_t i = 0; t && i < n; i++) {
		struct json s = json_at(all, i);
		double calls = report_number(s, "calls");

		if (bytes) {
			table_cell(t, "%s", human_bytes((uint64_t)report_number(s, "bytes")).s);
		} else if (c->lost_ns) {
			table_cell(t, "%s", report_ns(ns, sizeof(ns), report_number(s, "lost_ns")));
			table_cell(t, "%s", human_count((uint64_t)report_number(s, "affected")).s);
		}
		table_cell(t, "%s", calls > 0 ? human_count((uint64_t)calls).s : "");
		for (unsigned k = 0; k < 2 && !bytes; k++) {
			double v = report_number(s, k ? "max_ns" : "avg_ns");

			table_cell(t, "%s",
				   calls > 0 && v > 0 ? report_ns(ns, sizeof(ns), v)
				   : calls > 0	      ? "-"
						      : "");
		}
		report_member(&text, s, "op", "");
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
		report_member(&text, s, "text", "(no stack)");
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
		json_free(s);
	}
	if (t) {
		report_chain_title(out, r, color,
				   report_has_paused(r)
					   ? "Call sites (calls as recorded, in windows)"
					   : "Call sites");
		table_fold(out, t, 8, false, r->columns);
	}
	out->failed |= text.failed;
	table_free(t);
	buf_free(&text);
	json_free(all);
}

/* "launches per synchronization 3.2", one number a line. */
static void evidence(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json all = json_get(c->body, "evidence");

	for (size_t i = 0; i < json_length(all); i++) {
		struct json o = json_at(all, i), unit = json_get(o, "unit");

		report_chain_heading(out, r, color, i ? "" : "Evidence");
		report_member(out, o, "what", "");
		buf_puts(out, ": ");
		if (is_number(o, "value"))
			report_value(out, report_number(o, "value"), json_bytes(unit));
		else
			report_member(out, o, "text", "");
		buf_putc(out, '\n');
		json_free(unit);
		json_free(o);
	}
	if (json_length(all) && *report_about(c)) {
		report_chain_heading(out, r, color, "");
		buf_puts(out, "as recorded, in windows\n");
	}
	json_free(all);
}

/* How much a fix gives back, ns: a range where its ends read differently. */
static void gain(struct buf *out, double low, double high, const char *about)
{
	char a[48], b[48];

	if (high <= 0)
		return;
	report_ns(a, sizeof(a), low);
	report_ns(b, sizeof(b), high);
	buf_printf(out, "expected gain %s%s", low > 0 ? about : "", a);
	if (strcmp(a, b) != 0)
		buf_printf(out, " to %s%s", about, b);
	buf_puts(out, ": ");
}

static void fixes(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json all = json_get(c->body, "recommendations");

	for (size_t i = 0; i < json_length(all); i++) {
		struct json f = json_at(all, i), kind = json_get(f, "kind");

		report_chain_heading(out, r, color, i ? "" : "Fix");
		report_member(out, f, "action", "");
		buf_puts(out, "\n                  ");
		buf_puts(out, bytes_equal(json_bytes(kind), bytes_of("code")) ? HUMAN_CODE
									      : HUMAN_SHELL);
		report_style(out, color, "36");
		report_member(out, f, "command", "");
		report_style(out, color, "0");
		buf_puts(out, "\n                  ");
		gain(out, report_number(f, "gain_low_ns"), report_number(f, "gain_high_ns"),
		     report_about(c));
		report_member(out, f, "basis", "");
		buf_putc(out, '\n');
		json_free(kind);
		json_free(f);
	}
	json_free(all);
}

#define KERNEL_CHARS 64

/* Templates have no end. */
static void of_kernel(struct buf *out, struct json symptom)
{
	struct json kernel = json_get(symptom, "kernel");
	struct bytes name = json_bytes(kernel);
	struct buf text = { 0 };

	if (name.n) {
		buf_puts(out, " of ");
		shorten_one(&text, name, KERNEL_CHARS);
		human_safe(out, buf_bytes(&text));
		out->failed |= text.failed;
	}
	buf_free(&text);
	json_free(kernel);
}

/* Of the operations that lost time, most first, the first whose tail it moved; where rare waits moved none, the first. */
static void symptom_line(struct buf *out, const struct report *r, struct json symptom, bool color)
{
	size_t at = SIZE_MAX;
	bool moved = false;
	struct json s;
	char a[48], b[48];

	for (size_t i = 0; i < json_length(symptom) && !moved; i++) {
		s = json_at(symptom, i);
		if (report_number(s, "n") > 0) {
			moved = report_number(s, "p99_ns") >
				report_number(s, "p99_without_ns") * 1.25;
			if (moved || at == SIZE_MAX)
				at = i;
		}
		json_free(s);
	}
	if (at == SIZE_MAX)
		return;
	s = json_at(symptom, at);
	report_chain_heading(out, r, color, "Symptom");
	report_member(out, s, "op", "");
	of_kernel(out, s);
	if (moved) {
		buf_printf(out, ": p99 %s", report_ns(a, sizeof(a), report_number(s, "p99_ns")));
		buf_printf(out, ", %s without what the host took",
			   report_ns(b, sizeof(b), report_number(s, "p99_without_ns")));
	} else {
		buf_printf(out, ": at most %s",
			   report_ns(a, sizeof(a), report_number(s, "max_ns")));
		buf_printf(out, ", p99 %s", report_ns(b, sizeof(b), report_number(s, "p99_ns")));
	}
	buf_printf(out, "; p50 %s over ", report_ns(a, sizeof(a), report_number(s, "p50_ns")));
	buf_puts(out, human_count((uint64_t)report_number(s, "n")).s);
	buf_puts(out, report_has_paused(r) ? " recorded" : "");
	buf_puts(out, " calls\n");
	json_free(s);
}

/* "a step would take 1.4 ms to 1.5 ms instead of 1.8 ms" */
static void without(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	struct json all = json_get(c->body, "counterfactual");
	char ns[48];

	for (size_t i = 0; i < json_length(all); i++) {
		struct json s = json_at(all, i), what = json_get(s, "what");
		double low = report_number(s, "low_ns"), high = report_number(s, "high_ns");
		struct bytes name = json_bytes(what);

		if (i == 0)
			report_chain_heading(out, r, color, "Without it");
		else
			buf_puts(out, ", ");
		if (bytes_equal(name, bytes_of("step"))) {
			buf_puts(out, "an average step takes ");
		} else if (bytes_equal(name, bytes_of("p99"))) {
			buf_puts(out, "p99 of ");
			report_member(out, s, "op", "?");
			buf_puts(out, " is ");
		} else {
			buf_puts(out, "all of it takes ");
		}
		buf_puts(out, report_ns(ns, sizeof(ns), low));
		if (high > 1.005 * low)
			buf_printf(out, " to %s", report_ns(ns, sizeof(ns), high));
		buf_printf(out, " instead of %s",
			   report_ns(ns, sizeof(ns), report_number(s, "from_ns")));
		json_free(what);
		json_free(s);
	}
	if (json_length(all))
		buf_putc(out, '\n');
	json_free(all);
}

void report_chain(struct buf *out, const struct report *r, const struct finding *c, unsigned at,
		  bool color)
{
	buf_putc(out, '\n');
	report_style(out, color,
		     c->severity >= FINDING_HIGH     ? "1;31"
		     : c->severity == FINDING_MEDIUM ? "1;33"
						     : "1");
	buf_printf(out, "[%u] %s ", at, finding_severity_name(c->severity));
	human_safe(out, c->kind);
	report_style(out, color, "0");
	buf_puts(out, "  ");
	if (at > 1)
		human_safe(out, c->summary);
	buf_puts(out, at > 1 ? "  (" : "(");
	human_safe(out, c->id);
	buf_puts(out, ")\n");
	report_chain_facts(out, r, c, color);
}

void report_chain_facts(struct buf *out, const struct report *r, const struct finding *c,
			bool color)
{
	struct json symptom = json_get(c->body, "symptom");

	machine(out, r, c, color);
	when(out, r, c, color);
	lost(out, r, c, color);
	culprit(out, r, c, color);
	symptom_line(out, r, symptom, color);
	json_free(symptom);
	without(out, r, c, color);
	evidence(out, r, c, color);
	sites(out, r, c, color);
	report_moments(out, r, c, color);
	fixes(out, r, c, color);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads members of the analysis record's JSON body for the text report; a missing member reads as
 * empty.
 */
#include "lib/report/report_parts.h"

#include "lib/base/fmt.h"
#include "lib/base/marks.h"
#include "lib/base/timetext.h"

void report_style(struct buf *out, bool color, const char *code)
{
	if (color)
		buf_printf(out, "\033[%sm", code);
}

const char *report_hint(const struct report *r, const char *text)
{
	return r->columns == MARKS_COLUMNS ? "" : text;
}

const char *report_ns(char *out, size_t size, double ns)
{
	return duration_text(out, size, ns > 0 ? (uint64_t)ns : 0);
}

void report_set_time(struct json *o, const char *key, const struct report *r, int64_t mono_ns)
{
	char text[48];

	if (r->has_real)
		json_set(o, key,
			 json_text(time_iso(text, sizeof(text), mono_ns + r->real_minus_mono_ns)));
	else
		json_set(o, key, json_null());
}

double report_number(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	double x = json_double(v, 0);

	json_free(v);
	return x;
}

bool report_is_true(struct json object, const char *key)
{
	struct json v = json_get(object, key);
	bool is = json_is_true(v);

	json_free(v);
	return is;
}

void report_print_text(struct buf *out, struct bytes text, const char *otherwise)
{
	fmt_safe(out, text.n ? text : bytes_of(otherwise));
}

void report_print_course(struct buf *out, struct bytes course)
{
	if (!course.n)
		return;
	buf_puts(out, ", ");
	fmt_safe(out, course);
}

void report_member(struct buf *out, struct json object, const char *key, const char *otherwise)
{
	struct json v = json_get(object, key);

	report_print_text(out, json_bytes(v), otherwise);
	json_free(v);
}

void report_value(struct buf *out, double value, struct bytes unit)
{
	uint64_t whole = value > 0 ? (uint64_t)(value + 0.5) : 0;

	if (bytes_equal(unit, bytes_of("ns"))) {
		buf_puts(out, fmt_ns(whole).s);
	} else if (bytes_equal(unit, bytes_of("B"))) {
		buf_puts(out, fmt_bytes(whole).s);
	} else if (bytes_equal(unit, bytes_of("B/s"))) {
		buf_printf(out, "%s/s", fmt_bytes(whole).s);
	} else {
		if (value == (double)whole || value >= 1000)
			buf_puts(out, fmt_count(whole).s);
		else
			buf_printf(out,
				   value < 0.01 ? "%.1g"
				   : value < 10 ? "%.2f"
						: "%.1f",
				   value);
		if (unit.n && unit.p[0] != '/')
			buf_putc(out, ' ');
		fmt_safe(out, unit);
	}
}

bool report_is_pid(const struct report *r, double pid)
{
	for (unsigned i = 0; i < r->npids; i++) {
		if (pid == r->pids[i])
			return true;
	}
	return r->npids == 0;
}

bool report_shows(const struct report *r, struct json process)
{
	return report_is_pid(r, report_number(process, "pid"));
}

bool report_selects(const struct report *r, const struct finding *c)
{
	if (c->hidden)
		return false;
	/* 0: of the machine, so of all */
	return c->victim.known ? !c->victim.pid || report_is_pid(r, c->victim.pid) : !r->npids;
}

bool report_is_process(struct json process, double pid, struct bytes name)
{
	struct json node = json_get(process, "node");
	bool is = pid == report_number(process, "pid") && bytes_equal(name, json_bytes(node));

	json_free(node);
	return is;
}

bool report_is_of(const struct finding *c, struct json process)
{
	return report_is_process(process, c->victim.pid, c->node);
}

bool report_same_process(struct json a, struct json b)
{
	struct json node = json_get(a, "node");
	bool is = report_is_process(b, report_number(a, "pid"), json_bytes(node));

	json_free(node);
	return is;
}

void report_process_heading(struct buf *out, struct json p, const char *of, bool color)
{
	struct json node = json_get(p, "node");

	report_style(out, color, "1");
	buf_printf(out, "== %s", of);
	report_member(out, p, "comm", "?");
	buf_printf(out, " (pid %.0f", report_number(p, "pid"));
	if (report_number(p, "tid") > 0)
		buf_printf(out, ", tid %.0f", report_number(p, "tid"));
	buf_puts(out, json_bytes(node).n ? ") on " : ")");
	fmt_safe(out, json_bytes(node));
	report_style(out, color, "0");
	buf_putc(out, '\n');
	json_free(node);
}

/* Whether what says it is of that machine is not of the other one. */
static bool of_another(struct bytes own, struct bytes name)
{
	return own.n && !bytes_equal(own, name);
}

bool report_others(const struct report *r, struct bytes name)
{
	struct json all = json_get(r->chains->analysis, "processes");
	bool others = false;

	for (size_t i = 0; i < json_length(all) && !others; i++) {
		struct json p = json_at(all, i), node = json_get(p, "node");

		others = of_another(json_bytes(node), name);
		json_free(node);
		json_free(p);
	}
	for (size_t i = 0; i < r->chains->v.n && !others; i++)
		others = of_another(r->chains->v.v[i].node, name);
	json_free(all);
	return others;
}

void report_on_node(struct buf *out, const struct report *r, struct bytes name)
{
	if (name.n && report_others(r, name)) {
		buf_puts(out, " on ");
		fmt_safe(out, name);
	}
}

void report_on(struct buf *out, const struct report *r, struct json process)
{
	struct json node = json_get(process, "node");

	report_on_node(out, r, json_bytes(node));
	json_free(node);
}

void report_chain_heading(struct buf *out, const struct report *r, bool color, const char *title)
{
	if (r->columns == MARKS_COLUMNS) {
		buf_printf(out, "%c%s%c", MARK_NAME, title, MARK_NAME_END);
		return;
	}
	buf_puts(out, "    ");
	report_style(out, color, "1");
	buf_printf(out, "%-12s", title);
	report_style(out, color, "0");
}

void report_chain_title(struct buf *out, const struct report *r, bool color, const char *title)
{
	if (r->columns == MARKS_COLUMNS) {
		report_chain_heading(out, r, color, title);
	} else {
		buf_puts(out, "    ");
		report_style(out, color, "1");
		buf_puts(out, title);
		report_style(out, color, "0");
	}
	buf_putc(out, '\n');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Failed calls as text and as JSON: one row for each op, code and process. */
#include "lib/report/report_failures.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"
#include "lib/event/event.h"

#define FAILURES_SHOWN 20

static bool is_selected(const struct report *r, const struct failure *f)
{
	for (unsigned i = 0; i < r->npids; i++)
		if (f->pid == r->pids[i])
			return true;
	return r->npids == 0;
}

/* Whether a chain is about the process of that number, on its machine where both are known. */
static bool same_process(const struct finding *c, const struct failure *f)
{
	return c->victim.pid == f->pid &&
	       (!c->node.n || !f->node.n || bytes_equal(c->node, f->node));
}

/* Whether the chain is about errors, of this code as it says itself. */
static bool has_code(const struct finding *c, int32_t ret)
{
	static const char code[] = "return code"; /* or that of something more exactly */

	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct finding_evidence *one = &c->evidence.v[i];

		if (one->what.n >= strlen(code) && !memcmp(one->what.p, code, strlen(code)) &&
		    one->value == ret)
			return true;
	}
	return false;
}

/* Whether a finding that the report shows covers this failure: the same process and code, from the
 * same op or from inside it; findings about errors cover all ops that return one code. */
static bool is_in_a_finding(const struct report *r, const struct failure *f)
{
	unsigned shown = 0;

	for (size_t i = 0; i < r->chains->v.n && (r->top == 0 || shown < r->top); i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		shown++;
		if (same_process(c, f) &&
		    (f->inside == f->count || bytes_equal(c->kind, bytes_of("errors")) ||
		     bytes_equal(c->kind, bytes_of("library-mismatch")) ||
		     bytes_equal(c->kind, bytes_of("graph-capture-failed")) ||
		     bytes_equal(c->op, bytes_of(f->op->name))) &&
		    has_code(c, f->ret))
			return true;
	}
	return false;
}

/* Failures that did not fit into the table have no process: they count only without -p. */
static uint64_t count_dropped(const struct report *r)
{
	return r->npids ? 0 : r->failures->untold;
}

/* Without failures that a call returned to the call around it: they count as the outer call's. */
static uint64_t count_own(const struct failure *f)
{
	return f->count - f->passed_on;
}

static void print_times(struct buf *out, uint64_t n)
{
	buf_puts(out, n == 1 ? "once" : fmt_count(n).s);
	if (n != 1)
		buf_puts(out, " times");
}

static void print_row(struct buf *out, const struct report *r, const struct failure *f)
{
	const char *name = event_error_name(f->op->source, f->ret);
	char a[48], b[48];

	buf_printf(out, "    %s returned %d%s%s%s ", f->op->name, f->ret, name ? " (" : "",
		   name ? name : "", name ? ")" : "");
	print_times(out, f->count);
	buf_puts(out, " in ");
	fmt_safe(out, f->comm);
	buf_printf(out, " (pid %u)", f->pid);
	report_on_node(out, r, f->node);
	buf_puts(out, ", ");
	if (f->count == 1)
		buf_printf(out, "%s after the start",
			   report_ns(a, sizeof(a), (double)(f->first_ns - r->start_ns)));
	else
		buf_printf(out, "%s to %s after the start",
			   report_ns(a, sizeof(a), (double)(f->first_ns - r->start_ns)),
			   report_ns(b, sizeof(b), (double)(f->last_ns - r->start_ns)));
	buf_printf(out, ", taking %s%s", report_ns(a, sizeof(a), (double)f->dur_ns),
		   f->count > 1 ? " in all" : "");
	if (f->inside)
		buf_puts(out, f->inside == f->count ? ", inside another traced call"
						    : ", some inside another traced call");
	buf_putc(out, '\n');
	for (uint32_t i = 0; i < f->nsites; i++) {
		buf_puts(out, "        from ");
		fmt_safe(out, f->sites[i].text);
		buf_putc(out, ' ');
		print_times(out, f->sites[i].count);
		buf_putc(out, '\n');
	}
	if (f->elsewhere) {
		buf_puts(out, "        from elsewhere ");
		print_times(out, f->elsewhere);
		buf_putc(out, '\n');
	}
}

void report_failures_text(struct buf *out, const struct report *r, bool color)
{
	uint64_t count = 0, above = 0, passed_on = 0;
	size_t rows = 0, shown = 0;

	if (!r->failures)
		return;
	for (size_t i = 0; i < r->failures->v.n; i++) {
		if (!is_selected(r, &r->failures->v.v[i]))
			continue;
		count += count_own(&r->failures->v.v[i]);
		passed_on += r->failures->v.v[i].passed_on;
		if (is_in_a_finding(r, &r->failures->v.v[i]))
			above += count_own(&r->failures->v.v[i]);
		else
			rows += count_own(&r->failures->v.v[i]) > 0;
	}
	count += count_dropped(r);
	if (count == 0)
		return;
	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Errors");
	report_style(out, color, "0");
	buf_printf(out, ": %s call%s returned an error", fmt_count(count).s, count == 1 ? "" : "s");
	if (passed_on)
		buf_printf(out, " (and so did %s call%s inside them)", fmt_count(passed_on).s,
			   passed_on == 1 ? "" : "s");
	if (above == count)
		buf_puts(out, ", as told above.\n");
	else if (above)
		buf_printf(out, ", %s of them told above. The others:\n", fmt_count(above).s);
	else
		buf_puts(out, ". An error is no stall by itself: the host's share of its time, if "
			      "any, is counted above.\n");
	for (size_t i = 0; i < r->failures->v.n && shown < FAILURES_SHOWN; i++) {
		if (!is_selected(r, &r->failures->v.v[i]) || !count_own(&r->failures->v.v[i]) ||
		    is_in_a_finding(r, &r->failures->v.v[i]))
			continue;
		print_row(out, r, &r->failures->v.v[i]);
		shown++;
	}
	if (rows > shown)
		buf_printf(out, "    and %zu more kinds of error%s\n", rows - shown,
			   report_hint(r, " (--json has them all)"));
}

static struct json row_json(const struct report *r, const struct failure *f)
{
	const char *name = event_error_name(f->op->source, f->ret);
	struct json o = json_object(), sites = json_array();

	json_set(&o, "source", json_text(f->op->source_name));
	json_set(&o, "op", json_text(f->op->name));
	json_set(&o, "code", json_number(f->ret));
	json_set(&o, "name", name ? json_text(name) : json_null());
	json_set(&o, "pid", json_number(f->pid));
	json_set(&o, "comm", json_string(f->comm));
	json_set(&o, "node", f->node.n ? json_string(f->node) : json_null());
	json_set(&o, "count", json_number((double)f->count));
	json_set(&o, "inside", json_number((double)f->inside));
	json_set(&o, "passed_on", json_number((double)f->passed_on));
	json_set(&o, "total_ns", json_number((double)f->dur_ns));
	json_set(&o, "first_ns", json_number((double)(f->first_ns - r->start_ns)));
	json_set(&o, "last_ns", json_number((double)(f->last_ns - r->start_ns)));
	report_set_time(&o, "first", r, f->first_ns);
	report_set_time(&o, "last", r, f->last_ns);
	for (uint32_t i = 0; i < f->nsites; i++) {
		struct json s = json_object();

		json_set(&s, "text", json_string(f->sites[i].text));
		json_set(&s, "count", json_number((double)f->sites[i].count));
		json_append(&sites, s);
	}
	json_set(&o, "sites", sites);
	return o;
}

struct json report_failures_json(const struct report *r, uint64_t *count)
{
	struct json out = json_array();

	*count = 0;
	if (!r->failures)
		return out;
	for (size_t i = 0; i < r->failures->v.n; i++) {
		if (!is_selected(r, &r->failures->v.v[i]))
			continue;
		json_append(&out, row_json(r, &r->failures->v.v[i]));
		*count += count_own(&r->failures->v.v[i]);
	}
	*count += count_dropped(r);
	return out;
}

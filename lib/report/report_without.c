/* SPDX-License-Identifier: Apache-2.0 */
/* Prints by how much the program would be faster without a cause. Bounds have two digits: they are
 * not known more exactly. */
#include "lib/report/report_without.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/report_parts.h"

/* Never more than from_ns: a bound that rounding would take beyond it has all of its digits. */
static void print_about(char *out, size_t size, uint64_t ns, uint64_t from_ns)
{
	uint64_t unit = 1, rounded;
	char *unit_at;

	while (ns / unit >= 100)
		unit *= 10;
	rounded = (ns + unit / 2) / unit * unit;
	if (rounded > from_ns) {
		report_ns(out, size, (double)(ns < from_ns ? ns : from_ns));
		return;
	}
	report_ns(out, size, (double)rounded);
	/* "4.50 s", "36.0 ms" */
	unit_at = strchr(out, ' ');
	if (!unit_at || !strchr(out, '.') || unit_at - out != 4)
		return;
	unit_at -= unit_at[-2] == '.' ? 2 : 1;
	memmove(unit_at, strchr(out, ' '), strlen(strchr(out, ' ')) + 1);
}

/* "1.4 ms to 1.5 ms instead of 1.83 ms" */
static void print_interval(struct buf *out, uint64_t low_ns, uint64_t high_ns, uint64_t from_ns)
{
	char ns[48], high[48];

	print_about(ns, sizeof(ns), low_ns, from_ns);
	print_about(high, sizeof(high), high_ns, from_ns);
	buf_puts(out, ns);
	if (strcmp(ns, high) != 0)
		buf_printf(out, " to %s", high);
	buf_printf(out, " instead of %s", report_ns(ns, sizeof(ns), (double)from_ns));
}

void report_without(struct buf *out, const struct report *r, const struct finding *c, bool color)
{
	for (size_t i = 0; i < c->without.n; i++) {
		const struct finding_without *s = &c->without.v[i];

		if (i == 0)
			report_chain_heading(out, r, color, "Without it");
		else
			buf_puts(out, ", ");
		if (bytes_equal(s->what, bytes_of("step"))) {
			buf_puts(out, "an average step takes ");
		} else if (bytes_equal(s->what, bytes_of("p99"))) {
			buf_puts(out, "p99 of ");
			report_print_text(out, s->op, "?");
			buf_puts(out, " is ");
		} else {
			buf_puts(out, "all of it takes ");
		}
		print_interval(out, s->low_ns, s->high_ns, s->from_ns);
	}
	if (c->without.n)
		buf_putc(out, '\n');
}

/* Findings of the process that say what a step would take without them. */
static unsigned count_findings(const struct report *r, struct json process)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->chains->v.n; i++) {
		const struct finding *c = &r->chains->v.v[i];

		for (size_t k = 0;
		     report_selects(r, c) && report_is_of(c, process) && k < c->without.n; k++)
			n += bytes_equal(c->without.v[k].what, bytes_of("step"));
	}
	return n;
}

static bool is_main(struct json t)
{
	return report_number(t, "tid") == report_number(t, "pid");
}

/* Whether the main thread of its process is one of all, besides. */
static bool has_main(struct json all, struct json t)
{
	bool has = false;

	for (size_t i = 0; i < json_length(all) && !has; i++) {
		struct json other = json_at(all, i);

		has = is_main(other) && report_same_process(other, t);
		json_free(other);
	}
	return has;
}

static void print_all(struct buf *out, struct json t)
{
	struct json comm = json_get(t, "comm");

	buf_puts(out, "\nWithout all that took from its steps at once, an average step of ");
	fmt_safe(out, json_bytes(comm));
	buf_printf(out, " (pid %.0f", report_number(t, "pid"));
	if (!is_main(t))
		buf_printf(out, ", thread %.0f", report_number(t, "tid"));
	buf_puts(out, ") takes ");
	print_interval(out, (uint64_t)report_number(t, "low_ns"),
		       (uint64_t)report_number(t, "high_ns"),
		       (uint64_t)report_number(t, "from_ns"));
	buf_puts(out, ", with its own work as it is.\n");
	json_free(comm);
}

void report_without_all(struct buf *out, const struct report *r)
{
	struct json all = json_get(r->chains->analysis, "without_all");

	for (size_t i = 0; i < json_length(all); i++) {
		struct json t = json_at(all, i);

		if (count_findings(r, t) > 1 && (is_main(t) || !has_main(all, t)))
			print_all(out, t);
		json_free(t);
	}
	json_free(all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the device memory of each process: a heading, and a table of the call sites that allocated
 * it. */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"

#define PROCESSES_SHOWN 5
#define SITES_SHOWN	5

static const char *bytes_text(struct fmt_text *t, double n)
{
	*t = fmt_bytes((uint64_t)n);
	return t->s;
}

static void print_heading(struct buf *out, const struct report *r, struct json p, bool color)
{
	double unknown = report_number(p, "unknown_frees"), beyond = report_number(p, "not_kept"),
	       pinned = report_number(p, "pinned_bytes");
	struct fmt_text t;
	char ns[48];

	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Memory of ");
	report_member(out, p, "comm", "?");
	buf_printf(out, " (pid %.0f)", report_number(p, "pid"));
	report_on(out, r, p);
	report_style(out, color, "0");
	buf_printf(out, ": %s at most, %s after the start",
		   bytes_text(&t, report_number(p, "peak_bytes")),
		   report_ns(ns, sizeof(ns), report_number(p, "peak_ns")));
	buf_printf(out, "; %s when %s ended", bytes_text(&t, report_number(p, "live_bytes")),
		   report_is_true(p, "ended") ? "it" : "the recording");
	if (pinned > 0)
		buf_printf(out, "; besides %s of the host, pinned", bytes_text(&t, pinned));
	buf_puts(out, "; ");
	buf_puts(out, fmt_count((uint64_t)report_number(p, "allocations")).s);
	buf_puts(out, " allocations, ");
	buf_puts(out, fmt_count((uint64_t)report_number(p, "frees")).s);
	buf_puts(out, " frees");
	if (unknown > 0)
		buf_printf(out, ", %s more of what was allocated before or unseen",
			   fmt_count((uint64_t)unknown).s);
	if (beyond > 0)
		buf_printf(out, "; %s allocations were too many to keep: bytes are a lower bound",
			   fmt_count((uint64_t)beyond).s);
	if (report_has_paused_tier(r, TIER_ALLOCATIONS))
		buf_puts(out, " (calls as recorded, in windows)");
	buf_putc(out, '\n');
}

static void print_sites(struct buf *out, const struct report *r, struct json p)
{
	static const char *const headers[] = { ">at most", ">at the end", ">allocations",
					       ">call",	   "from",	  NULL };
	struct json all = json_get(p, "sites");
	size_t n = json_length(all);
	struct table *t = n ? table_new(headers) : NULL;
	struct buf text = { 0 };
	struct fmt_text b;

	out->failed |= n && !t;
	for (size_t i = 0; t && i < n && i < SITES_SHOWN; i++) {
		struct json s = json_at(all, i);

		table_cell(t, "%s", bytes_text(&b, report_number(s, "bytes_at_peak")));
		table_cell(t, "%s", bytes_text(&b, report_number(s, "live_bytes")));
		table_cell(t, "%s", fmt_count((uint64_t)report_number(s, "allocations")).s);
		report_member(&text, s, "op", "");
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
		report_member(&text, s, "text", "(no stack)");
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
		json_free(s);
	}
	if (t)
		table_fold(out, t, 4, false, r->columns);
	out->failed |= text.failed;
	table_free(t);
	buf_free(&text);
	json_free(all);
}

void report_memory_text(struct buf *out, const struct report *r, bool color)
{
	struct json all = json_get(r->chains->analysis, "memory");
	unsigned shown = 0;

	for (size_t i = 0; i < json_length(all) && shown < PROCESSES_SHOWN; i++) {
		struct json p = json_at(all, i);

		if (report_shows(r, p) && report_number(p, "allocations") > 0) {
			print_heading(out, r, p, color);
			print_sites(out, r, p);
			shown++;
		}
		json_free(p);
	}
	json_free(all);
}

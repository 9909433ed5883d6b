/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report of ingero-check: a head, one line per check with its advice below, the
 * verdict. */
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/report/check_json.h"

static void print_verdict(const struct verdict_line *l, struct buf *out, bool color)
{
	static const char *const word[] = { "ok", "warn", "FAIL" };
	static const enum fmt_style style[] = { FMT_GREEN, FMT_YELLOW, FMT_RED };

	buf_puts(out, "  ");
	fmt_styled(out, color, style[l->verdict], word[l->verdict]);
	buf_printf(out, "%*s%-10s ", (int)(6 - strlen(word[l->verdict])), "", l->id);
	fmt_safe(out, bytes_of(l->text));
	buf_putc(out, '\n');
	if (l->advice)
		buf_printf(out, "%19s-> %s\n", "", l->advice);
}

void check_text(const struct check_report *r, struct buf *out, bool quiet, bool color)
{
	if (!quiet)
		buf_printf(out, "%s: Linux on %s, %u CPUs, %s%s%s\n\n", r->hostname, r->arch,
			   r->cpus, fmt_bytes(r->memory_bytes).s, r->hypervisor[0] ? ", " : "",
			   r->hypervisor);
	for (size_t i = 0; i < r->lines.n; i++)
		if (!quiet || r->lines.v[i].verdict != VERDICT_GOOD)
			print_verdict(&r->lines.v[i], out, color);
	if (quiet)
		return;
	buf_puts(out, verdicts_passed(&r->lines)
			      ? "\nThis machine can record:  ingero-record -- COMMAND\n"
			      : "\nThis machine cannot record yet: see FAIL above.\n");
}

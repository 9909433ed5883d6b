/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a step without a cause: two digits, and never longer than the step is. */
#include "tests/tap.h"

#include "lib/report/report_parts.h"
#include "lib/report/report_without.h"

struct row {
	const char *name;
	uint64_t low_ns, high_ns, from_ns;
	const char *want;
};

static const struct row rows[] = {
	{ "two digits", 7234567, 9876543, 12800000, "7.2 ms to 9.9 ms instead of 12.8 ms" },
	{ "one bound where both are rounded to it", 7230000, 7180000, 12800000,
	  "7.2 ms instead of 12.8 ms" },
	{ "rounded beyond what it was", 11700000, 12600000, 12800000,
	  "12 ms to 12.6 ms instead of 12.8 ms" },
	{ "nothing gained", 12800000, 12800000, 12800000, "12.8 ms instead of 12.8 ms" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r = { .columns = 80 };
		struct finding f = { 0 };
		struct finding_without *w = finding_add(&f, without);
		struct buf out = { 0 };
		char want[160];

		w->what = bytes_of("step");
		w->low_ns = rows[i].low_ns;
		w->high_ns = rows[i].high_ns;
		w->from_ns = rows[i].from_ns;
		report_without(&out, &r, &f, false);
		snprintf(want, sizeof(want), "    Without it  an average step takes %s\n",
			 rows[i].want);
		buf_putc(&out, '\0');
		is_str(out.p, want, "%s", rows[i].name);
		buf_free(&out);
		finding_free(&f);
	}
	return tap_done();
}

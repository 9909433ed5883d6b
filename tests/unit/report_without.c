/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a step without a cause: two digits, and never longer than the step is. And a step
 * without all causes, once for a process. */
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

static void add_finding(struct chain_list *list, unsigned pid)
{
	struct finding f = { .victim.pid = pid };

	*finding_add(&f, without) = (struct finding_without){ .what = bytes_of("step") };
	if (!vec_push(&list->v, f))
		finding_free(&f);
}

/* Threads of a process with several findings, and of one that has a single one. */
static void without_all(void)
{
	static const char text[] = "{\"without_all\":["
				   "{\"pid\":7,\"tid\":9,\"node\":\"\",\"comm\":\"a\",\"from_ns\":"
				   "9000,\"low_ns\":1000,"
				   "\"high_ns\":2000},"
				   "{\"pid\":7,\"tid\":7,\"node\":\"\",\"comm\":\"a\",\"from_ns\":"
				   "8000,\"low_ns\":3000,"
				   "\"high_ns\":4000},"
				   "{\"pid\":8,\"tid\":10,\"node\":\"\",\"comm\":\"b\",\"from_ns\":"
				   "8000,\"low_ns\":5000,"
				   "\"high_ns\":6000},"
				   "{\"pid\":6,\"tid\":6,\"node\":\"\",\"comm\":\"c\",\"from_ns\":"
				   "8000,\"low_ns\":5000,"
				   "\"high_ns\":6000}]}";
	struct chain_list list = { 0 };
	struct report r = { .columns = 80, .chains = &list };
	struct buf out = { 0 };

	for (unsigned i = 0; i < 4; i++)
		add_finding(&list, 7 + i / 2);
	add_finding(&list, 6);
	ok(json_parse(bytes_of(text), &list.analysis, NULL) == 0, "the answer is JSON");
	report_without_all(&out, &r);
	buf_putc(&out, '\0');
	is_str(out.p,
	       "\nWithout all that took from its steps at once, an average step of a (pid 7) takes "
	       "3.0 us to 4.0 us instead of 8.00 us, with its own work as it is.\n"
	       "\nWithout all that took from its steps at once, an average step of b (pid 8, "
	       "thread "
	       "10) takes 5.0 us to 6.0 us instead of 8.00 us, with its own work as it is.\n",
	       "the main thread of a process, else another one that is named");
	buf_free(&out);
	chain_list_free(&list);
}

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
	without_all();
	return tap_done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One heading a process, then a stack a place, as debuggers show them: innermost first. */
#include "lib/emit/report_standing.h"

#include "lib/base/human.h"
#include "lib/emit/report_parts.h"
#include "lib/event/part.h"

#define STANDS_STILL 0.9 /* of the time of a process */
#define PLACES	     8

static bool of_process(struct json wait, struct json process)
{
	struct json a = json_get(wait, "node"), b = json_get(process, "node");
	bool is = report_number(wait, "pid") == report_number(process, "pid") &&
		  bytes_equal(json_bytes(a), json_bytes(b));

	json_free(a);
	json_free(b);
	return is;
}

/* False: it has no stack. */
static bool place(struct buf *out, struct json wait)
{
	struct json frames = json_get(wait, "frames"), part = json_get(wait, "part");
	double threads = report_number(wait, "threads");
	size_t n = json_length(frames);
	char a[48];

	enum part in = part_of(json_bytes(part));

	/* Of one that does not come on, "for work" is not known. */
	buf_printf(out, "  %9s  %s", report_ns(a, sizeof(a), report_number(wait, "longest_ns")),
		   in == PART_IDLE ? "waiting for another thread (condition, semaphore)"
				   : part_text(in));
	if (threads > 1)
		buf_printf(out, ", %.0f threads", threads);
	buf_putc(out, '\n');
	for (size_t i = 0; i < n; i++) {
		struct json f = json_at(frames, i);

		buf_puts(out, "             ");
		human_safe(out, json_bytes(f));
		buf_putc(out, '\n');
		json_free(f);
	}
	json_free(part);
	json_free(frames);
	return n > 0;
}

void report_standing_commands(struct buf *out, double pid)
{
	buf_printf(out,
		   "    $ sudo gdb -p %.0f -batch -ex 'thread apply all bt'\n"
		   "    $ sudo py-spy dump --pid %.0f      (of Python)\n",
		   pid, pid);
}

bool report_standing(struct buf *out, const struct report *r, struct json process)
{
	struct json all = json_get(r->chains->analysis, "standing");
	double sum = 0, shown = 0, more = 0;
	bool whole = true, is;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json wait = json_at(all, i);

		sum += of_process(wait, process) ? report_number(wait, "sum_ns") : 0;
		json_free(wait);
	}
	is = sum > 0 && sum > STANDS_STILL * report_number(process, "thread_ns");
	if (is) {
		report_member(out, process, "comm", "?");
		buf_printf(
			out,
			" (pid %.0f) stood still. What its threads waited for when the recording "
			"ended:\n",
			report_number(process, "pid"));
	}
	for (size_t i = 0; is && i < json_length(all); i++) {
		struct json wait = json_at(all, i);

		if (!of_process(wait, process))
			;
		else if (shown++ < PLACES)
			whole &= place(out, wait);
		else
			more += report_number(wait, "threads");
		json_free(wait);
	}
	if (more)
		buf_printf(out, "             and %.0f more threads elsewhere\n", more);
	if (is && !whole) {
		buf_puts(out, "Where, its threads say:\n");
		report_standing_commands(out, report_number(process, "pid"));
	}
	json_free(all);
	return is;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the verdict of a report without findings. It gives the number of recorded calls, because a
 * recording of few calls proves nothing. */
#include "lib/report/report_verdict.h"

#include "lib/base/fmt.h"
#include "lib/base/timetext.h"
#include "lib/report/report_breakdown.h"
#include "lib/report/report_oncpu.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"
#include "lib/report/report_standing.h"
#include "lib/event/part.h"

#define STANDS_STILL 0.9 /* of the time of a process, in one state */

/* The state in which a process was nearly all of its time; PART_COUNT: there is none, or it ran, or
 * it has ended: who does that does not stand still. */
static enum part stood_in(struct json p)
{
	struct json parts = json_get(p, "parts");
	double all = report_number(p, "thread_ns");
	enum part in = PART_COUNT;

	for (unsigned i = 0; i < PART_COUNT && !report_is_true(p, "exited"); i++)
		if (i != PART_SELF && i != PART_UNKNOWN && all > 0 &&
		    report_number(parts, part_name((enum part)i)) > STANDS_STILL * all)
			in = (enum part)i;
	json_free(parts);
	return in;
}

/* Nobody made a call: what they did instead, and how to see where. */
static void no_calls(struct buf *out, const struct report *r, struct json all)
{
	double wall = report_number(r->chains->analysis, "wall_ns"), before;
	char a[48];

	if (report_has_uncovered(r, &before) || report_has_paused(r)) {
		buf_printf(out,
			   "No call is in the recording of %s, and whether any was made is not "
			   "known:\n",
			   report_ns(a, sizeof(a), wall));
		report_uncovered_lines(out, r, "    ");
	} else {
		buf_printf(out, "No call was made in %s: none began, and none returned.\n",
			   report_ns(a, sizeof(a), wall > before ? wall - before : wall));
	}
	report_standing(out, r);
	for (size_t i = 0, said = 0; i < json_length(all) && said < 3; i++) {
		struct json p = json_at(all, i);
		enum part in =
			report_shows(r, p) && !report_stands(r, p) ? stood_in(p) : PART_COUNT;

		if (in != PART_COUNT) {
			report_member(out, p, "comm", "?");
			buf_printf(out, " (pid %.0f) stood still: %s. Where, its threads say:\n",
				   report_number(p, "pid"), part_text(in));
			report_standing_commands(out, report_number(p, "pid"));
			said++;
		}
		json_free(p);
	}
}

void report_verdict_no_library(struct buf *out, const struct report *r)
{
	double before;

	if (r->no_library && !r->partial && !r->growing && report_no_calls(r) &&
	    !report_has_uncovered(r, &before))
		buf_puts(out,
			 "No CUDA library was seen: no recorded process had libcudart, libcuda or "
			 "libnccl loaded, so this says nothing of a GPU.\n");
}

size_t report_processes(const struct report *r, double *calls)
{
	struct json all = json_get(r->chains->analysis, "processes");
	size_t shown = 0;

	*calls = 0;
	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i);

		shown += report_shows(r, p);
		*calls += report_shows(r, p) ? report_number(p, "calls") : 0;
		json_free(p);
	}
	json_free(all);
	return shown;
}

bool report_no_calls(const struct report *r)
{
	double calls;

	return report_processes(r, &calls) && calls == 0;
}

void report_verdict_calls(struct buf *out, const struct report *r)
{
	struct json all = json_get(r->chains->analysis, "processes");

	if (report_no_calls(r)) {
		buf_putc(out, '\n');
		no_calls(out, r, all);
	}
	json_free(all);
}

static unsigned count_hidden(const struct report *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->chains->v.n; i++)
		n += r->chains->v.v[i].hidden;
	return n;
}

bool report_healthy(const struct report *r)
{
	double calls, before;

	return !count_hidden(r) && r->events && !r->partial && report_recorded(r, "host_recorded") &&
	       report_processes(r, &calls) && calls > 0 && !report_has_uncovered(r, &before) &&
	       !report_has_blind_tier(r);
}

void report_verdict_none(struct buf *out, const struct report *r)
{
	struct json all = json_get(r->chains->analysis, "processes");
	double host = 0, whole = 0, thread = 0, device = 0, calls;
	size_t shown = report_processes(r, &calls);
	unsigned hidden = count_hidden(r);
	char a[48];

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i), parts = json_get(p, "calling_parts");

		if (report_shows(r, p)) {
			host += report_number(p, "host_ns");
			whole += report_number(p, "thread_ns");
			thread += report_number(p, "calling_thread_ns");
			device += report_number(parts, "device");
		}
		json_free(parts);
		json_free(p);
	}
	if (hidden)
		buf_printf(out, "%u cause%s found, none of them in what was asked for.\n", hidden,
			   hidden == 1 ? " was" : "s were");
	else if (r->events == 0 && r->asleep)
		buf_puts(out, "Nothing ended here: threads sleep, and no event is in it. A longer "
			      "part says more.\n");
	else if (r->events == 0 && r->partial)
		buf_puts(out, "Nothing can be said: no event could be read.\n");
	else if (r->events == 0 && r->growing)
		buf_puts(out, "Nothing can be said yet: the recording has just begun and holds no "
			      "events.\n");
	else if (r->events == 0 && r->open)
		buf_printf(out,
			   "Nothing ended here: %s call%s open at the end, and no other event is "
			   "in it. A longer part says more.\n",
			   fmt_count(r->open).s, r->open == 1 ? " was" : "s were");
	else if (r->events == 0)
		buf_puts(out, "Nothing was recorded: the recording holds no events, so nothing can "
			      "be said about its processes.\n");
	else if (json_length(all) == 0)
		buf_puts(out,
			 "Nothing can be said: the recording holds no thread's calls or waits.\n");
	else if (shown == 0)
		buf_puts(out, "Nothing can be said: the recording holds no process of that number "
			      "that made calls or waited.\n");
	else if (!report_recorded(r, "host_recorded"))
		buf_puts(out, "Nothing can be said about the host: the recording has no off-CPU "
			      "intervals (recorded without "
			      "scheduler events), so only the calls themselves are known.\n");
	else if (calls == 0)
		no_calls(out, r, all);
	else {
		buf_printf(out, "No host cause found: the host took %s",
			   report_ns(a, sizeof(a), host));
		if (whole > 0)
			buf_printf(out, ", %.1f%% of the time of the recorded threads",
				   host / whole * 100);
		if (thread > 0)
			buf_printf(out,
				   "; those that make calls waited %.1f%% of theirs for the device",
				   device / thread * 100);
		buf_puts(out, ". If anything is slow, it is the device or the program itself.\n");
		report_oncpu_sentence(out, r);
	}
	json_free(all);
}

/* What share of the calls figures are of. */
static void left_out(struct buf *out, const struct report *r)
{
	double missing = report_number(r->chains->analysis, "calls_left_out"),
	       calls = report_number(r->chains->analysis, "calls");

	if (!(missing > 0))
		return;
	buf_printf(out,
		   "Calls: %.0f of %.0f were recorded (%.0f %%), the others only counted: "
		   "counts and sums are lower bounds, times without calls upper bounds.\n",
		   calls, calls + missing, calls / (calls + missing) * 100);
}

static void print_missing(struct buf *out, const struct report *r)
{
	for (size_t i = 0; r->missing && i < r->missing->v.n; i++) {
		const struct missing_row *m = &r->missing->v.v[i];
		struct buf on = { 0 };

		report_on_node(&on, r, bytes_of(m->on));
		buf_puts(out, "Missing: ");
		missing_text(out, m->lost, m->of, bytes_of(m->what), buf_bytes(&on),
			     bytes_of(m->reason));
		buf_puts(out, ".\n");
		buf_free(&on);
	}
}

void report_coverage(struct buf *out, const struct report *r)
{
	double lost = report_number(r->chains->analysis, "lost_events"),
	       late = report_number(r->chains->analysis, "late_events");
	char t[64];
	double before;

	buf_puts(out, "\nCoverage: ");
	buf_puts(out, fmt_count(r->events).s);
	buf_printf(out, " events over %s, ",
		   report_ns(t, sizeof(t), (double)(r->end_ns - r->start_ns)));
	buf_puts(out, fmt_count(lost > (double)r->lost ? (uint64_t)lost : r->lost).s);
	buf_puts(out, " lost");
	if (late > 0)
		buf_printf(out, ", %.0f too late to be placed", late);
	if (lost > 0 || r->lost)
		buf_puts(out, " (every figure is a lower bound)");
	if (r->has_real && r->has_start)
		buf_printf(out, ", from %s",
			   time_local(t, sizeof(t), r->start_ns + r->real_minus_mono_ns, true));
	buf_putc(out, '\n');
	left_out(out, r);
	report_paused_lines(out, r, "Partly: ");
	if (!report_no_calls(r) || !report_has_uncovered(r, &before))
		report_uncovered_lines(out, r, "Missing: ");
	report_recorder_line(out, r);
	print_missing(out, r);
	if (r->partial) {
		buf_puts(out, "Incomplete: ");
		fmt_safe(out, r->partial_text.n
				      ? r->partial_text
				      : bytes_of("the input could not be read to its end"));
		buf_puts(out, "; the report covers what could be read.\n");
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of steps: of each program how long they take, what an average one consists of, and the
 * slow ones, each with what it has more of than the average one.
 */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/report_parts.h"

#define PARTS_SHOWN 8
#define PART_LEAST  0.01 /* of an average step */

/* How many there were, with those that were not seen one by one. */
static double count_of(struct json s)
{
	double all = report_number(s, "estimated_count");

	return all > 0 ? all : report_number(s, "count");
}

static void print_count(struct buf *out, struct json s)
{
	if (report_number(s, "estimated_count") > 0)
		buf_puts(out, report_is_true(s, "at_least") ? ">=" : "~");
	buf_puts(out, fmt_count((uint64_t)count_of(s)).s);
}

/* The largest of the parts that was not taken yet, and its name; 0: there is none. */
static double take_largest(struct json parts, uint64_t *taken, struct buf *name)
{
	struct json key, value;
	unsigned number = 0, best = 64;
	double most = 0;

	for (int at = 0; json_each(parts, &at, &key, &value); number++) {
		double ns = json_double(value, 0);

		if (number < 64 && !(*taken >> number & 1) && ns > most) {
			most = ns;
			best = number;
			buf_reset(name);
			fmt_safe(name, json_bytes(key));
		}
		json_free(key);
		json_free(value);
	}
	if (best < 64)
		*taken |= UINT64_C(1) << best;
	return most;
}

/* "own code 1.2 ms, device 0.4 ms": most first. */
static void print_parts(struct buf *out, struct json s)
{
	struct json parts = json_get(s, "parts");
	double all = report_number(s, "total_ns");
	struct buf name = { 0 };
	uint64_t taken = 0;
	char text[48];

	buf_puts(out, "On average:  ");
	for (unsigned shown = 0; shown < PARTS_SHOWN; shown++) {
		double ns = take_largest(parts, &taken, &name);

		if (ns <= 0 || ns < PART_LEAST * all)
			break;
		buf_printf(out, "%s%s %s", shown ? ", " : "", buf_text(&name),
			   report_ns(text, sizeof(text), ns / count_of(s)));
	}
	buf_putc(out, '\n');
	out->failed |= name.failed;
	buf_free(&name);
	json_free(parts);
}

static void print_average(struct buf *out, struct json s)
{
	double ns = report_number(s, "last_ns") - report_number(s, "first_ns");
	char a[48], b[48], m[48];

	print_count(out, s);
	buf_puts(out, " steps of ");
	report_member(out, s, "loop", "?");
	if (ns > 0)
		buf_printf(out, ", %.1f a second", count_of(s) / (ns / 1e9));
	if (report_number(s, "p50_ns") > 0)
		buf_printf(out, ": median %s, p99 %s, longest %s",
			   report_ns(a, sizeof(a), report_number(s, "p50_ns")),
			   report_ns(b, sizeof(b), report_number(s, "p99_ns")),
			   report_ns(m, sizeof(m), report_number(s, "max_ns")));
	buf_putc(out, '\n');
	if (report_number(s, "calls") > 0) {
		buf_printf(out, "Each makes:  %s copies, waits and graph launches, told apart by ",
			   fmt_count((uint64_t)report_number(s, "calls")).s);
		report_member(out, s, "call", "?");
		buf_putc(out, '\n');
	}
	print_parts(out, s);
}

/* "sleeps in step (a.py:3) 4.10 ms; ...": what it has more of. */
static void print_more(struct buf *out, struct json step)
{
	struct json more = json_get(step, "more");
	char text[48];

	if (!json_length(more))
		buf_puts(out, "nothing that stands out");
	for (size_t i = 0; i < json_length(more); i++) {
		struct json one = json_at(more, i);

		buf_printf(out, "%s%s ", i ? "; " : "",
			   report_ns(text, sizeof(text), report_number(one, "more_ns")));
		report_member(out, one, "text", "?");
		json_free(one);
	}
	json_free(more);
}

static void print_slow(struct buf *out, const struct report *r, struct json s)
{
	static const char *const headers[] = {
		">step", ">after", ">took", ">of median", "what it had more of than the average",
		NULL
	};
	struct json all = json_get(s, "slow");
	size_t n = json_length(all), shown = r->top && r->top < n ? r->top : n;
	double median = report_number(s, "p50_ns"), count = report_number(s, "slow_count");
	struct table *t = shown ? table_new(headers) : NULL;
	struct buf text = { 0 };
	char a[48], b[48];

	buf_printf(out, "%s took half as much again as the median, or more%s\n",
		   count > 0 ? fmt_count((uint64_t)count).s : "None",
		   shown && (double)shown < count ? "; the longest:"
		   : shown			  ? ":"
						  : "");
	out->failed |= shown && !t;
	for (size_t i = 0; t && i < shown; i++) {
		struct json step = json_at(all, i);
		double ns = report_number(step, "dur_ns");

		table_cell(t, "%.0f", report_number(step, "number"));
		table_cell(t, "%s", report_ns(a, sizeof(a), report_number(step, "t_ns")));
		table_cell(t, "%s", report_ns(b, sizeof(b), ns));
		table_cell(t, "%.1f x", median > 0 ? ns / median : 0);
		print_more(&text, step);
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
		json_free(step);
	}
	if (t)
		table_fold(out, t, 2, false, r->columns);
	out->failed |= text.failed;
	buf_free(&text);
	table_free(t);
	json_free(all);
}

void report_view_steps(struct buf *out, const struct report *r, bool color)
{
	struct json all = json_get(r->chains->analysis, "steps");
	unsigned shown = 0;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json s = json_at(all, i);

		if (report_shows(r, s)) {
			if (shown++)
				buf_putc(out, '\n');
			report_process_heading(out, s, "Steps of ", color);
			print_average(out, s);
			print_slow(out, r, s);
		}
		json_free(s);
	}
	if (shown == 0)
		buf_puts(out,
			 "No steps: no program of what was asked for has a loop in its Python "
			 "stacks, or repeats copies, waits for the device and graph launches.\n");
	json_free(all);
}

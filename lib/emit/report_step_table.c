/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow step is set against the average one, state by state: what it has more of made it slow.
 */
#include "lib/emit/report_step_table.h"

#include "lib/base/human.h"
#include "lib/base/table.h"
#include "lib/emit/report_parts.h"
#include "lib/emit/report_steps.h"
#include "lib/event/part.h"

#define REASONS_SHOWN 3
#define REASON_LEAST  0.05 /* of what a slow step has more than an average one */
#define PART_LEAST    0.01 /* of an average step */
#define LOOP_FOUND    5	   /* steps until a loop is known for one (line/steps.h) */

struct states {
	double ns[PART_COUNT], all;
};

/* count: of how many steps these are the states. */
static struct states states_of(struct json object, double count)
{
	struct json parts = json_get(object, "parts");
	struct states s = { .all = 0 };

	for (unsigned i = 0; i < PART_COUNT; i++) {
		s.ns[i] = report_number(parts, part_name((enum part)i)) / (count > 0 ? count : 1);
		s.all += s.ns[i];
	}
	json_free(parts);
	return s;
}

/* The state that there is most of beyond `less`, of those not taken yet; PART_COUNT: none. */
static unsigned most_of(const struct states *s, const struct states *less, uint32_t taken,
			double least)
{
	unsigned most = PART_COUNT;
	double most_ns = least;

	for (unsigned i = 0; i < PART_COUNT; i++) {
		double ns = s->ns[i] - less->ns[i];

		if (!(taken >> i & 1) && ns > most_ns) {
			most = i;
			most_ns = ns;
		}
	}
	return most;
}

/* "preempted 4.1 ms, waiting for the GPU 1.2 ms": what s has more than less, most first. */
static bool more_of(struct buf *out, const struct states *s, const struct states *less,
		    unsigned most, double least)
{
	uint32_t taken = 0;
	unsigned shown = 0;
	char ns[48];

	while (shown < most) {
		unsigned i = most_of(s, less, taken, least);

		if (i == PART_COUNT)
			break;
		taken |= 1u << i;
		buf_puts(out, shown++ ? ", " : "");
		buf_printf(out, "%s %s", part_text((enum part)i),
			   report_ns(ns, sizeof(ns), s->ns[i] - less->ns[i]));
	}
	return shown > 0;
}

static void heading(struct buf *out, struct json s, bool color)
{
	struct json node = json_get(s, "node");

	report_style(out, color, "1");
	buf_puts(out, "== Steps of ");
	report_member(out, s, "comm", "?");
	buf_printf(out, " (pid %.0f, tid %.0f)", report_number(s, "pid"), report_number(s, "tid"));
	if (json_bytes(node).n) {
		buf_puts(out, " on ");
		human_safe(out, json_bytes(node));
	}
	report_style(out, color, "0");
	buf_putc(out, '\n');
	json_free(node);
}

static void sequence(struct buf *out, struct json s)
{
	struct json calls = json_get(s, "sequence");
	size_t n = json_length(calls);

	for (size_t i = 0; i < n; i++) {
		struct json call = json_at(calls, i);

		buf_puts(out, i ? "             " : "Each makes:  ");
		report_member(out, call, "op", "?");
		buf_puts(out, " in ");
		report_member(out, call, "text", "(no stack)");
		buf_puts(out, i + 1 == n ? ", which ends it\n" : "\n");
		json_free(call);
	}
	json_free(calls);
}

static void average(struct buf *out, struct json s, const struct states *mean)
{
	static const struct states nothing;
	double wall = report_number(s, "last_ns") - report_number(s, "first_ns");
	char a[48], b[48], m[48];

	report_steps_count(out, s);
	buf_puts(out, report_number(s, "windows") > 0 ? "" : " steps");
	if (wall > 0)
		buf_printf(out, ", %.1f a second", report_steps_made(s) / (wall / 1e9));
	buf_printf(out, ": median %s, p99 %s, longest %s\n",
		   report_ns(a, sizeof(a), report_number(s, "p50_ns")),
		   report_ns(b, sizeof(b), report_number(s, "p99_ns")),
		   report_ns(m, sizeof(m), report_number(s, "max_ns")));
	buf_puts(out, "On average:  ");
	if (!more_of(out, mean, &nothing, PART_COUNT, PART_LEAST * mean->all))
		buf_puts(out, "not known");
	buf_putc(out, '\n');
}

static void slow(struct buf *out, const struct report *r, struct json s, const struct states *mean)
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
		   count > 0 ? human_count((uint64_t)count).s : "None",
		   shown && (double)shown < count ? "; the longest:"
		   : shown			  ? ":"
						  : "");
	out->failed |= shown && !t;
	for (size_t i = 0; t && i < shown; i++) {
		struct json step = json_at(all, i);
		struct states own = states_of(step, 1);
		double ns = report_number(step, "dur_ns");

		table_cell(t, "%.0f", report_number(step, "number"));
		table_cell(t, "%s", report_ns(a, sizeof(a), report_number(step, "t_ns")));
		table_cell(t, "%s", report_ns(b, sizeof(b), ns));
		table_cell(t, "%.1f x", median > 0 ? ns / median : 0);
		/* Steps made before the loop was known: what was in them was not kept. */
		if (report_number(step, "number") <= LOOP_FOUND && own.ns[PART_SELF] >= ns)
			buf_puts(&text, "not known");
		else if (!more_of(&text, &own, mean, REASONS_SHOWN,
				  REASON_LEAST * (own.all - mean->all)))
			buf_puts(&text, "nothing that stands out");
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
			struct states mean = states_of(s, report_number(s, "count"));

			if (shown++)
				buf_putc(out, '\n');
			heading(out, s, color);
			report_steps_unseen(out, s, "");
			average(out, s, &mean);
			sequence(out, s);
			slow(out, r, s, &mean);
		}
		json_free(s);
	}
	if (shown == 0)
		buf_puts(out, "No steps: no thread of what was asked for repeats the same copies, "
			      "waits for "
			      "the device and graph launches five times in a row.\n");
	json_free(all);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what changed between two recordings. The first lines say whether it got slower and which
 * cause changed most; the tables below them give every figure of both sides. Lost time is per
 * second of wall time, because recordings differ in length.
 */
#include "lib/report/diff_text.h"

#include <inttypes.h>
#include <math.h>

#include "lib/base/fmt.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"
#include "lib/event/chain.h"

#define RATE_MATTERS 0.02 /* of launches per second: less is said to be the same */

static void print_rate_change(struct buf *out, const struct diff *d)
{
	double before = diff_per_s(d, DIFF_BEFORE, d->launches[DIFF_BEFORE]),
	       after = diff_per_s(d, DIFF_AFTER, d->launches[DIFF_AFTER]);
	double by = before > 0 ? after / before - 1 : 0;

	if (d->events[DIFF_BEFORE] == 0 || d->events[DIFF_AFTER] == 0)
		buf_printf(out, "Nothing can be compared: %s holds no events.\n",
			   d->events[DIFF_BEFORE] ? "the second recording" : "the first recording");
	else if (before <= 0 || after <= 0)
		buf_puts(out, "How fast it goes cannot be compared: kernels are not launched in "
			      "both recordings.\n");
	else if (fabs(by) < RATE_MATTERS)
		buf_printf(out,
			   "As fast as before: %.0f kernel launches per second against %.0f.\n",
			   after, before);
	else
		buf_printf(out, "%s: %.1f%% %s kernel launches per second (%.0f, before %.0f).\n",
			   by < 0 ? "Slower" : "Faster", fabs(by) * 100, by < 0 ? "fewer" : "more",
			   after, before);
}

static void most_changed(struct buf *out, const struct diff *d)
{
	bool host = d->host_recorded[DIFF_BEFORE] && d->host_recorded[DIFF_AFTER];
	unsigned told = 0;

	for (size_t i = 0; i < d->causes.n && told == 0; i++) {
		const struct diff_cause *c = &d->causes.v[i];
		unsigned side = c->side[DIFF_AFTER].known ? DIFF_AFTER : DIFF_BEFORE;

		if (!c->worse && !c->better)
			continue;
		told++;
		buf_printf(out, "%s: ",
			   c->side[DIFF_BEFORE].known && c->side[DIFF_AFTER].known
				   ? (c->worse ? "Grew most" : "Shrank most")
			   : !host    ? "Known of one alone"
			   : c->worse ? "New"
				      : "Gone");
		fmt_safe(out, c->side[side].summary);
		buf_puts(out, ".\n");
	}
	if (!host)
		buf_puts(out, "What the host took was not recorded in both: causes cannot be "
			      "compared.\n");
	else if (told == 0)
		buf_puts(out, "No cause came, went, grew or shrank.\n");
}

static void cause_cell(struct table *t, const struct diff_cause_side *s)
{
	if (s->known && s->lost_ns)
		table_cell(t, "%s", fmt_ns((uint64_t)s->lost_per_s).s);
	else
		table_cell(t, "%s", s->known ? "told" : "-");
}

static void print_causes(struct buf *out, const struct diff *d, unsigned top, unsigned columns)
{
	static const char *const headers[] = {
		"", "kind", ">lost/s before", ">after", "what", NULL
	};
	struct table *t = table_new(headers);
	struct buf text = { 0 };

	out->failed |= !t;
	for (size_t i = 0; t && i < d->causes.n && (top == 0 || i < top); i++) {
		const struct diff_cause *c = &d->causes.v[i];
		unsigned side = c->side[DIFF_AFTER].known ? DIFF_AFTER : DIFF_BEFORE;

		table_cell(t, "%s", c->worse ? "worse" : c->better ? "better" : "same");
		table_cell(t, "%.*s", (int)c->kind.n, c->kind.p);
		cause_cell(t, &c->side[DIFF_BEFORE]);
		cause_cell(t, &c->side[DIFF_AFTER]);
		fmt_safe(&text, c->side[side].summary);
		table_cell(t, "%s", buf_text(&text));
		buf_reset(&text);
	}
	if (t && d->causes.n) {
		buf_puts(out, "\nCauses\n");
		table_fold(out, t, 2, false, columns);
	}
	if (top && d->causes.n > top)
		cell_more(out, d->causes.n - top, 0);
	out->failed |= text.failed;
	buf_free(&text);
	table_free(t);
}

static void print_calls(struct buf *out, const struct diff *d, unsigned top, unsigned columns)
{
	static const char *const headers[] = { "op",	      ">calls/s before", ">after",
					       ">p50 before", ">after",		 ">p99 before",
					       ">after",      ">lost/s before",	 ">after",
					       NULL };
	struct table *t = table_new(headers);
	unsigned n = top ? top : (unsigned)d->ops.n;

	out->failed |= !t;
	for (size_t i = 0; t && i < d->ops.n && i < n; i++) {
		const struct diff_op *o = &d->ops.v[i];

		table_cell(t, "%s", o->op->name);
		for (unsigned k = 0; k < DIFF_SIDES; k++)
			table_cell(t, "%s%.1f", estimate_mark(&o->all[k]),
				   diff_per_s(d, k, o->all[k].count));
		cell_pair(t, o->p50_ns, o->count);
		cell_pair(t, o->p99_ns, o->count);
		for (unsigned k = 0; k < DIFF_SIDES; k++)
			table_cell(t, "%s%s", estimate_mark(&o->all[k]),
				   fmt_ns((uint64_t)diff_per_s(d, k, o->all[k].lost_ns)).s);
	}
	if (t && d->ops.n) {
		buf_puts(out, "\nCalls, those whose time changed most first\n");
		table_fold(out, t, 2, false, columns);
	}
	if (d->ops.n > n)
		cell_more(out, d->ops.n - n, 0);
	table_free(t);
}

void diff_text(struct buf *out, const struct diff *d, unsigned top, unsigned columns, bool color)
{
	struct buf head = { 0 };

	print_rate_change(&head, d);
	if (d->events[DIFF_BEFORE] && d->events[DIFF_AFTER])
		most_changed(&head, d);
	fmt_styled(out, color, FMT_BOLD, buf_text(&head));
	print_causes(out, d, top, columns);
	print_calls(out, d, top, columns);
	buf_putc(out, '\n');
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		cell_side(out, i, d->name[i], d->events[i], d->wall_ns[i], d->lost_events[i]);
	out->failed |= head.failed;
	buf_free(&head);
}

static void side_json(struct jsonw *j, const struct diff *d, unsigned i)
{
	jsonw_key_object(j, cell_side_name(i));
	jsonw_key_str(j, "name", d->name[i]);
	jsonw_key_u64(j, "wall_ns", d->wall_ns[i]);
	jsonw_key_u64(j, "events", d->events[i]);
	jsonw_key_u64(j, "lost_events", d->lost_events[i]);
	jsonw_key_double(j, "launches_per_s", diff_per_s(d, i, d->launches[i]));
	jsonw_key_bool(j, "host_recorded", d->host_recorded[i]);
	jsonw_object_end(j);
}

static void cause_json(struct jsonw *j, const struct diff_cause *c)
{
	jsonw_object_begin(j);
	jsonw_key_bytes(j, "match", c->match);
	jsonw_key_bytes(j, "kind", c->kind);
	jsonw_key_str(j, "change", c->worse ? "worse" : c->better ? "better" : "same");
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct diff_cause_side *s = &c->side[i];

		if (!s->known) {
			jsonw_key_null(j, cell_side_name(i));
			continue;
		}
		jsonw_key_object(j, cell_side_name(i));
		jsonw_key_str(j, "severity", finding_severity_name(s->severity));
		jsonw_key_u64(j, "lost_ns", s->lost_ns);
		jsonw_key_double(j, "lost_ns_per_s", s->lost_per_s);
		jsonw_key_u64(j, "count", s->count);
		jsonw_key_bytes(j, "summary", s->summary);
		jsonw_object_end(j);
	}
	jsonw_object_end(j);
}

static void op_json(struct jsonw *j, const struct diff *d, const struct diff_op *o)
{
	jsonw_object_begin(j);
	jsonw_key_str(j, "source", o->op->source_name);
	jsonw_key_str(j, "op", o->op->name);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		jsonw_key_object(j, cell_side_name(i));
		jsonw_key_u64(j, "count", o->count[i]);
		jsonw_key_double(j, "per_s", diff_per_s(d, i, o->all[i].count));
		jsonw_key_u64(j, "errors", o->errors[i]);
		view_json_estimate(j, o->count[i], &o->all[i]);
		jsonw_key_u64(j, "total_ns", o->total_ns[i]);
		jsonw_key_u64(j, "p50_ns", o->p50_ns[i]);
		jsonw_key_u64(j, "p99_ns", o->p99_ns[i]);
		jsonw_key_u64(j, "lost_ns", o->lost_ns[i]);
		jsonw_object_end(j);
	}
	jsonw_object_end(j);
}

void diff_json(struct buf *out, const struct diff *d)
{
	struct jsonw j;

	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.diff/1");
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		side_json(&j, d, i);
	jsonw_key_array(&j, "causes");
	for (size_t i = 0; i < d->causes.n; i++)
		cause_json(&j, &d->causes.v[i]);
	jsonw_array_end(&j);
	jsonw_key_array(&j, "ops");
	for (size_t i = 0; i < d->ops.n; i++)
		op_json(&j, d, &d->ops.v[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one call, its states and the calls inside it, as text and as JSON. Each state has a letter
 * in the bar, so that the bar can be read without colour; every state that took time has at least
 * one column.
 */
#include "lib/report/call_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/fmt.h"
#include "lib/base/jsonw.h"
#include "lib/event/tier.h"

#define BAR_COLUMNS 64
#define BAR_LEAST   24
#define INNER_SHOWN 40

/* A letter and a style per state: what runs, what the host took, what the device took, what is
 * unknown. */
static const struct {
	char letter;
	enum fmt_style style;
} looks[PART_COUNT] = {
	[PART_SELF] = { '=', FMT_GREEN },	[PART_PREEMPTED] = { 'P', FMT_RED },
	[PART_RUNQ] = { 'R', FMT_RED },		[PART_CPU_IDLE] = { 'w', FMT_YELLOW },
	[PART_WAIT_UNKNOWN] = { 'W', FMT_RED }, [PART_THROTTLED] = { 'T', FMT_RED },
	[PART_STOLEN] = { 'S', FMT_RED },	[PART_DISK] = { 'D', FMT_RED },
	[PART_LOCK] = { 'L', FMT_RED },		[PART_FAULT] = { 'F', FMT_RED },
	[PART_STOPPED] = { 'X', FMT_YELLOW },	[PART_SLEEP] = { 'z', FMT_YELLOW },
	[PART_IDLE] = { 'i', FMT_YELLOW },	[PART_SOCKET] = { 's', FMT_YELLOW },
	[PART_POLL] = { 'p', FMT_YELLOW },	[PART_FD] = { 'f', FMT_YELLOW },
	[PART_CHILD] = { 'c', FMT_YELLOW },	[PART_BLOCKED] = { 'b', FMT_YELLOW },
	[PART_ATTACH] = { 'A', FMT_DIM },	[PART_RECORDER] = { 'I', FMT_DIM },
	[PART_DEVICE] = { '.', FMT_BLUE },	[PART_UNKNOWN] = { '?', FMT_DIM },
};

static void print_bar(struct buf *out, const struct call_detail *d, unsigned columns, bool color)
{
	double all = (double)(d->end_ns - d->start_ns);
	unsigned width =
		columns > BAR_LEAST + 8 && columns < BAR_COLUMNS + 8 ? columns - 8 : BAR_COLUMNS;
	char run[BAR_COLUMNS + 1];

	buf_puts(out, "    |");
	for (unsigned i = 0; i < PART_COUNT; i++) {
		double share = all > 0 ? (double)d->part_ns[i] / all * width : 0;
		unsigned n = share > 0 && share < 1 ? 1 : (unsigned)(share + 0.5);

		n = n > width ? width : n;
		for (unsigned k = 0; k < n; k++)
			run[k] = looks[i].letter;
		run[n] = 0;
		fmt_styled(out, color, looks[i].style, run);
	}
	buf_puts(out, "|\n");
}

static void print_states(struct buf *out, const struct call_detail *d)
{
	double all = (double)(d->end_ns - d->start_ns);

	for (unsigned i = 0; i < PART_COUNT; i++) {
		unsigned takers = 0;

		if (d->part_ns[i] == 0)
			continue;
		buf_printf(out, "    %c %10s %5.1f%%  %s", looks[i].letter, fmt_ns(d->part_ns[i]).s,
			   all > 0 ? (double)d->part_ns[i] / all * 100 : 0,
			   part_text((enum part)i));
		for (size_t k = 0; k < d->takers.n; k++) {
			if ((unsigned)d->takers.v[k].part != i || !d->takers.v[k].who.n)
				continue;
			buf_puts(out, takers++ ? ", " : ": ");
			fmt_safe(out, d->takers.v[k].who);
			buf_printf(out, " %s", fmt_ns(d->takers.v[k].ns).s);
		}
		buf_putc(out, '\n');
	}
}

static void print_inner_calls(struct buf *out, const struct call_detail *d)
{
	if (d->inner.n || d->inner_left_out)
		buf_puts(out, "\nInside it, since it began\n");
	if (d->inner_left_out)
		buf_puts(out, "    (what came first is not kept)\n");
	for (size_t i = 0; i < d->inner.n && i < INNER_SHOWN; i++) {
		const struct call_inner *k = &d->inner.v[i];

		buf_printf(out, "    +%10s %10s  %*s",
			   fmt_ns((uint64_t)(k->start_ns - d->start_ns)).s, fmt_ns(k->dur_ns).s,
			   (int)(k->depth > 8 ? 16 : (k->depth - 1) * 2), "");
		if (k->op) {
			buf_puts(out, k->op->name);
			if (k->ret)
				buf_printf(out, " returned %" PRId32, k->ret);
		} else {
			buf_puts(out, part_text(k->part));
		}
		if (k->who.n) {
			buf_puts(out, ": ");
			fmt_safe(out, k->who);
		}
		buf_putc(out, '\n');
	}
	if (d->inner.n > INNER_SHOWN)
		buf_printf(out, "    ... and %zu more\n", d->inner.n - INNER_SHOWN);
}

/* Says which calls inside it were not all recorded, because their tier was paused. */
static void print_paused_tiers(struct buf *out, const struct call_detail *d)
{
	bool any = false;

	if (d->of_recorded)
		buf_printf(
			out,
			"    It is the longest of those recorded: %s were recorded in windows.\n",
			op_tier_text(op_tier(d->op->id)));
	for (unsigned t = 0; t < TIERS; t++)
		if (d->paused >> t & 1) {
			buf_printf(out, "%s%s", any ? ", " : "    Not all recorded meanwhile: ",
				   op_tier_text(t));
			any = true;
		}
	if (any)
		buf_puts(out, ". Those inside count as its own code.\n");
}

void call_text(struct buf *out, const struct call_detail *d, int64_t start_ns, unsigned columns,
	       bool color)
{
	struct buf head = { 0 };

	buf_printf(&head, "%s of ", d->op->name);
	fmt_safe(&head, d->process.n ? d->process : bytes_of("?"));
	buf_printf(&head, " (pid %" PRIu32 "), thread %" PRIu32 ", %s %s", d->pid, d->tid,
		   d->open ? "has not returned for" : "took",
		   fmt_ns((uint64_t)(d->end_ns - d->start_ns)).s);
	if (d->ret)
		buf_printf(&head, " and returned %" PRId32 "%s%s", d->ret, d->error ? " " : "",
			   d->error ? d->error : "");
	fmt_styled(out, color, FMT_BOLD, buf_text(&head));
	buf_printf(out, "\nfrom +%.9f s after the start; its name is %" PRIu32 "@%" PRId64 "\n\n",
		   (double)(d->start_ns - start_ns) / 1e9, d->tid, d->end_ns);
	print_bar(out, d, columns, color);
	print_states(out, d);
	if (!d->sound)
		buf_puts(out, "    What was inside it contradicts itself: its time is unknown.\n");
	print_paused_tiers(out, d);
	print_inner_calls(out, d);
	if (d->stack.n)
		buf_puts(out, "\nCalled from\n");
	for (size_t i = 0; i < d->stack.n; i++) {
		buf_puts(out, "    ");
		fmt_safe(out, d->stack.v[i]);
		buf_putc(out, '\n');
	}
	out->failed |= head.failed;
	buf_free(&head);
}

static void takers_json(struct jsonw *j, const struct call_detail *d)
{
	jsonw_key_array(j, "takers");
	for (size_t i = 0; i < d->takers.n; i++) {
		jsonw_object_begin(j);
		jsonw_key_str(j, "part", part_name(d->takers.v[i].part));
		jsonw_key_u64(j, "ns", d->takers.v[i].ns);
		jsonw_key_bytes(j, "who", d->takers.v[i].who);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void inner_json(struct jsonw *j, const struct call_detail *d)
{
	jsonw_key_array(j, "inside");
	for (size_t i = 0; i < d->inner.n; i++) {
		const struct call_inner *k = &d->inner.v[i];

		jsonw_object_begin(j);
		jsonw_key_str(j, "op", k->op ? k->op->name : NULL);
		jsonw_key_str(j, "part", k->op ? NULL : part_name(k->part));
		jsonw_key_u64(j, "depth", k->depth);
		jsonw_key_i64(j, "since_ns", k->start_ns - d->start_ns);
		jsonw_key_u64(j, "dur_ns", k->dur_ns);
		jsonw_key_i64(j, "ret", k->ret);
		jsonw_key_bytes(j, "who", k->who);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_key_bool(j, "inside_complete", d->inner_left_out == 0);
}

void call_json(struct buf *out, const struct call_detail *d, int64_t start_ns)
{
	struct jsonw j;
	char end[24];

	snprintf(end, sizeof(end), "%" PRId64, d->end_ns);
	jsonw_init(&j, out, true);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "schema", "ingero.call/1");
	jsonw_key_str(&j, "source", d->op->source_name);
	jsonw_key_str(&j, "op", d->op->name);
	jsonw_key_bytes(&j, "comm", d->process);
	jsonw_key_bytes(&j, "node", d->node);
	jsonw_key_u64(&j, "pid", d->pid);
	jsonw_key_u64(&j, "tid", d->tid);
	jsonw_key_str(&j, "end", end);
	jsonw_key_i64(&j, "t_ns", d->start_ns - start_ns);
	jsonw_key_u64(&j, "dur_ns", (uint64_t)(d->end_ns - d->start_ns));
	jsonw_key_u64(&j, "calls_ns", d->calls_ns);
	jsonw_key_i64(&j, "ret", d->ret);
	jsonw_key_str(&j, "error", d->error);
	jsonw_key_bool(&j, "open", d->open);
	jsonw_key_bool(&j, "sound", d->sound);
	if (d->paused) {
		jsonw_key_array(&j, "paused");
		for (unsigned t = 0; t < TIERS; t++)
			if (d->paused >> t & 1)
				jsonw_str(&j, op_tier_name(t));
		jsonw_array_end(&j);
	}
	jsonw_key_object(&j, "parts");
	for (unsigned i = 0; i < PART_COUNT; i++) {
		if (d->part_ns[i])
			jsonw_key_u64(&j, part_name((enum part)i), d->part_ns[i]);
	}
	jsonw_object_end(&j);
	takers_json(&j, d);
	inner_json(&j, d);
	jsonw_key_array(&j, "stack");
	for (size_t i = 0; i < d->stack.n; i++)
		jsonw_bytes(&j, d->stack.v[i]);
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	buf_putc(out, '\n');
}

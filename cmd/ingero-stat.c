/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-stat: how often, how long, how much, for each operation of a recording; offline, or live
 * from a pipe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/ask/ops.h"
#include "lib/base/timetext.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/emit/ops_json.h"
#include "lib/input/input.h"

#define FEW_CALLS 100 /* below this a quantile says little */

static struct values {
	bool json;
	uint64_t interval_ns, last_ns;
	const char *since, *until;
	struct cli_list pids, names;
} values;

static bool interval_given, last_given;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "pid",
	  .letter = 'p',
	  .type = CLI_LIST,
	  AT(pids),
	  .arg = "PID[,PID]",
	  .group = "What is counted",
	  .help = "Only events of these processes" },
	{ .name = "event",
	  .letter = 'e',
	  .type = CLI_LIST,
	  AT(names),
	  .arg = "OP[,OP]",
	  .group = "What is counted",
	  .help = "Only these: a name, a pattern (cu*Alloc*), a source (cuda), both (driver:cu*)" },
	{ .name = "since",
	  .type = CLI_STRING,
	  AT(since),
	  .arg = "TIME",
	  .group = "What is counted",
	  .help = "Only from then on: 5m before the end, 15:40, or an ISO time" },
	{ .name = "until",
	  .type = CLI_STRING,
	  AT(until),
	  .arg = "TIME",
	  .group = "What is counted",
	  .help = "Only up to then" },
	{ .name = "last",
	  .type = CLI_DURATION,
	  AT(last_ns),
	  .arg = "TIME",
	  .group = "What is counted",
	  .help = "Only the last part of the recording",
	  .given = &last_given },
	{ .name = "json",
	  .type = CLI_FLAG,
	  AT(json),
	  .group = "Output",
	  .help = "One JSON value (formats/stat.schema.json)" },
	{ .name = "interval",
	  .type = CLI_DURATION,
	  AT(interval_ns),
	  .arg = "TIME",
	  .group = "Output",
	  .help = "From a pipe: news that often, 0 none [1s on a terminal, else 10s]",
	  .given = &interval_given },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-stat",
	.summary = "How often, how long, how much, for each operation",
	.usage = "[FILE...]",
	.options = options,
	.footer = "Without a FILE it reads standard input:\n"
		  "  ingero-record -o - -- COMMAND | ingero-stat",
};

/* ---- text ---- */

static const char *quantile(struct cli_text *t, uint64_t ns, uint64_t count)
{
	char few[sizeof(t->s)];

	*t = cli_ns(ns);
	if (count < FEW_CALLS) {
		snprintf(few, sizeof(few), "~%.40s", t->s);
		memcpy(t->s, few, sizeof(t->s));
	}
	return t->s;
}

static void ops_cells(struct cli_table *t, const struct ops_row *r, bool calls, double wall)
{
	struct cli_text text;

	cli_table_cell(t, "%s", r->op->name);
	cli_table_cell(t, "%s", cli_count(r->count).s);
	if (calls && r->errors)
		cli_table_cell_styled(t, CLI_RED, "%s", cli_count(r->errors).s);
	else if (calls)
		cli_table_cell(t, "-");
	if (r->op->track == TRACK_INSTANT) {
		for (unsigned i = 0; i < 5; i++)
			cli_table_cell(t, "-");
	} else {
		cli_table_cell(t, "%s", quantile(&text, r->p50_ns, r->count));
		cli_table_cell(t, "%s", quantile(&text, r->p95_ns, r->count));
		cli_table_cell(t, "%s", quantile(&text, r->p99_ns, r->count));
		cli_table_cell(t, "%s", cli_ns(r->max_ns).s);
		cli_table_cell(t, "%s", cli_ns(r->total_ns).s);
	}
	if (calls) {
		cli_table_cell(t, "%s", cli_ns(r->self_ns).s);
		cli_table_cell(t, "%s", wall > 0 ? cli_percent((double)r->self_ns / wall).s : "-");
	}
	if (r->lost_ns)
		cli_table_cell_styled(t, CLI_YELLOW, "%s", cli_ns(r->lost_ns).s);
	else
		cli_table_cell(t, "-");
}

static const char *heading(const char *layer)
{
	if (!strcmp(layer, "runtime"))
		return "Runtime API";
	if (!strcmp(layer, "driver"))
		return "Driver API";
	if (!strcmp(layer, "graph"))
		return "Graphs";
	if (!strcmp(layer, "nccl"))
		return "NCCL";
	return "Host";
}

/* One table per layer; *few: a quantile was marked. */
static void ops_tables(struct buf *out, const struct ops_summary *s, bool color, bool *few)
{
	static const char *const call_headers[] = { "op",   ">count", ">errors", ">p50",
						    ">p95", ">p99",   ">max",	 ">total",
						    ">own", ">share", ">lost",	 NULL };
	static const char *const host_headers[] = { "event", ">count", ">p50",	">p95", ">p99",
						    ">max",  ">total", ">lost", NULL };
	double wall = (double)(s->end_ns - s->start_ns);

	for (size_t i = 0; i < s->rows.n;) {
		const char *title = heading(source_layer(s->rows.v[i].op->source));
		bool calls = s->rows.v[i].op->flags & OP_CALL;
		struct cli_table *t = cli_table_new(calls ? call_headers : host_headers);

		if (!t) {
			out->failed = true;
			return;
		}
		for (; i < s->rows.n && heading(source_layer(s->rows.v[i].op->source)) == title;
		     i++) {
			ops_cells(t, &s->rows.v[i], calls, wall);
			*few |= s->rows.v[i].count < FEW_CALLS &&
				s->rows.v[i].op->track != TRACK_INSTANT;
		}
		buf_putc(out, '\n');
		cli_styled(out, color, CLI_CYAN, title);
		buf_putc(out, '\n');
		cli_table_text(out, t, 2, color);
		cli_table_free(t);
	}
}

static void error_lines(struct buf *out, const struct ops_summary *s, bool color)
{
	if (s->errors.n == 0)
		return;
	buf_putc(out, '\n');
	cli_styled(out, color, CLI_RED, "Errors");
	buf_putc(out, '\n');
	for (size_t i = 0; i < s->errors.n && i < 20; i++) {
		const struct ops_error *x = &s->errors.v[i];
		const char *name = event_error_name(x->op->source, x->ret);

		buf_printf(out, "  %s returned %d%s%s%s %s times\n", x->op->name, x->ret,
			   name ? " (" : "", name ? name : "", name ? ")" : "",
			   cli_count(x->count).s);
	}
}

static void process_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	double wall = (double)(s->end_ns - s->start_ns);

	for (size_t i = 0; i < s->processes.n && i < 16; i++) {
		const struct ops_process *p = &s->processes.v[i];
		const struct world_process *id = world_get_process(w, p->process);

		buf_printf(out, "process %u ", id ? id->tgid : 0);
		cli_safe(out, world_text(w, p->comm));
		buf_printf(out, ": %s thread%s, %s calls", cli_count(p->threads).s,
			   p->threads == 1 ? "" : "s", cli_count(p->calls).s);
		if (wall > 0 && p->calls)
			buf_printf(out, " taking %s of wall time",
				   cli_percent((double)p->in_calls_ns / wall).s);
		if (p->lost_ns)
			buf_printf(out, ", %s lost to the host", cli_ns(p->lost_ns).s);
		buf_putc(out, '\n');
	}
	if (s->processes.n > 16)
		buf_printf(out, "and %zu more processes (--json has them all)\n",
			   s->processes.n - 16);
}

static void system_line(struct buf *out, const struct ops_summary *s)
{
	const struct ops_metric *busy = &s->metrics[METRIC_CPU_BUSY],
				*load = &s->metrics[METRIC_LOAD_1];
	const struct ops_metric *used = &s->metrics[METRIC_MEM_USED],
				*psi = &s->metrics[METRIC_PSI_CPU_SOME];
	const struct ops_metric *free_mem = &s->metrics[METRIC_MEM_AVAILABLE];
	double wall_us = (double)(s->end_ns - s->start_ns) / 1000;

	if (!busy->n && !load->n && !used->n)
		return;
	buf_puts(out, "system:");
	if (busy->n)
		buf_printf(out, " CPU %.0f%% busy (at most %.0f%%)", busy->sum / (double)busy->n,
			   busy->max);
	if (load->n)
		buf_printf(out, ", load %.1f", load->last);
	if (psi->n > 1 && wall_us > 0)
		buf_printf(out, ", tasks waiting for a CPU %.1f%% of the time",
			   100 * (psi->last - psi->first) / wall_us);
	if (used->n && used->last >= 0)
		buf_printf(out, ", memory %s used", cli_bytes((uint64_t)used->last).s);
	if (free_mem->n && free_mem->last >= 0)
		buf_printf(out, ", %s available", cli_bytes((uint64_t)free_mem->last).s);
	buf_putc(out, '\n');
}

static void head_lines(struct buf *out, const struct world *w, const struct ops_summary *s)
{
	char when[64];

	if (s->hostname)
		cli_safe(out, world_text(w, s->hostname));
	else
		buf_puts(out, "recording");
	if (s->nodes > 1)
		buf_printf(out, " and %u more nodes", s->nodes - 1);
	buf_printf(out, ": %s", cli_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (s->has_real)
		buf_printf(out, " from %s",
			   time_local(when, sizeof(when), s->start_ns + s->real_minus_mono_ns,
				      true));
	buf_putc(out, '\n');
	process_lines(out, w, s);
	system_line(out, s);
}

static void coverage_lines(struct buf *out, const struct world *w, const struct ops_summary *s,
			   bool over, bool few)
{
	buf_printf(out, "coverage: %s events", cli_count(s->events).s);
	if (s->selected != s->events)
		buf_printf(out, " (%s counted here)", cli_count(s->selected).s);
	buf_printf(out, ", %s lost", cli_count(s->lost).s);
	for (unsigned i = 0; i < OPS_LOSS_REASONS; i++)
		if (s->loss_by_reason[i])
			buf_printf(out, " (%s: %s)", loss_reason_text(i),
				   cli_count(s->loss_by_reason[i]).s);
	if (s->late)
		buf_printf(out, ", %s late", cli_count(s->late).s);
	if (s->open)
		buf_printf(out, ", %s calls still open at the end", cli_count(s->open).s);
	buf_printf(out, ", window %s", cli_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	if (over && !s->complete)
		buf_puts(out, ", without an end");
	buf_putc(out, '\n');
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct ops_layer *l = &s->layers.v[i];

		if (l->failed == 0)
			continue;
		buf_puts(out, "coverage: ");
		cli_safe(out, world_text(w, l->layer));
		buf_printf(out, ": %u of %u not traced", l->failed, l->requested);
		if (l->reason) {
			buf_puts(out, ": ");
			cli_safe(out, world_text(w, l->reason));
		}
		buf_putc(out, '\n');
	}
	if (few)
		buf_printf(out,
			   "~ a quantile over fewer than %d calls; share is of wall time, calls "
			   "inside not counted again\n",
			   FEW_CALLS);
}

static void summary_text(struct buf *out, const struct world *w, const struct ops_summary *s,
			 bool over, bool color)
{
	bool few = false;

	head_lines(out, w, s);
	if (!over) /* what is drawn over is cut at the bottom */
		coverage_lines(out, w, s, over, false);
	ops_tables(out, s, color, &few);
	if (s->rows.n == 0)
		buf_puts(out, s->events ? "\nno event is what was asked for\n" : "\nno events\n");
	error_lines(out, s, color);
	if (!over)
		return;
	buf_putc(out, '\n');
	coverage_lines(out, w, s, over, few);
}

/* ---- live ---- */

struct live {
	bool on, terminal;
	uint64_t interval_ns;
	int64_t next_ns;
	uint64_t events; /* when last told */
	unsigned lines;	 /* on the terminal */
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void live_begin(struct live *l, const struct cli_operands *operands)
{
	struct stat st;
	bool standard = operands->n == 0 || (operands->n == 1 && !strcmp(operands->v[0], "-"));

	l->terminal = isatty(STDOUT_FILENO);
	l->interval_ns = interval_given ? values.interval_ns
			 : l->terminal	? 1000000000u
					: 10000000000u;
	l->on = standard && !values.json && !cli_settings.quiet && l->interval_ns &&
		fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	l->next_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)l->interval_ns;
}

/* Only what fits the screen, so that it can be drawn over. */
static void clip(struct buf *text, unsigned *lines)
{
	struct winsize size = { 0 };
	unsigned max = 24;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
		max = size.ws_row;
	*lines = 0;
	for (size_t i = 0; i < text->n; i++) {
		if (text->p[i] != '\n' || ++*lines < max - 1)
			continue;
		text->n = i + 1;
		return;
	}
}

static void live_erase(struct live *l, struct buf *out)
{
	if (l->terminal && l->lines)
		buf_printf(out, "\033[%uA\r\033[J", l->lines);
	l->lines = 0;
}

static int live_show(struct live *l, const struct world *w, struct ask_ops_run *run, struct err *e)
{
	const struct ops_summary *s = ask_ops_answer(run);
	struct buf out = { 0 }, text = { 0 };
	char when[64];
	int rc;

	if (!s)
		return err_nomem(e);
	l->next_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)l->interval_ns;
	if (l->terminal) {
		live_erase(l, &out);
		summary_text(&text, w, s, false, cli_color(STDOUT_FILENO));
		clip(&text, &l->lines);
		buf_puts(&out, "\033[?7l"); /* a line too long is cut, not continued */
		buf_add(&out, text.p, text.n);
		buf_puts(&out, "\033[?7h");
	} else {
		double seconds = (double)l->interval_ns / 1e9;

		buf_printf(&out, "%s  %s events, %.0f/s, %s lost, window %s\n",
			   time_local(when, sizeof(when), now_ns(CLOCK_REALTIME), false),
			   cli_count(s->events).s, (double)(s->events - l->events) / seconds,
			   cli_count(s->lost).s, cli_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	}
	l->events = s->events;
	rc = text.failed ? err_nomem(e) : cli_print(&out, e);
	buf_free(&text);
	buf_free(&out);
	return rc;
}

/* ---- reading ---- */

/* When the recordings end, and what time that was. */
static int find_end(struct world *w, const struct cli_operands *operands, struct select *sel,
		    struct err *e)
{
	struct input *in;
	struct stream_item item;
	int64_t end = INT64_MIN, real = 0;
	bool has_real = false;
	int rc;

	for (size_t i = 0; i < operands->n || i == 0; i++) {
		struct stat st;

		if (operands->n == 0 || !strcmp(operands->v[i], "-") ||
		    (stat(operands->v[i], &st) == 0 && !S_ISREG(st.st_mode) &&
		     !S_ISDIR(st.st_mode)))
			return err_set(e, ERR_USAGE,
				       "--since, --until and --last count from the recording's end "
				       "and need a file, not a pipe");
	}
	rc = input_open(&in, w, (const char *const *)operands->v, (unsigned)operands->n, e);
	if (rc)
		return rc;
	while ((rc = input_stream(in)->next(input_stream(in), &item, e)) > 0) {
		for (size_t i = 0; i < item.n; i++)
			end = item.events[i].end_ns > end ? item.events[i].end_ns : end;
		if (item.kind != STREAM_RECORD || item.record->kind != RECORD_CLOCK)
			continue;
		if (item.record->u.CLOCK.mono_ns > end)
			end = item.record->u.CLOCK.mono_ns;
		real = item.record->u.CLOCK.real_ns - item.record->u.CLOCK.mono_ns;
		has_real = true;
	}
	input_free(in);
	if (!rc && end != INT64_MIN)
		rc = select_resolve(sel, end, has_real, real, e);
	return rc;
}

static int read_all(struct world *w, struct input *in, struct ask_ops_run *run, struct live *live,
		    struct err *e)
{
	struct event_stream *stream = input_stream(in);
	struct stream_item item;
	int rc;

	while ((rc = stream->next(stream, &item, e)) > 0) {
		rc = ask_ops_item(run, &item, e);
		if (!rc && live->on && now_ns(CLOCK_MONOTONIC) >= live->next_ns)
			rc = live_show(live, w, run, e);
		if (rc)
			return rc;
	}
	return rc;
}

static int print(const struct world *w, const struct ops_summary *s, const struct input *in,
		 struct live *live, struct err *e)
{
	struct ige_report r = input_report(in);
	struct ops_input quality = { .damaged = r.damaged_blocks || r.skipped_bytes,
				     .truncated = r.truncated,
				     .unterminated = r.unterminated && !r.growing,
				     .growing = r.growing,
				     .damaged_blocks = r.damaged_blocks,
				     .skipped_bytes = r.skipped_bytes };
	struct buf out = { 0 };
	int rc;

	live_erase(live, &out);
	if (values.json)
		ops_json(&out, w, s, &quality);
	else
		summary_text(&out, w, s, true, cli_color(STDOUT_FILENO));
	rc = cli_print(&out, e);
	buf_free(&out);
	return rc;
}

/* What was wrong with the input, on standard error. */
static int say_verdict(const struct input *in)
{
	struct buf notes = { 0 };
	int status = cli_exit_of(input_verdict(in, &notes));
	char *save = NULL;

	if (input_report(in).empty) {
		cli_warn("the input is empty: there is no recording in it");
		status = CLI_EXIT_DAMAGED;
	}
	for (char *line = notes.n ? strtok_r(notes.p, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		cli_warn("%s", line);
	buf_free(&notes);
	return status;
}

static int selection(struct select *sel, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < values.pids.n && !rc; i++)
		rc = select_pid(sel, values.pids.v[i], e);
	for (size_t i = 0; i < values.names.n && !rc; i++)
		rc = select_name(sel, values.names.v[i], e);
	if (last_given && values.since)
		return err_set(e, ERR_USAGE, "--last and --since both say where to begin");
	if (last_given)
		sel->since = (struct select_time){ .kind = SELECT_BACK, .back_ns = values.last_ns };
	if (values.since && !rc)
		rc = select_time(&sel->since, values.since, e);
	if (values.until && !rc)
		rc = select_time(&sel->until, values.until, e);
	return rc;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct world *w = NULL;
	struct input *in = NULL;
	struct ask_ops_run *run = NULL;
	const struct ops_summary *answer = NULL;
	struct select sel = { 0 };
	struct live live = { 0 };
	struct err e = { 0 };
	int rc, status;

	cli_start();
	rc = cli_parse(&program, &values, argc, argv, &operands);
	if (rc != CLI_GO)
		return rc;
	cli_signals_let_first_pass(STDIN_FILENO);
	live_begin(&live, &operands);
	rc = selection(&sel, &e);
	w = world_new();
	if (!rc && !w)
		rc = err_nomem(&e);
	if (!rc && select_needs_end(&sel))
		rc = find_end(w, &operands, &sel, &e);
	if (!rc)
		rc = input_open(&in, w, (const char *const *)operands.v, (unsigned)operands.n, &e);
	if (!rc) {
		run = ask_ops_new(w, &sel);
		rc = run ? read_all(w, in, run, &live, &e) : err_nomem(&e);
	}
	/* A newer version in the middle: what came before it is still told. */
	if (run && (!rc || rc == ERR_TOO_NEW)) {
		struct err late = { 0 };

		answer = ask_ops_answer(run);
		late.code = answer ? print(w, answer, in, &live, &late) : err_nomem(&late);
		if (!rc && late.code) {
			e = late;
			rc = late.code;
		}
	}
	status = rc ? cli_fail(&e) : 0;
	if (in && (!rc || rc == ERR_TOO_NEW)) {
		int verdict = say_verdict(in);

		status = status ? status : verdict;
	}
	ask_ops_free(run);
	input_free(in);
	world_free(w);
	select_free(&sel);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	return cli_finish_stdout(status);
}

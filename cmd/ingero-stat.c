/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-stat: how often, how long, how much, for each operation of a recording; offline, or live
 * from a pipe.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/ask/brief.h"
#include "lib/ask/by.h"
#include "lib/ask/compare.h"
#include "lib/ask/exact.h"
#include "lib/ask/exact_find.h"
#include "lib/ask/ops.h"
#include "lib/base/human.h"
#include "lib/base/timetext.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/cli/window.h"
#include "lib/emit/compare.h"
#include "lib/emit/ops_json.h"
#include "lib/emit/ops_text.h"
#include "lib/input/input.h"
#include "lib/input/resolve.h"

static struct values {
	bool json, brief, exact, compare;
	double threshold;
	int64_t notices;
	uint64_t interval_ns, last_ns, memory_bytes;
	int64_t top;
	const char *since, *until, *by;
	struct cli_list pids, names;
} values = { .notices = -1, .top = 40, .threshold = 10 };

static bool interval_given, last_given, memory_given, threshold_given;

#define NOTICES_MS   500	 /* who has said nothing for so long at the end says nothing more */
#define MEMORY_BYTES (64u << 20) /* 16 million durations that are not counted one by one */

/* "op|pid|…": each key and a bar, less the first bar. */
#define KEY_AND_BAR(id, name) "|" name
#define KEYS		      (&(BY_KEYS(KEY_AND_BAR))[1])

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	CLI_SELECT_OPTIONS("What is counted", &last_given),
	{ .name = "by",
	  .type = CLI_CHOICE,
	  AT(by),
	  .arg = "KEY",
	  .choices = KEYS,
	  .group = "Output",
	  .help = "One table by: op, pid, thread, stack, line (of code), kernel, size, direction, "
		  "stream, device, cgroup, pod, container, node, rank, step (of a loop)" },
	{ .name = "compare",
	  .type = CLI_FLAG,
	  AT(compare),
	  .group = "Output",
	  .help = "Two recordings, before and after: what got slower (status 1 if anything did), "
		  "by "
		  "operation or --by" },
	{ .name = "threshold",
	  .type = CLI_NUMBER,
	  AT(threshold),
	  .arg = "PERCENT",
	  .group = "Output",
	  .help = "With --compare: by how much at least [10]",
	  .given = &threshold_given },
	{ .name = "top",
	  .type = CLI_INT,
	  AT(top),
	  .min = 0,
	  .max = 1000000,
	  .arg = "N",
	  .group = "Output",
	  .help = "With --by and --compare: rows shown, 0 all [40]" },
	{ .name = "brief",
	  .type = CLI_FLAG,
	  AT(brief),
	  .group = "Output",
	  .help = "Only counts, errors and durations, of everything: many times faster" },
	{ .name = "exact",
	  .type = CLI_FLAG,
	  AT(exact),
	  .group = "Output",
	  .help = "Quantiles to the nanosecond instead of within 0.4 %" },
	{ .name = "memory",
	  .type = CLI_SIZE,
	  AT(memory_bytes),
	  .arg = "SIZE",
	  .group = "Output",
	  .help = "With --exact: keep so much, then read a file again [64m]",
	  .given = &memory_given },
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
	/* What others say meanwhile comes through this descriptor, and stands above what is drawn over. */
	{ .name = "notices", .type = CLI_INT, AT(notices), .arg = "FD", .min = 3, .max = 1000000 },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-stat",
	.summary = "How often, how long, how much, for each operation",
	.usage = "[FILE...]",
	.options = options,
	.footer = "Without a FILE it reads standard input:\n"
		  "  ingero-record -o - -- COMMAND | ingero-stat",
	.reads_recordings = true,
};

/* ---- live ---- */

struct live {
	struct cli_progress progress;
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

/* What came through --notices since, to standard error; to_end: all of it, until nobody can say more. */
static void pass_notices(bool to_end)
{
	struct pollfd p = { .fd = (int)values.notices, .events = POLLIN };
	char text[4096], last = '\n';
	ssize_t n, done = 0;

	while (values.notices >= 0 && poll(&p, 1, to_end ? NOTICES_MS : 0) > 0) {
		n = read(p.fd, text, sizeof(text));
		if (n <= 0)
			break;
		done = write(STDERR_FILENO, text, (size_t)n);
		last = text[n - 1];
	}
	if (last != '\n')
		done = write(STDERR_FILENO, "\n", 1);
	(void)done; /* there is nobody to tell */
}

static bool notices_wait(void)
{
	struct pollfd p = { .fd = (int)values.notices, .events = POLLIN };

	return values.notices >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
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
		if (notices_wait()) {
			rc = cli_print(&out, e);
			if (rc)
				goto out;
			buf_reset(&out);
			pass_notices(false);
		}
		ops_text(&text, w, s, false, (unsigned)values.top, cli_color(STDOUT_FILENO),
			 cli_columns(STDOUT_FILENO));
		clip(&text, &l->lines);
		buf_puts(&out, "\033[?7l"); /* a line too long is cut, not continued */
		buf_add(&out, text.p, text.n);
		buf_puts(&out, "\033[?7h");
	} else {
		double seconds = (double)l->interval_ns / 1e9;

		buf_printf(&out, "%s  %s events, %.0f/s, %s lost, window %s\n",
			   time_local(when, sizeof(when), now_ns(CLOCK_REALTIME), false),
			   human_count(s->events).s, (double)(s->events - l->events) / seconds,
			   human_count(s->lost).s, human_ns((uint64_t)(s->end_ns - s->start_ns)).s);
	}
	l->events = s->events;
	rc = text.failed ? err_nomem(e) : cli_print(&out, e);
out:
	buf_free(&text);
	buf_free(&out);
	return rc;
}

/* ---- reading ---- */

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
		cli_progress_tick(&live->progress);
	}
	return rc;
}

/* Without events: see ask/brief.h. Inputs one after another, since nothing depends on their order. */
static int read_brief(struct world *w, struct brief *b, struct input *in, struct ask_ops_run *run,
		      struct live *live, struct err *e)
{
	struct ige_reader *r;
	int rc = 0;

	for (unsigned i = 0; !rc && (r = input_one(in, i)); i++) {
		struct ige_block block;

		ige_reader_want(r, BRIEF_WANTS);
		while ((rc = ige_reader_block(r, &block, e)) > 0) {
			const struct ige_arrays *a = ige_reader_arrays(r);
			struct stream_item item;

			rc = a ? brief_block(b, a, ige_reader_dict(r), e) : 0;
			while (!rc && ige_reader_items(r, &item, e) > 0)
				rc = ask_ops_item(run, &item, e);
			if (!rc && live->on && now_ns(CLOCK_MONOTONIC) >= live->next_ns) {
				rc = brief_tell(b, e);
				rc = rc ? rc : live_show(live, w, run, e);
			}
			if (rc)
				break;
			cli_progress_tick(&live->progress);
		}
	}
	if (!rc || rc == ERR_TOO_NEW) {
		struct err late;
		int told = brief_tell(b, &late);

		if (told && !rc) {
			*e = late;
			rc = told;
		}
	}
	return rc;
}

static int find_exact(const struct exact_source *from, struct err *e)
{
	int rc = exact_find(from, e);

	if (rc == EXACT_PIPE)
		cli_warn("--exact: more durations than --memory allows, and a pipe cannot be read "
			 "twice: quantiles are within 0.4 %%");
	else if (rc == EXACT_CHANGED)
		cli_warn("--exact: a recording changed while it was read: quantiles are within "
			 "0.4 %%");
	return rc < 0 ? rc : 0;
}

/* Rows by step, without a step. */
static bool no_steps(const struct by_table *by)
{
	for (size_t i = 0; by && i < by->rows.n; i++)
		if (by->rows.v[i].kind == BY_KNOWN)
			return false;
	return by && by->key == BY_STEP && by->rows.n;
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

	if (no_steps(s->by))
		return err_set(e, ERR_CANNOT,
			       "--by step: no steps were found: no thread of what was asked for "
			       "repeats the same copies, waits for the device and graph launches "
			       "five times in a row");
	live_erase(live, &out);
	if (values.notices >= 0) {
		rc = cli_print(&out, e);
		if (rc) {
			buf_free(&out);
			return rc;
		}
		buf_reset(&out);
		pass_notices(true);
	}
	if (values.json)
		ops_json(&out, w, s, &quality);
	else
		ops_text(&out, w, s, true, (unsigned)values.top, cli_color(STDOUT_FILENO),
			 cli_columns(STDOUT_FILENO));
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	buf_free(&out);
	return rc;
}

/* What was wrong with the input, on standard error. */
static int say_verdict(const struct input *in)
{
	struct buf notes = { 0 }, details = { 0 };
	int status = cli_exit_of(input_verdict(in, &notes));

	cli_warn_lines(&notes);
	input_account(in, &details);
	cli_detail_lines(&details);
	buf_free(&details);
	buf_free(&notes);
	return status;
}

static struct select_words selected(void)
{
	return (struct select_words){ .pids = values.pids.v,
				      .npids = values.pids.n,
				      .names = values.names.v,
				      .nnames = values.names.n,
				      .since = values.since,
				      .until = values.until,
				      .last_given = last_given,
				      .last_ns = values.last_ns };
}

static int selection(struct select *sel, struct err *e)
{
	struct select_words words = selected();

	return select_words(sel, &words, e);
}

/* ---- two recordings ---- */

static int print_compared(const struct compare *c, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	if (values.json)
		compare_json(&out, c);
	else
		compare_text(&out, c, (unsigned)values.top, cli_color(STDOUT_FILENO),
			     cli_columns(STDOUT_FILENO));
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	buf_free(&out);
	return rc;
}

/* Returns the exit status. */
static int compare(const struct cli_operands *operands)
{
	struct ask_diff_want want = { .key = BY_OP, .calls_only = values.names.n == 0 };
	struct ask_diff_source *sides[DIFF_SIDES] = { NULL };
	struct select_words words = selected();
	int status = CLI_EXIT_DONE, rc = 0;
	struct compare c = { 0 };
	struct err e = { 0 };

	if (operands->n != DIFF_SIDES)
		return cli_usage_error(&program, "--compare takes two recordings: the one before, "
						 "and the one after");
	if (values.brief || values.exact)
		return cli_usage_error(&program, "--compare goes neither with --brief nor with "
						 "--exact");
	if (!(values.threshold >= 0))
		return cli_usage_error(&program, "--threshold cannot be less than 0");
	if (values.by && by_key_find(values.by, &want.key) && want.key == BY_STEP)
		return cli_usage_error(&program, "--compare: steps of two runs are not the same, "
						 "compare by op or line");
	for (unsigned i = 0; i < DIFF_SIDES && rc == 0; i++) {
		struct buf notes = { 0 };

		rc = ask_diff_read(&sides[i], operands->v[i], &words, &want, &e);
		if (!rc && ask_diff_damaged(sides[i], &notes))
			status = CLI_EXIT_DAMAGED;
		cli_warn_lines(&notes);
		buf_free(&notes);
	}
	if (!rc)
		rc = ask_compare(&c, sides, &want, values.threshold / 100, &e);
	if (!rc)
		rc = print_compared(&c, &e);
	if (!rc && status == CLI_EXIT_DONE && c.worse)
		status = CLI_EXIT_NO;
	if (rc)
		status = cli_fail(&e);
	ask_compare_free(&c);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		ask_diff_source_free(sides[i]);
	return status;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct world *w = NULL;
	struct input *in = NULL;
	struct ask_ops_run *run = NULL;
	const struct ops_summary *answer = NULL;
	struct brief *brief = NULL;
	struct exact *exact = NULL;
	struct ask_by *by = NULL;
	enum by_key key = BY_OP;
	struct exact_source again = { 0 };
	struct select sel = { 0 };
	struct live live = { 0 };
	struct err e = { 0 };
	int64_t began_ns = 0;
	int rc, status;

	cli_start();
	rc = cli_parse(&program, &values, argc, argv, &operands);
	if (rc != CLI_GO)
		return rc;
	if (values.compare || threshold_given) {
		status = values.compare ? compare(&operands)
					: cli_usage_error(&program, "--threshold is of --compare");
		cli_list_free(&values.pids);
		cli_list_free(&values.names);
		return cli_finish_stdout(status);
	}
	cli_signals_let_first_pass(STDIN_FILENO);
	live_begin(&live, &operands);
	pass_notices(false);
	rc = selection(&sel, &e);
	if (!rc && values.brief && (values.pids.n || values.names.n || select_needs_end(&sel)))
		rc = err_set(&e, ERR_USAGE, "--brief is of everything: it goes with no selection");
	if (!rc && values.by && (values.brief || values.exact))
		rc = err_set(&e, ERR_USAGE,
			     "--by tells own and lost time of every row, with quantiles within "
			     "0.4 %%: it goes neither with --brief nor with --exact");
	if (!rc && memory_given && !values.exact)
		rc = err_set(&e, ERR_USAGE, "--memory is of --exact");
	again.names = (const char *const *)operands.v;
	again.n = (unsigned)operands.n;
	exact_source_init(&again);
	cli_phase(&began_ns, "");
	w = world_new();
	if (!rc && !w)
		rc = err_nomem(&e);
	if (!rc)
		rc = input_open_within(&in, w, (const char *const *)operands.v,
				       (unsigned)operands.n, &sel, &e);
	if (!rc) {
		struct buf what = { 0 };

		input_describe(in, &what);
		cli_detail_lines(&what);
		buf_free(&what);
		run = ask_ops_new(w, &sel);
		cli_progress_begin(&live.progress, input_position, in, live.on && live.terminal);
		exact = run && values.exact
				? exact_new(memory_given ? values.memory_bytes : MEMORY_BYTES)
				: NULL;
		if (exact)
			ask_ops_exact(run, exact);
		by = run && values.by && by_key_find(values.by, &key) ? ask_by_new(w, key, 0)
								      : NULL;
		if (by)
			ask_ops_by(run, by);
		brief = run && values.brief ? brief_new(w, run) : NULL;
		if (!run || (values.exact && !exact) || (values.brief && !brief) ||
		    (values.by && !by))
			rc = err_nomem(&e);
		else
			rc = brief ? read_brief(w, brief, in, run, &live, &e)
				   : read_all(w, in, run, &live, &e);
		cli_progress_end(&live.progress);
		cli_phase(&began_ns, "read and counted");
	}
	if (exact && (!rc || rc == ERR_TOO_NEW)) {
		struct err late = { 0 };
		int found;

		again.world = w;
		again.sel = &sel;
		again.run = run;
		again.brief = brief;
		found = find_exact(&again, &late);
		if (found && !rc) {
			e = late;
			rc = found;
		}
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
	brief_free(brief);
	ask_ops_free(run);
	ask_by_free(by);
	exact_free(exact);
	input_free(in);
	world_free(w);
	select_free(&sel);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	return cli_finish_stdout(status);
}

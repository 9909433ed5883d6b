/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-stat: how often, how long, how much, for each operation of a recording; offline, or live
 * from a pipe.
 */
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/query/compare_query.h"
#include "lib/query/stat.h"
#include "lib/base/fmt.h"
#include "lib/base/timetext.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/notices.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/screen.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/cli/window.h"
#include "lib/report/compare_text.h"
#include "lib/live/live_page.h"
#include "lib/report/ops_json.h"
#include "lib/report/ops_text.h"
#include "lib/event/section_rows.h"
#include "lib/input/database_input.h"

static struct values {
	bool json, brief, exact, compare, quit_ends;
	double threshold;
	int64_t notices;
	uint64_t interval_ns, last_ns, memory_bytes;
	int64_t top;
	const char *since, *until, *by;
	struct cli_list pids, names, sections;
	bool plot;
} values = { .notices = -1, .top = 40, .threshold = 10 };

static bool interval_given, last_given, memory_given, threshold_given;
static unsigned sections = VIEW_ALL; /* of VIEW_BIT */

#define MEMORY_BYTES (64u << 20) /* 16 million durations that are not counted one by one */

/* "op|pid|…": each key and a bar, less the first bar. */
#define KEY_AND_BAR(id, name) "|" name
#define KEYS		      (&(BY_KEYS(KEY_AND_BAR))[1])

/* "all, processes, system…" */
#define COMMA_AND_NAME(id, name) ", " name
#define SECTIONS		 "all" VIEW_SECTIONS(COMMA_AND_NAME)

/* What blocks and records tell. */
#define BRIEF_SECTIONS                                                             \
	(VIEW_BIT(SYSTEM) | VIEW_BIT(GPU) | VIEW_BIT(RUNTIME) | VIEW_BIT(DRIVER) | \
	 VIEW_BIT(GRAPHS) | VIEW_BIT(NCCL) | VIEW_BIT(MARKS) | VIEW_BIT(HOST) |    \
	 VIEW_BIT(LATENCY) | VIEW_BIT(ERRORS) | VIEW_BIT(CAUSES))

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
	{ .name = "sections",
	  .type = CLI_LIST,
	  AT(sections),
	  .arg = "NAME[,NAME]",
	  .group = "Output",
	  .help = "Only these: " SECTIONS },
	{ .name = "plot",
	  .type = CLI_FLAG,
	  AT(plot),
	  .group = "Output",
	  .help = "Rates and latencies as plots of several lines" },
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
	  .help = "Rows of tables with --by and --compare, 0 all, also elsewhere [40]" },
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
	/* What others say meanwhile comes through this descriptor, and is shown on the page. */
	{ .name = "notices", .type = CLI_INT, AT(notices), .arg = "FD", .min = 3, .max = 1000000 },
	/* Leaving the page by its key ends the whole row of programs, as Ctrl-C does. */
	{ .name = "quit-ends", .type = CLI_FLAG, AT(quit_ends) },
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

/* The one question, and how it is shown while it is answered. */
struct job {
	struct query_stat stat;
	struct cli_progress progress;
	struct cli_screen *screen;    /* NULL: none */
	bool live, noted;	      /* noted: what others say was taken to its end */
	uint64_t interval_ns, events; /* events: at the last update */
	int64_t next_ns, told_ns;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct report_text_style get_style(void)
{
	return (struct report_text_style){ .color = cli_color(STDOUT_FILENO),
					   .form = cli_utf8() ? PLOT_BLOCKS : PLOT_ASCII,
					   .columns = cli_columns(STDOUT_FILENO),
					   .top = (unsigned)values.top,
					   .sections = sections,
					   .asked = values.sections.n > 0,
					   .plot = values.plot };
}

/* ---- while it is read ---- */

static void live_begin(struct job *job, const struct cli_operands *operands)
{
	struct stat st;
	bool standard = operands->n == 0 || (operands->n == 1 && !strcmp(operands->v[0], "-"));

	job->live = standard && !values.json && !cli_settings.quiet &&
		    (!interval_given || values.interval_ns) && fstat(STDIN_FILENO, &st) == 0 &&
		    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	if (job->live)
		job->screen = cli_screen_open((int)values.notices, values.quit_ends);
	job->interval_ns = interval_given ? values.interval_ns
			   : job->screen  ? 1000000000u
					  : 10000000000u;
	job->told_ns = now_ns(CLOCK_MONOTONIC);
	/* The first page comes with the first events. */
	job->next_ns = job->told_ns + (job->screen ? 0 : (int64_t)job->interval_ns);
}

/* Restores the terminal, and prints the messages of other programs. */
static void live_end(struct job *job)
{
	if (job->screen)
		cli_screen_close(job->screen);
	else if (!job->noted)
		cli_notices_pass((int)values.notices, true);
	job->screen = NULL;
	job->noted = true;
}

/* One line of progress. It is printed when data arrives: after a long pause it covers more than the
 * interval. */
static void line_of(struct buf *out, const struct job *job, const struct ops_summary *s)
{
	double seconds = (double)(now_ns(CLOCK_MONOTONIC) - job->told_ns) / 1e9;
	char when[64];

	buf_printf(out, "%s  %s events, %.0f/s, %s lost, window %s\n",
		   time_local(when, sizeof(when), now_ns(CLOCK_REALTIME), false),
		   fmt_count(s->events).s, (double)(s->events - job->events) / seconds,
		   fmt_count(s->lost).s, fmt_ns((uint64_t)(s->end_ns - s->start_ns)).s);
}

static void show_page(struct job *job, const struct ops_summary *s)
{
	struct page page = { 0 };
	struct report_text_style st = get_style();
	unsigned rows, columns;

	cli_screen_size(job->screen, &rows, &columns);
	st.columns = columns;
	report_live(&page, job->stat.w, s, &st, rows);
	cli_screen_show(job->screen, &page, REPORT_LIVE_FREE_KEY);
}

static int live_show(struct job *job, struct err *e)
{
	const struct ops_summary *s = query_stat_answer(&job->stat, e);
	struct buf out = { 0 };
	int rc = 0;

	if (!s)
		return e->code;
	if (job->screen) {
		show_page(job, s);
		job->live = !cli_screen_left(job->screen);
	} else {
		line_of(&out, job, s);
		rc = cli_print(&out, e);
	}
	job->events = s->events;
	job->told_ns = now_ns(CLOCK_MONOTONIC);
	job->next_ns = job->told_ns + (int64_t)job->interval_ns;
	buf_free(&out);
	return rc;
}

static int on_progress(void *ctx, struct err *e)
{
	struct job *job = ctx;
	int rc = 0;

	if (job->live && now_ns(CLOCK_MONOTONIC) >= job->next_ns)
		rc = live_show(job, e);
	cli_progress_tick(&job->progress);
	return rc;
}

/* ---- what came out ---- */

/* Rows by step, without a step. */
static bool no_steps(const struct by_table *by)
{
	for (size_t i = 0; by && i < by->rows.n; i++)
		if (by->rows.v[i].kind == BY_KNOWN)
			return false;
	return by && by->key == BY_STEP && by->rows.n;
}

static int print_report(struct job *job, struct err *e)
{
	const struct ops_summary *s = query_stat_answer(&job->stat, e);
	struct ops_input quality = input_quality(job->stat.in);
	struct report_text_style st = get_style();
	struct buf out = { 0 };
	int rc;

	if (!s)
		return e->code;
	if (no_steps(s->by))
		return err_set(e, ERR_CANNOT,
			       "--by step: no steps were found: no program of what was asked for "
			       "has a loop in its Python stacks, or repeats copies, waits for the "
			       "device and graph launches");
	live_end(job);
	if (values.json)
		ops_json(&out, job->stat.w, s, &quality);
	else
		ops_text(&out, job->stat.w, s, &st);
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	buf_free(&out);
	return rc;
}

/* Reports on standard error what could not be read; returns the exit status for it. */
static int print_damage(const struct input *in)
{
	struct buf notes = { 0 }, details = { 0 };

	input_account(in, &details);
	return cli_say_input(input_verdict(in, &notes), &notes, &details);
}

static struct filter_words get_filter_words(void)
{
	return (struct filter_words){ .pids = values.pids.v,
				      .npids = values.pids.n,
				      .names = values.names.v,
				      .nnames = values.names.n,
				      .since = values.since,
				      .until = values.until,
				      .last_given = last_given,
				      .last_ns = values.last_ns };
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
static int compare_recordings(const struct cli_operands *operands)
{
	struct query_diff_options want = { .key = BY_OP, .calls_only = values.names.n == 0 };
	struct query_diff_source *sides[DIFF_SIDES];
	struct filter_words words = get_filter_words();
	struct compare c = { 0 };
	struct buf notes = { 0 };
	bool damaged;
	int status, rc;
	struct err e = { 0 };

	if (operands->n != DIFF_SIDES)
		return cli_usage_error(&program, "--compare takes two recordings: the one before, "
						 "and the one after");
	if (values.brief || values.exact)
		return cli_usage_error(&program, "--compare goes neither with --brief nor with "
						 "--exact");
	if (values.sections.n || values.plot || memory_given)
		return cli_usage_error(&program, "--compare is a table of its own: it goes without "
						 "--sections, --plot and --memory");
	if (!(values.threshold >= 0))
		return cli_usage_error(&program, "--threshold cannot be less than 0");
	if (values.by && by_key_find(values.by, &want.key) && want.key == BY_STEP)
		return cli_usage_error(&program, "--compare: steps of two runs are not the same, "
						 "compare by op or line");
	rc = query_diff_read_both(sides, operands->v, &words, &want, &damaged, &notes, &e);
	cli_warn_lines(&notes);
	buf_free(&notes);
	if (!rc)
		rc = query_compare(&c, sides, &want, values.threshold / 100, &e);
	if (!rc)
		rc = print_compared(&c, &e);
	status = rc	   ? cli_fail(&e)
		 : damaged ? CLI_EXIT_DAMAGED
		 : c.worse ? CLI_EXIT_NO
			   : CLI_EXIT_DONE;
	query_compare_free(&c);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		query_diff_source_free(sides[i]);
	return status;
}

/* ---- one recording, or several as one ---- */

static int find_sections(void)
{
	for (size_t i = 0; i < values.sections.n; i++) {
		enum view_section found;
		bool all = !strcmp(values.sections.v[i], "all");

		if (!all && !view_section_find(values.sections.v[i], &found))
			return cli_usage_error(&program, "--sections: '%s' is none of %s",
					       values.sections.v[i], SECTIONS);
		sections = (i ? sections : 0) | (all ? VIEW_ALL : 1u << found);
	}
	if (values.sections.n && values.brief && sections & ~BRIEF_SECTIONS)
		return cli_usage_error(&program,
				       "--brief looks at no event: of the sections it has the "
				       "tables of calls, system, gpu, latency, errors and causes");
	if (values.sections.n && values.by)
		return cli_usage_error(&program,
				       "--by is a table of its own: it goes without --sections");
	return CLI_GO;
}

static int read_all(struct job *job, struct err *e)
{
	struct buf what = { 0 };
	int rc;

	input_describe(job->stat.in, &what);
	cli_detail_lines(&what);
	buf_free(&what);
	cli_progress_begin(&job->progress, input_position, job->stat.in, job->screen != NULL);
	rc = query_stat_read(&job->stat, e);
	cli_progress_end(&job->progress);
	return rc;
}

static int find_exact(struct job *job, struct err *e)
{
	int rc = query_stat_find_exact(&job->stat, e);

	if (rc == EXACT_PIPE)
		cli_warn("--exact: more durations than --memory allows, and a pipe cannot be read "
			 "twice: quantiles are within 0.4 %%");
	else if (rc == EXACT_CHANGED)
		cli_warn("--exact: a recording changed while it was read: quantiles are within "
			 "0.4 %%");
	return rc < 0 ? rc : 0;
}

/* Prints what was read, even if a part of a newer version ended the reading (rc). Returns the first
 * error. */
static int print_results(struct job *job, int rc, struct err *e)
{
	struct err late = { 0 };
	int told = find_exact(job, &late);

	if (told && !rc) {
		*e = late;
		rc = told;
	}
	told = print_report(job, &late);
	if (told && !rc) {
		*e = late;
		rc = told;
	}
	return rc;
}

/* Returns the exit status. */
static int run_stat(const struct cli_operands *operands)
{
	struct filter_words words = get_filter_words();
	struct job job = { 0 };
	struct query_stat_options want = {
		.names = (const char *const *)operands->v,
		.n = (unsigned)operands->n,
		.words = &words,
		.brief = values.brief,
		.by = values.by,
		.exact = values.exact,
		.exact_bytes = memory_given ? values.memory_bytes : MEMORY_BYTES,
		.between = on_progress,
		.ctx = &job,
	};
	struct err e = { 0 };
	int64_t began_ns = 0;
	int rc, status;

	if (memory_given && !values.exact)
		return cli_usage_error(&program, "--memory is of --exact");
	if (values.plot && (values.json || values.by))
		return cli_usage_error(&program, "--plot draws what --json and --by do not show");
	status = find_sections();
	if (status != CLI_GO)
		return status;
	want.sections = values.by && !values.json ? 0 : sections; /* which it does not show */
	cli_signals_let_first_pass(STDIN_FILENO);
	live_begin(&job, operands);
	cli_phase(&began_ns, "");
	rc = query_stat_open(&job.stat, &want, &e);
	if (!rc) {
		rc = read_all(&job, &e);
		cli_phase(&began_ns, "read and counted");
		if (!rc || rc == ERR_TOO_NEW)
			rc = print_results(&job, rc, &e);
	}
	live_end(&job);
	status = rc ? cli_fail(&e) : 0;
	if (job.stat.in && (!rc || rc == ERR_TOO_NEW)) {
		int verdict = print_damage(job.stat.in);

		status = status ? status : verdict;
	}
	query_stat_free(&job.stat);
	return status;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	int status;

	cli_start();
	database_input_watch(cli_preparing);
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	if (threshold_given && !values.compare)
		status = cli_usage_error(&program, "--threshold is of --compare");
	else
		status = values.compare ? compare_recordings(&operands) : run_stat(&operands);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	cli_list_free(&values.sections);
	return cli_finish_stdout(status);
}

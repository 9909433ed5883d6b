/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-explain: reports what went wrong, who did it, and what to do about it. Reads a stream with
 * or without chains; a stream that was not analyzed before is analyzed here.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "lib/query/call_query.h"
#include "lib/query/select_chains.h"
#include "lib/query/diff_query.h"
#include "lib/query/process_ops.h"
#include "lib/query/report_query.h"
#include "lib/base/buf.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/cli/window.h"
#include "lib/report/call_text.h"
#include "lib/report/diff_text.h"
#include "lib/report/report.h"
#include "lib/host/clock.h"
#include "lib/input/input.h"
#include "lib/input/database_input.h"
#include "lib/input/resolve.h"
#include "lib/filter/cut.h"
#include "lib/filter/filter.h"
#include "lib/fleet/remote_query.h"
#include "lib/fleet/fleet_text.h"
#include "lib/api/report_from_answer.h"

static struct values {
	bool json;
	int64_t top;
	struct cli_list pids, names, nodes;
	bool chains, per_process, steps, diff;
	const char *since, *until, *fail_on, *call;
	uint64_t last_ns;
	int64_t newest;
	struct cli_asking fleet;
} values = { .top = 10 };

static bool last_given;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "pid",
	  .letter = 'p',
	  .type = CLI_LIST,
	  AT(pids),
	  .arg = "PID[,PID]",
	  .group = "What is shown",
	  .help = "Only what happened to these processes" },
	{ .name = "event",
	  .letter = 'e',
	  .type = CLI_LIST,
	  AT(names),
	  .arg = "OP[,OP]",
	  .group = "What is shown",
	  .help = "Only causes that took from these calls: a name, a pattern, a source" },
	{ .name = "node",
	  .letter = 'n',
	  .type = CLI_LIST,
	  AT(nodes),
	  .arg = "NODE[,NODE]",
	  .group = "What is shown",
	  .help = "Only what happened on these machines" },
	CLI_WINDOW_OPTIONS("What is shown", &last_given),
	{ .name = "last-events",
	  .type = CLI_INT,
	  AT(newest),
	  .arg = "N",
	  .group = "What is shown",
	  .min = 1,
	  .max = 10000000,
	  .help = "Only from the oldest of the N newest events on" },
	{ .name = "top",
	  .type = CLI_INT,
	  AT(top),
	  .arg = "N",
	  .group = "What is shown",
	  .min = 0,
	  .max = 1000000,
	  .help = "At most N causes, 0 for all [10]" },
	{ .name = "chains",
	  .type = CLI_FLAG,
	  AT(chains),
	  .group = "Output",
	  .help = "A table of the causes, a line each" },
	{ .name = "per-process",
	  .type = CLI_FLAG,
	  AT(per_process),
	  .group = "Output",
	  .help = "Process by process: its causes, and what became of its time" },
	{ .name = "steps",
	  .type = CLI_FLAG,
	  AT(steps),
	  .group = "Output",
	  .help = "Steps of each program: how long, what the average one went to, and what made "
		  "slow ones slow" },
	{ .name = "call",
	  .type = CLI_STRING,
	  AT(call),
	  .arg = "TID@END|OP",
	  .group = "Output",
	  .help = "One call, taken apart: by thread and end as in the JSON, or the longest of an "
		  "op" },
	{ .name = "diff",
	  .type = CLI_FLAG,
	  AT(diff),
	  .group = "Output",
	  .help = "Two recordings: what changed from the first to the second" },
	{ .name = "json",
	  .type = CLI_FLAG,
	  AT(json),
	  .group = "Output",
	  .help = "One JSON value instead of text (schema ingero.explain/1)" },
	{ .name = "fail-on",
	  .type = CLI_CHOICE,
	  AT(fail_on),
	  .choices = "low|medium|high",
	  .arg = "SEVERITY",
	  .group = "Output",
	  .help = "Exit with status 1 when a cause of this severity or worse was found" },
	CLI_FLEET_OPTIONS("Other machines"),
	{ .name = "timeout",
	  .type = CLI_DURATION,
	  AT(fleet.timeout_ns),
	  .arg = "TIME",
	  .group = "Other machines",
	  .of_nodes = true,
	  .help = "Wait so long for each [60s]" },
	CLI_FLEET_ANSWERS("Other machines"),
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-explain",
	.summary = "Say what took the time, who did it, and what to do about it",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-explain run.ige\n"
		  "  ingero-record -o - -- python3 train.py | ingero-correlate | ingero-explain",
	.reads_recordings = true,
	.nodes = &values.fleet.nodes,
};

static int parse_pids(struct filter *asked)
{
	struct err e = { 0 };

	for (size_t i = 0; i < values.pids.n; i++)
		if (filter_pid(asked, values.pids.v[i], &e))
			return cli_fail(&e);
	return CLI_GO;
}

static uint32_t fail_severity(void)
{
	if (!values.fail_on)
		return UINT32_MAX;
	return values.fail_on[0] == 'h'	  ? FINDING_HIGH
	       : values.fail_on[0] == 'm' ? FINDING_MEDIUM
					  : FINDING_LOW;
}

/* Whoever waits for the end of a pipe hears who waits for what meanwhile. */
static void print_ongoing_wait(struct report_query *query, const struct record *r)
{
	struct buf line = { 0 };

	if (report_query_ongoing_wait(query, r, host_clock_real(), &line))
		cli_note("%s", buf_text(&line));
	buf_free(&line);
}

static int read_all(struct report_query *query, struct process_ops *ops, struct input *in,
		    const struct filter *sel, const struct world *w, struct err *e)
{
	struct event_stream *s = input_stream(in);
	struct cli_progress progress;
	struct buf what = { 0 };
	struct filter_cut cut = { 0 };
	struct stream_item item;
	bool left;
	int rc;

	input_describe(in, &what);
	cli_detail_lines(&what);
	buf_free(&what);
	cli_progress_begin(&progress, input_position, in, false);
	while ((rc = s->next(s, &item, e)) > 0) {
		left = true;
		rc = sel->resolved ? filter_cut_item(&cut, sel, w, &item, &left, e) : 0;
		if (rc >= 0 && left)
			rc = report_query_item(query, &item, e);
		if (rc >= 0 && left && ops)
			rc = process_ops_item(ops, &item, e);
		if (rc < 0)
			break;
		if (left && item.kind == STREAM_RECORD && item.record->kind == RECORD_ASLEEP &&
		    !input_files(in))
			print_ongoing_wait(query, item.record);
		cli_progress_tick(&progress);
	}
	cli_progress_end(&progress);
	filter_cut_free(&cut);
	return rc;
}

static int print_report(const struct report_answer *answer, struct process_ops *ops,
			const struct input *in, const struct filter *asked, int *status,
			struct err *e)
{
	const struct chain_list *list = &answer->chains->list;
	struct buf notes = { 0 }, details = { 0 }, out = { 0 };
	bool partial = input_verdict(in, &notes) != 0;
	struct report r = report_from_answer(answer, partial, buf_text(&notes));
	int rc;

	r.operations = ops ? process_ops_end(ops) : NULL;
	r.growing = input_report(in).growing;
	r.columns = cli_columns(STDOUT_FILENO);
	r.top = (unsigned)values.top;
	r.chains_only = values.chains;
	r.per_process = values.per_process;
	r.steps = values.steps;
	r.pids = asked->pids.v;
	r.npids = (unsigned)asked->pids.n;
	cli_warn_lines(&notes);
	input_account(in, &details);
	cli_detail_lines(&details);
	if (partial)
		*status = CLI_EXIT_DAMAGED;
	if (values.json)
		report_json(&out, &r);
	else
		report_text(&out, &r, cli_color(STDOUT_FILENO));
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	for (size_t i = 0; i < list->v.n; i++) {
		if (*status == CLI_EXIT_DONE && list->v.v[i].severity >= fail_severity() &&
		    report_selects(&r, &list->v.v[i]))
			*status = CLI_EXIT_NO;
	}
	buf_free(&notes);
	buf_free(&details);
	buf_free(&out);
	return rc;
}

/* Whether a finding of that severity appeared or grew. */
static bool got_worse(const struct diff *d)
{
	for (size_t i = 0; i < d->causes.n; i++) {
		if (d->causes.v[i].worse &&
		    d->causes.v[i].side[DIFF_AFTER].severity >= fail_severity())
			return true;
	}
	return false;
}

static int print_diff(const struct diff *d, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	if (values.json)
		diff_json(&out, d);
	else
		diff_text(&out, d, (unsigned)values.top, cli_columns(STDOUT_FILENO),
			  cli_color(STDOUT_FILENO));
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	buf_free(&out);
	return rc;
}

static struct filter_words get_filter_words(void)
{
	return (struct filter_words){ .since = values.since,
				      .until = values.until,
				      .last_given = last_given,
				      .last_ns = values.last_ns,
				      .newest = (uint64_t)values.newest };
}

static struct query_chain_selection get_chosen(void)
{
	return (struct query_chain_selection){ (const char *const *)values.nodes.v, values.nodes.n,
					       (const char *const *)values.names.v,
					       values.names.n };
}

/* Returns the exit status. */
static int compare_recordings(const struct cli_operands *operands)
{
	struct query_diff_source *sides[DIFF_SIDES];
	const struct query_diff_options want = { .causes = true };
	struct filter_words words = get_filter_words();
	struct query_chain_selection by = get_chosen();
	struct buf notes = { 0 };
	struct diff d = { 0 };
	bool damaged;
	int status, rc;
	struct err e = { 0 };

	if (operands->n != DIFF_SIDES)
		return cli_usage_error(&program,
				       "--diff takes two recordings: the one before, and the one "
				       "after");
	rc = query_diff_read_both(sides, operands->v, &words, &want, &damaged, &notes, &e);
	cli_warn_lines(&notes);
	buf_free(&notes);
	for (unsigned i = 0; i < DIFF_SIDES && !rc; i++)
		rc = query_select_chains(query_diff_chains(sides[i]), &by, &e);
	if (!rc)
		rc = query_diff(&d, sides, &e);
	if (!rc)
		rc = print_diff(&d, &e);
	status = rc		 ? cli_fail(&e)
		 : damaged	 ? CLI_EXIT_DAMAGED
		 : got_worse(&d) ? CLI_EXIT_NO
				 : CLI_EXIT_DONE;
	query_diff_free(&d);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		query_diff_source_free(sides[i]);
	return status;
}

static int print_call(const struct call_detail *d, int64_t start_ns, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	if (values.json)
		call_json(&out, d, start_ns);
	else
		call_text(&out, d, start_ns, cli_columns(STDOUT_FILENO), cli_color(STDOUT_FILENO));
	rc = values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	buf_free(&out);
	return rc;
}

/* Returns the exit status. */
static int one_call(const struct cli_operands *operands)
{
	const struct call_detail *found = NULL;
	struct event_stream *s = NULL;
	struct world *w = world_new();
	struct query_call *call = NULL;
	struct buf notes = { 0 };
	struct stream_item item;
	struct input *in = NULL;
	int64_t start_ns = 0;
	struct err e = { 0 };
	bool started = false;
	int rc, status;

	rc = w ? query_call_new(&call, w, values.call, &e) : err_nomem(&e);
	if (!rc)
		rc = input_open(&in, w, (const char *const *)operands->v, (unsigned)operands->n,
				&e);
	s = rc ? NULL : input_stream(in);
	while (!rc && (rc = s->next(s, &item, &e)) > 0) {
		if (!started && item.kind == STREAM_RECORD && item.record->kind == RECORD_SESSION) {
			started = true;
			start_ns = item.record->u.SESSION.start_ns;
		}
		rc = query_call_item(call, &item, &e);
	}
	if (!rc)
		rc = query_call_end(call, &found, &e);
	if (!rc && !found)
		rc = err_set(&e, ERR_CANNOT, "no call %s in this recording", values.call);
	if (!rc)
		rc = print_call(found, start_ns, &e);
	status = rc ? cli_fail(&e) : CLI_EXIT_DONE;
	/* What is not in a damaged recording may have been in the part that is missing. */
	if (in && (!rc || rc == ERR_CANNOT) && input_verdict(in, &notes))
		status = CLI_EXIT_DAMAGED;
	cli_warn_lines(&notes);
	buf_free(&notes);
	input_free(in);
	query_call_free(call);
	world_free(w);
	return status;
}

/* ---- of other machines ---- */

static bool stop_fleet(void *ctx)
{
	(void)ctx;
	return cli_signal_received() != 0;
}

/* Whether a chain has the severity of --fail-on or a higher one. */
static bool has_failure(struct json chains)
{
	bool is = false;

	for (size_t i = 0; !is && i < json_length(chains); i++) {
		struct json c = json_at(chains, i), s = json_get(c, "severity");

		for (uint32_t k = fail_severity(); !is && k <= FINDING_HIGH; k++)
			is = bytes_equal(json_bytes(s), bytes_of(finding_severity_name(k)));
		is = is || (values.fail_on && bytes_equal(json_bytes(s), bytes_of("CRITICAL")));
		json_free(s);
		json_free(c);
	}
	return is;
}

static int print_chains(struct fleet *f, int *status, struct err *e)
{
	struct json chains = JSON_NONE;
	struct buf out = { 0 };
	int rc = fleet_query_chains(f, values.since, &chains, e);

	if (!rc && values.json) {
		json_dump(&out, chains, JSON_DUMP_PRETTY);
		buf_putc(&out, '\n');
	} else if (!rc) {
		fleet_chains_text(&out, f, chains, (size_t)values.top, cli_color(STDOUT_FILENO));
	}
	rc = rc ? rc : values.json ? cli_print(&out, e) : cli_print_text(&out, e);
	if (!rc && has_failure(chains))
		*status = CLI_EXIT_NO;
	json_free(chains);
	buf_free(&out);
	return rc;
}

static int ask_fleet(int *status, struct err *e)
{
	const struct fleet_options how = { .agent = program.name, .stop = stop_fleet };
	struct fleet *f = NULL;
	int rc = cli_signals_catch(e);

	rc = rc ? rc : remote_query_open(&f, &values.fleet, how, e);
	rc = rc ? rc : print_chains(f, status, e);
	rc = remote_query_end(f, rc, e);
	fleet_free(f);
	return rc;
}

static int explain_fleet(void)
{
	int status = CLI_EXIT_DONE, rc;
	struct err e = { 0 };

	if (values.pids.n || values.names.n || values.nodes.n || values.until || last_given ||
	    values.newest || values.per_process || values.steps || values.diff || values.call)
		return cli_usage_error(&program, "of other machines --since, --top, --json and "
						 "--fail-on choose what is shown");
	rc = ask_fleet(&status, &e);
	if (rc == ERR_INTERRUPTED)
		return 128 + cli_signal_received();
	return rc ? cli_fail(&e) : status;
}

/* ---- of recordings ---- */

/* Returns the exit status. */
static int explain_recordings(const struct cli_operands *operands, const struct filter *asked)
{
	struct world *w = world_new();
	struct report_query *query = w ? report_query_new(w, true) : NULL;
	struct process_ops *ops = w && values.per_process ? process_ops_new(w) : NULL;
	struct filter_words words = get_filter_words();
	struct query_chain_selection by = get_chosen();
	struct filter sel = { .calls = true };
	struct input *in = NULL;
	struct report_answer answer;
	struct err e = { 0 };
	int64_t began_ns = 0;
	int status = CLI_EXIT_DONE, rc = query && (ops || !values.per_process)
						 ? filter_words(&sel, &words, &e)
						 : err_nomem(&e);

	cli_signals_let_first_pass(STDIN_FILENO);
	cli_phase(&began_ns, "");
	if (!rc)
		rc = input_open_within(&in, w, (const char *const *)operands->v,
				       (unsigned)operands->n, &sel, &e);
	if (!rc)
		rc = read_all(query, ops, in, &sel, w, &e);
	/* A part of a newer version ends the reading; what came before it is still reported. */
	if (rc == ERR_TOO_NEW) {
		cli_error("%s", e.text);
		status = CLI_EXIT_DAMAGED;
		rc = 0;
	}
	cli_phase(&began_ns, "read and analyzed");
	if (!rc)
		rc = report_query_end(query, &answer, &e);
	if (!rc)
		rc = query_select_chains(&answer.chains->list, &by, &e);
	if (!rc)
		rc = print_report(&answer, ops, in, asked, &status, &e);
	cli_phase(&began_ns, "reported");
	if (rc)
		status = cli_fail(&e);
	input_free(in);
	report_query_free(query);
	process_ops_free(ops);
	world_free(w);
	filter_free(&sel);
	return status;
}

/* Options that do not go together; CLI_GO when all do. */
static int check_options(void)
{
	if ((values.diff && (values.call || values.pids.n || values.chains || values.per_process ||
			     values.steps)) ||
	    (values.call && (values.pids.n || values.names.n || values.nodes.n || values.chains ||
			     values.per_process || values.steps || values.fail_on || values.since ||
			     values.until || last_given || values.newest)))
		return cli_usage_error(&program,
				       "%s does not go with the other choices of what is shown",
				       values.diff ? "--diff" : "--call");
	if (values.steps && (values.chains || values.per_process))
		return cli_usage_error(&program, "--steps is a view of its own: it goes neither "
						 "with --chains nor with --per-process");
	return CLI_GO;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct filter asked = { 0 }; /* processes */
	int status;

	cli_start();
	database_input_watch(cli_preparing);
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status == CLI_GO)
		status = parse_pids(&asked);
	if (status == CLI_GO && !values.fleet.nodes.n)
		status = check_options();
	if (status == CLI_GO)
		status = values.fleet.nodes.n ? explain_fleet()
			 : values.diff	      ? compare_recordings(&operands)
			 : values.call	      ? one_call(&operands)
					      : explain_recordings(&operands, &asked);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	cli_list_free(&values.nodes);
	cli_list_free(&values.fleet.nodes);
	filter_free(&asked);
	return cli_finish_stdout(status);
}

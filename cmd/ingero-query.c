/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-query: SQL asked of a recording or of an archive. A recording becomes an archive first,
 * which is thrown away afterwards or kept beside it; the question itself can only read. Without
 * one: the operations, or the events as JSON.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/archive/answer.h"
#include "lib/archive/ask.h"
#include "lib/archive/made.h"
#include "lib/query/archived.h"
#include "lib/query/ops.h"
#include "lib/base/atomic_file.h"
#include "lib/base/fmt.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/cli/window.h"
#include "lib/export/tail_view.h"
#include "lib/report/ops_text.h"
#include "lib/event/section_rows.h"
#include "lib/input/input.h"
#include "lib/input/database_input.h"
#include "lib/input/resolve.h"
#include "lib/filter/confined.h"
#include "lib/filter/pick.h"
#include "lib/fleet/remote_query.h"
#include "lib/fleet/fleet_text.h"

#define LIMIT 10000

/* Of the user's own filter, so that one without an end has one. */
#define JQ_SECONDS    600
#define JQ_BYTES      (UINT64_C(8) << 30)
#define JQ_OUTPUT_MAX (UINT64_C(1) << 30)

static struct values {
	bool json, csv, cache, explain_schema;
	int64_t limit;
	const char *since, *until, *where, *jq;
	uint64_t last_ns;
	struct cli_list pids, names;
	struct cli_asking fleet;
} values = { .limit = LIMIT };

static bool last_given, limit_said;
static const char *sql;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	CLI_SELECT_OPTIONS("What is asked", &last_given),
	{ .name = "op", .type = CLI_LIST, AT(names) },
	{ .name = "where",
	  .letter = 'w',
	  .type = CLI_STRING,
	  AT(where),
	  .arg = "EXPR",
	  .group = "What is asked",
	  .help = "Only events for which this jq expression of their JSON is true" },
	{ .name = "cache",
	  .type = CLI_FLAG,
	  AT(cache),
	  .group = "What is asked",
	  .help = "Keep the archive of run.ige as run.ige.db, and use it the next time" },
	{ .name = "timeout",
	  .type = CLI_DURATION,
	  AT(fleet.timeout_ns),
	  .arg = "TIME",
	  .group = "What is asked",
	  .help = "End a question that takes longer; of each node [60s]" },
	CLI_FLEET_OPTIONS("Other machines"),
	CLI_FLEET_ANSWERS("Other machines"),
	{ .name = "limit",
	  .type = CLI_INT,
	  AT(limit),
	  .min = 0,
	  .max = INT64_MAX,
	  .arg = "N",
	  .group = "Output",
	  .help = "Rows at most, 0 all [10000]",
	  .said = &limit_said },
	{ .name = "json",
	  .type = CLI_FLAG,
	  AT(json),
	  .group = "Output",
	  .help = "Rows as JSON; without SQL the newest events" },
	{ .name = "csv", .type = CLI_FLAG, AT(csv), .group = "Output", .help = "Rows as CSV" },
	{ .name = "jq",
	  .type = CLI_STRING,
	  AT(jq),
	  .arg = "FILTER",
	  .group = "Output",
	  .help = "What this jq filter makes of the JSON of the rows" },
	{ .name = "explain-schema",
	  .type = CLI_FLAG,
	  AT(explain_schema),
	  .group = "Output",
	  .help = "Print the tables that can be asked, with what is in their columns" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-query",
	.summary = "Ask a recording in SQL",
	.usage = "[FILE...] ['SQL']",
	.options = options,
	.footer = "  ingero-query run.ige 'SELECT op_name, count(*) FROM named_events GROUP BY 1'\n"
		  "  ingero-query --since 5m -e cudaMemcpy --json run.ige",
	.reads_recordings = true,
	.nodes = &values.fleet.nodes,
	.statement = &sql,
};

/* The JSON that --jq is to filter, until all of it is there. */
static struct buf unfiltered;

struct query {
	struct world *w;
	struct filter sel;
	struct filter_expr *expr; /* NULL: none */
	struct input *in;
	struct cli_progress progress;
	int status;
};

static bool is_filtered(void)
{
	return values.pids.n || values.names.n || values.since || values.until || last_given ||
	       values.where;
}

static bool is_stopped(void *ctx)
{
	(void)ctx;
	return cli_signal_received() != 0;
}

static void print_damage(struct query *q)
{
	struct buf notes = { 0 }, details = { 0 };
	int status = cli_say_input(input_verdict(q->in, &notes), &notes, &details);
	uint64_t errors = 0;
	const char *first = q->expr ? filter_expr_errors(q->expr, &errors) : NULL;

	if (first)
		cli_warn("-w had no answer for %s events, which were left out; the first: %s",
			 fmt_count(errors).s, first);

	q->status = status > q->status ? status : q->status;
}

/* What takes items, of those that are chosen. */
typedef int take_item(void *to, const struct stream_item *item, struct err *e);

static int read_all(struct query *q, const struct cli_operands *operands, take_item *take, void *to,
		    struct err *e)
{
	struct late_names told = { 0 };
	struct filter_pick pick = { .select = &q->sel, .expr = q->expr, .w = q->w, .told = &told };
	struct stream_item item;
	bool left;
	int rc = input_open_within(&q->in, q->w, (const char *const *)operands->v,
				   (unsigned)operands->n, &q->sel, e);

	if (rc)
		return rc;
	cli_progress_begin(&q->progress, input_position, q->in, false);
	while (!rc && (rc = input_stream(q->in)->next(input_stream(q->in), &item, e)) > 0) {
		if (q->expr && item.kind == STREAM_RECORD &&
		    !late_names_record(&told, q->w, item.record))
			rc = err_nomem(e);
		rc = rc > 0 ? filter_pick_item(&pick, &item, &left, e) : rc;
		if (!rc && left)
			rc = take(to, &item, e);
		if (!rc && is_stopped(NULL))
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
		cli_progress_tick(&q->progress);
	}
	cli_progress_end(&q->progress);
	filter_pick_free(&pick);
	late_names_free(&told);
	if (!rc)
		rc = input_something(q->in, e);
	if (!rc)
		print_damage(q);
	return rc;
}

/* ---- what is printed ---- */

static bool wants_json(void)
{
	return values.json || values.jq;
}

static int put_answer(const struct buf *text, struct err *e)
{
	if (!values.jq)
		return cli_print(text, e);
	buf_add(&unfiltered, text->p, text->n);
	return unfiltered.failed ? err_nomem(e) : 0;
}

static struct answer *make_answer(void)
{
	return answer_new(wants_json() ? ANSWER_JSON
			  : values.csv ? ANSWER_CSV
				       : ANSWER_TABLE,
			  cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO), put_answer);
}

/* Behind the last of an answer. */
static int print_filtered(struct err *e)
{
	const struct filter_confined how = { .seconds = JQ_SECONDS,
					     .memory_bytes = JQ_BYTES,
					     .output_max = JQ_OUTPUT_MAX,
					     .stop = is_stopped };
	struct buf out = { 0 };
	int rc;

	if (!values.jq)
		return 0;
	rc = filter_confined_jq(values.jq, buf_bytes(&unfiltered), &how, &out, e);
	rc = rc ? rc : cli_print(&out, e);
	buf_free(&out);
	return rc;
}

/* ---- an archive to ask ---- */

static int archive_item(void *to, const struct stream_item *item, struct err *e)
{
	return query_archive_item(to, item, e);
}

/* Whether the SQL mentions chains: then an unanalyzed recording is analyzed first. */
static bool asks_for_chains(void)
{
	return strcasestr(sql, "chain") || strcasestr(sql, "analysis");
}

static int build_archive(struct query *q, const struct cli_operands *operands, int fd,
			 const char *path, bool chains, struct err *e)
{
	struct query_archive *a = NULL;
	struct archive_written written;
	int rc = query_archive_new(&a, q->w, fd, path, program.name, chains, e);

	rc = rc ? rc : read_all(q, operands, archive_item, a, e);
	if (!rc)
		query_archive_set_whole(a, !input_partial(q->in));
	rc = rc ? rc : query_archive_end(a, &written, e);
	if (!rc)
		cli_detail("archive of %s events, %s", fmt_count(written.events).s,
			   fmt_bytes(written.bytes).s);
	query_archive_free(a);
	return rc;
}

static bool is_database(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	bool is = fd >= 0 && database_input_looks_so(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

/* What an archive is made of. */
struct making {
	struct query *q;
	const struct cli_operands *operands;
};

static int make_scratch(void *ctx, int fd, struct err *e)
{
	const struct making *m = ctx;

	return build_archive(m->q, m->operands, fd, ARCHIVE_MADE, asks_for_chains(), e);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* run.ige.db, made when it is not there or not of run.ige as that is now: it bears the time at
 * which that was last written when reading began. */
static int open_cached(struct query *q, const struct cli_operands *operands,
		       const struct archive_ask_limits *limits, struct archive_ask **ask,
		       struct err *e)
{
	struct stat recording, kept;
	struct atomic_file aside = { .fd = -1 };
	char *path = NULL;
	int rc = 0;

	if (operands->n != 1 || stat(operands->v[0], &recording) || !S_ISREG(recording.st_mode))
		return err_set(e, ERR_USAGE, "--cache is for one recording that is a file");
	if (is_filtered())
		return err_set(e, ERR_USAGE,
			       "--cache keeps the whole recording: choose in SQL instead");
	if (asprintf(&path, "%s.db", operands->v[0]) < 0)
		return err_nomem(e);
	if (stat(path, &kept) || !same_time(&kept.st_mtim, &recording.st_mtim)) {
		const struct timespec times[] = { recording.st_atim, recording.st_mtim };

		cli_note("making %s, which is asked from then on", path);
		rc = atomic_file_open(&aside, path, e);
		rc = rc ? rc : build_archive(q, operands, aside.fd, path, true, e);
		if (!rc && futimens(aside.fd, times))
			rc = err_sys(e, "cannot set the time of %s", path);
		rc = rc ? rc : atomic_file_keep(&aside, e);
		atomic_file_drop(&aside);
	}
	rc = rc ? rc : archive_ask_open(ask, path, limits, e);
	free(path);
	return rc;
}

static int ask_sql(struct query *q, const struct cli_operands *operands, struct err *e)
{
	const struct archive_ask_limits limits = { .time_ns = values.fleet.timeout_ns,
						   .rows = (uint64_t)values.limit,
						   .stop = is_stopped };
	struct archive_ask *ask = NULL;
	struct archive_asked asked = { 0 };
	struct answer *answer;
	int rc;

	if (operands->n == 1 && !is_filtered() && is_database(operands->v[0])) {
		rc = archive_ask_open(&ask, operands->v[0], &limits, e);
	} else if (values.cache) {
		rc = open_cached(q, operands, &limits, &ask, e);
	} else {
		if (isatty(STDERR_FILENO))
			cli_note("making an archive to ask (--cache keeps it)");
		rc = archive_ask_made(&ask, getenv("TMPDIR"), &limits, make_scratch,
				      &(struct making){ q, operands }, e);
	}
	if (rc)
		return rc;
	answer = make_answer();
	rc = answer ? archive_ask_run(ask, sql, answer_taker(answer), &asked, e) : err_nomem(e);
	if (!rc)
		rc = answer_end(answer, asked.truncated, e);
	rc = rc ? rc : print_filtered(e);
	if (!rc && asked.truncated)
		cli_note("only the first %s rows are shown (--limit)", fmt_count(asked.rows).s);
	/* Of what is read now that is said already. */
	if (!rc && !q->in && asked.partial) {
		cli_warn("%s: the recording it was made of was damaged or had not ended: it holds "
			 "what "
			 "could be read",
			 operands->v[0]);
		q->status = CLI_EXIT_DAMAGED;
	}
	answer_free(answer);
	archive_ask_free(ask);
	return rc;
}

/* ---- without SQL ---- */

static int count_item(void *to, const struct stream_item *item, struct err *e)
{
	return query_ops_item(to, item, e);
}

static int show_ops(struct query *q, const struct cli_operands *operands, struct err *e)
{
	struct query_ops_run *run = query_ops_new(q->w, &q->sel);
	const struct ops_summary *s = NULL;
	struct buf out = { 0 };
	int rc = run ? read_all(q, operands, count_item, run, e) : err_nomem(e);

	if (!rc)
		rc = query_ops_end(run, e);
	if (!rc && !(s = query_ops_answer(run)))
		rc = err_nomem(e);
	if (!rc) {
		const struct report_text_style st = { .color = cli_color(STDOUT_FILENO),
						      .form = cli_utf8() ? PLOT_BLOCKS : PLOT_ASCII,
						      .columns = cli_columns(STDOUT_FILENO),
						      .sections = VIEW_ALL };

		ops_text(&out, q->w, s, &st);
		rc = cli_print_text(&out, e);
	}
	buf_free(&out);
	query_ops_free(run);
	return rc;
}

static int list_item(void *to, const struct stream_item *item, struct err *e)
{
	return export_tail_view_item(to, item, e);
}

static int show_events(struct query *q, const struct cli_operands *operands, struct err *e)
{
	struct export_tail_view *v = export_tail_view_new(q->w, (uint64_t)values.limit, cli_print);
	uint64_t seen = 0;
	int rc = v ? read_all(q, operands, list_item, v, e) : err_nomem(e);

	rc = rc ? rc : export_tail_view_end(v, &seen, e);
	if (!rc && values.limit && seen > (uint64_t)values.limit)
		cli_note("only the newest %s of %s events are shown (--limit)",
			 fmt_count((uint64_t)values.limit).s, fmt_count(seen).s);
	export_tail_view_free(v);
	return rc;
}

static int print_schema(struct err *e)
{
	struct buf out = { 0 };
	int rc;

	buf_puts(&out, archive_schema());
	rc = cli_print(&out, e);
	buf_free(&out);
	return rc;
}

/* ---- of other machines ---- */

/* "8 rows from 4 nodes" */
static void say_rows(const struct fleet_rows *rows)
{
	struct buf text = { 0 };

	fmt_counted(&text, json_length(rows->rows), bytes_of("rows"));
	buf_puts(&text, " from ");
	fmt_counted(&text, rows->nodes, bytes_of("nodes"));
	if (!wants_json() && !values.csv)
		cli_note("%s", buf_text(&text));
	buf_free(&text);
}

static int give_rows(struct fleet *f, struct err *e)
{
	struct answer *answer = make_answer();
	struct fleet_rows rows = { 0 };
	int rc = answer ? fleet_query_sql(f, sql, (uint64_t)values.limit, &rows, e) : err_nomem(e);

	rc = rc ? rc : fleet_rows_write(&rows, answer_taker(answer), e);
	rc = rc ? rc : answer_end(answer, rows.truncated, e);
	rc = rc ? rc : print_filtered(e);
	if (!rc)
		say_rows(&rows);
	if (!rc && rows.truncated)
		cli_note("only the first rows of each node are shown (%s)",
			 values.limit ? "--limit" : "a node gives no more at once: LIMIT, OFFSET");
	fleet_rows_free(&rows);
	answer_free(answer);
	return rc;
}

static int give_ops(struct fleet *f, struct err *e)
{
	struct fleet_ops ops = { 0 };
	struct buf out = { 0 };
	int rc = fleet_query_ops(f, values.since, &ops, e);

	if (!rc && wants_json())
		fleet_ops_json(&out, &ops);
	else if (!rc)
		fleet_ops_text(&out, &ops, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
	rc = rc ? rc : put_answer(&out, e);
	rc = rc ? rc : print_filtered(e);
	fleet_ops_free(&ops);
	buf_free(&out);
	return rc;
}

static int ask_fleet(struct err *e)
{
	const struct fleet_options how = { .agent = program.name, .stop = is_stopped };
	struct fleet *f = NULL;
	int rc;

	if (values.pids.n || values.names.n || values.until || last_given || values.cache ||
	    values.where || (values.since && sql))
		return err_set(e, ERR_USAGE, "of other machines %s",
			       sql ? "choose in SQL" : "only --since chooses: ask in SQL for more");
	rc = remote_query_open(&f, &values.fleet, how, e);
	rc = rc ? rc : sql ? give_rows(f, e) : give_ops(f, e);
	rc = remote_query_end(f, rc, e);
	fleet_free(f);
	return rc;
}

static int run_query(struct query *q, const struct cli_operands *operands, struct err *e)
{
	if (values.json && values.csv)
		return err_set(e, ERR_USAGE, "--json or --csv, not both");
	if (values.csv && values.jq)
		return err_set(e, ERR_USAGE, "--csv or --jq, not both");
	if (values.jq && !sql && !values.fleet.nodes.n)
		return err_set(e, ERR_USAGE,
			       "--jq is for answers of SQL: -w chooses events, and "
			       "'ingero-export -f json | jq' filters them");
	if (values.csv && !sql)
		return err_set(e, ERR_USAGE,
			       "--csv is for answers of SQL: ingero-export -f csv writes events");
	if (limit_said && !sql && (!values.json || values.fleet.nodes.n))
		return err_set(e, ERR_USAGE,
			       "--limit is for answers of SQL, and for the events of --json");
	if (values.where && !sql && !values.json)
		return err_set(e, ERR_USAGE, "-w is for questions in SQL and for --json");
	if (values.cache && !sql)
		return err_set(e, ERR_USAGE, "--cache is for questions in SQL");
	if (values.fleet.nodes.n)
		return ask_fleet(e);
	if (sql)
		return ask_sql(q, operands, e);
	return values.json ? show_events(q, operands, e) : show_ops(q, operands, e);
}

int main(int argc, char **argv)
{
	struct query q = { 0 };
	struct cli_operands operands;
	struct filter_words words;
	struct err e = { 0 };
	int rc, status;

	cli_start();
	database_input_watch(cli_preparing);
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	words = (struct filter_words){ .pids = values.pids.v,
				       .npids = values.pids.n,
				       .names = values.names.v,
				       .nnames = values.names.n,
				       .since = values.since,
				       .until = values.until,
				       .last_given = last_given,
				       .last_ns = values.last_ns };
	rc = filter_words(&q.sel, &words, &e);
	if (!rc && values.where)
		rc = filter_expr_new(&q.expr, values.where, NULL, 0, &e);
	if (!rc && (operands.n || values.fleet.nodes.n))
		rc = cli_signals_catch(&e);
	else if (!rc)
		cli_signals_let_first_pass(STDIN_FILENO);
	q.w = rc ? NULL : world_new();
	if (!rc && !q.w)
		rc = err_nomem(&e);
	if (!rc)
		rc = values.explain_schema ? print_schema(&e) : run_query(&q, &operands, &e);
	status = q.status;
	if (rc == ERR_INTERRUPTED)
		status = 128 + cli_signal_received();
	else if (rc)
		status = cli_fail(&e);
	input_free(q.in);
	world_free(q.w);
	filter_free(&q.sel);
	filter_expr_free(q.expr);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	cli_list_free(&values.fleet.nodes);
	buf_free(&unfiltered);
	return cli_finish_stdout(status);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-export: writes a recording in formats of other programs. It streams, and follows a pipe
 * that still grows. A file behind -o is there whole or not at all.
 */
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/archive/replace.h"
#include "lib/base/atomic_file.h"
#include "lib/base/buf.h"
#include "lib/base/deflate.h"
#include "lib/base/fmt.h"
#include "lib/base/map.h"
#include "lib/base/io.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/otel.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/cli/window.h"
#include "lib/event/chain.h"
#include "lib/export/format.h"
#include "lib/input/input.h"
#include "lib/input/database_input.h"
#include "lib/input/resolve.h"
#include "lib/filter/cut.h"
#include "lib/filter/pick.h"
#include "lib/fleet/remote_recordings.h"
#include "lib/api/live_metrics.h"
#include "lib/api/html_report.h"
#include "lib/api/metrics_push.h"
#include "lib/store/findings_format.h"
#include "lib/store/sqlite.h"

static struct values {
	const char *format, *output, *where, *weight;
	struct cli_list pids, names, nodes, args, headers;
	struct cli_asking fleet;
	const char *since, *until, *push, *listen;
	uint64_t last_ns, interval_ns, max_db, max_node, max_nodes;
	bool stacks, no_stacks, records, gzip;
} values;

static bool last_given;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "format",
	  .letter = 'f',
	  .type = CLI_CHOICE,
	  AT(format),
	  .choices = "json|csv|text|perfetto|chrome|folded|speedscope|pprof|prometheus|otlp|sqlite|"
		     "clickhouse|"
		     "html",
	  .arg = "FORMAT",
	  .group = "Output",
	  .help = "What to write [by the ending of -o, else json]" },
	{ .name = "output",
	  .letter = 'o',
	  .type = CLI_STRING,
	  AT(output),
	  .arg = "FILE",
	  .group = "Output",
	  .help = "Write there instead of standard output: whole or not at all" },
	{ .name = "gzip",
	  .type = CLI_FLAG,
	  AT(gzip),
	  .group = "Output",
	  .help = "Compress; -o FILE.gz does so by itself" },
	{ .name = "weight",
	  .type = CLI_CHOICE,
	  AT(weight),
	  .choices = "time|count|lost|bytes",
	  .arg = "WHAT",
	  .group = "Output",
	  .help = "Profiles: what a stack weighs [time]" },
	{ .name = "max-db",
	  .type = CLI_SIZE,
	  AT(max_db),
	  .arg = "SIZE",
	  .group = "Output",
	  .help = "sqlite: leave out the oldest minutes beyond it" },
	{ .name = "stacks",
	  .type = CLI_FLAG,
	  AT(stacks),
	  .group = "Output",
	  .help = "text: the stack of each event below it" },
	{ .name = "no-stacks",
	  .type = CLI_FLAG,
	  AT(no_stacks),
	  .group = "Output",
	  .help = "Events without their stacks" },
	{ .name = "records",
	  .type = CLI_FLAG,
	  AT(records),
	  .group = "Output",
	  .help = "json: samples, losses and other records, too" },
	{ .name = "push",
	  .type = CLI_STRING,
	  AT(push),
	  .arg = "URL",
	  .group = "Metrics",
	  .help = "Send them to this OTLP/HTTP receiver (env: OTEL_EXPORTER_OTLP_ENDPOINT)" },
	{ .name = "interval",
	  .type = CLI_DURATION,
	  AT(interval_ns),
	  .arg = "TIME",
	  .group = "Metrics",
	  .help = "That often, in the recording's time [10s from a pipe, else once]" },
	{ .name = "header",
	  .type = CLI_REPEAT,
	  AT(headers),
	  .arg = "NAME:VALUE",
	  .group = "Metrics",
	  .help = "With this header" },
	{ .name = "listen",
	  .type = CLI_STRING,
	  AT(listen),
	  .arg = "[HOST]:PORT",
	  .group = "Metrics",
	  .help = "Answer /metrics there, without HOST on this machine only" },
	CLI_SELECT_OPTIONS("What is written", &last_given),
	{ .name = "node",
	  .letter = 'n',
	  .type = CLI_LIST,
	  AT(nodes),
	  .arg = "NODE[,NODE]",
	  .group = "What is written",
	  .help = "Only events of these machines" },
	{ .name = "where",
	  .letter = 'w',
	  .type = CLI_STRING,
	  AT(where),
	  .arg = "EXPR",
	  .group = "What is written",
	  .help = "Only events for which this jq expression of their JSON is true" },
	{ .name = "arg",
	  .type = CLI_REPEAT,
	  AT(args),
	  .arg = "NAME=VALUE",
	  .group = "What is written",
	  .help = "$NAME in the expression is this text" },
	CLI_FLEET_OPTIONS_AS("Other machines", "Ask the dashboards there instead", "token-file",
			     "The token they want [$INGERO_TOKEN]",
			     "Ask over TLS, and trust these certificates (PEM)", false),
	{ .name = "timeout",
	  .type = CLI_DURATION,
	  AT(fleet.timeout_ns),
	  .arg = "TIME",
	  .group = "Other machines",
	  .of_nodes = true,
	  .help = "Leave out nodes that are silent for longer [60s]" },
	{ .name = "max-node",
	  .type = CLI_SIZE,
	  AT(max_node),
	  .arg = "SIZE",
	  .group = "Other machines",
	  .of_nodes = true,
	  .help = "Leave out nodes whose recording is larger [4G]" },
	{ .name = "max-nodes",
	  .type = CLI_SIZE,
	  AT(max_nodes),
	  .arg = "SIZE",
	  .group = "Other machines",
	  .of_nodes = true,
	  .help = "Of more in all leave out the largest [half the room]" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-export",
	.summary = "Write a recording as what other programs read",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-export -f json run.ige | jq 'select(.duration_ns > 1e6)'\n"
		  "  ingero-export -e 'cuda:*' -w '.return_code != 0' -f text run.ige",
	.reads_recordings = true,
	.nodes = &values.fleet.nodes,
};

struct export
{
	const struct export_format *format;
	struct live_metrics_options live;
	struct html_page_format_options page;
	struct cli_otel otel;
	struct findings_format *sink;
	struct export_ctx em;
	struct late_names told;
	struct buf text, packed;
	struct gzip *gzip;
	struct atomic_file out;
	struct filter sel;
	struct filter_expr *expr;
	struct remote_recordings fetched; /* of other machines */
	uint64_t findings;
	uint64_t events, bytes, left_out; /* left_out: events that --max-db has no room for */
	bool piped;			  /* standard input is read */
	bool partial;			  /* not all of it could be read */
};

/* --push and --listen take the place of what would be written. */
static int choose_live(struct export *x, struct err *e)
{
	const struct metrics_push to = { .push = values.push,
					 .listen = values.listen,
					 .ca_cert = values.fleet.ca_cert,
					 .headers = &values.headers,
					 .interval_ns = values.interval_ns,
					 .piped = x->piped,
					 .agent = program.name };

	if (values.weight || values.max_db || values.records || values.stacks || values.no_stacks)
		return err_set(e, ERR_USAGE,
			       "--push and --listen are for metrics, which have no stacks and "
			       "records: not with --weight, --max-db, --records or --no-stacks");
	if (!values.push && (values.headers.n || values.interval_ns ||
			     (values.fleet.ca_cert && !values.fleet.nodes.n)))
		return err_set(e, ERR_USAGE, "--interval, --header and --ca-cert go with --push");
	if (values.output || values.gzip ||
	    (values.format && strcmp(values.format, "otlp") && strcmp(values.format, "prometheus")))
		return err_set(e, ERR_USAGE,
			       "--push and --listen are for metrics, and write nothing: not with "
			       "-o, --gzip or -f");
	x->format = &live_metrics;
	x->em.opt = (struct export_options){ .live = &x->live, .version = cli_version() };
	return metrics_push_setup(&x->live, &x->otel, &to, e);
}

static const struct export_format *format_of(const char *name, const char *path)
{
	static const struct export_format *const more[] = { &store_sqlite, &html_page_format };

	for (unsigned i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (name ? !strcmp(name, more[i]->name) : path && export_format_ends(more[i], path))
			return more[i];
	return export_format_of(name, path);
}

static int choose_format(struct export *x, struct err *e)
{
	const char *path = values.output && strcmp(values.output, "-") ? values.output : NULL;
	size_t n = path ? strlen(path) : 0;

	x->format = format_of(values.format, path);
	if (!x->format)
		return err_set(e, ERR_USAGE, "which format is %s? Its ending does not say: give -f",
			       path);
	if (values.weight && !x->format->profile)
		return err_set(e, ERR_USAGE, "--weight is for stacks: folded, speedscope, pprof");
	if (values.records && strcmp(x->format->name, "json"))
		return err_set(e, ERR_USAGE, "--records is for lines of JSON: -f json");
	if (values.gzip && x->format->compressed)
		return err_set(e, ERR_USAGE, "%s is compressed already", x->format->name);
	if (x->format->seeks && (!path || values.gzip))
		return err_set(e, ERR_USAGE, "%s is a file: name it with -o, and not with --gzip",
			       x->format->name);
	if (values.where && x->format->whole)
		return err_set(e, ERR_USAGE,
			       "-w chooses events, and %s is of all of them: -p, -e, -n and times "
			       "choose what it shows",
			       x->format->name);
	if (values.stacks && strcmp(x->format->name, "text") != 0)
		return err_set(e, ERR_USAGE, "--stacks is for -f text: other formats have them");
	if (values.max_db && !x->format->seeks)
		return err_set(e, ERR_USAGE, "--max-db is for archives: -f sqlite");
	values.gzip |= n > 3 && !strcmp(path + n - 3, ".gz") && !x->format->compressed;
	if (!path && (x->format->binary || values.gzip) && isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			       "this is not for a terminal: name a file with -o, or a pipe");
	x->em.opt = (struct export_options){ .stacks = !values.no_stacks,
					     .stacks_below = values.stacks,
					     .records = values.records,
					     .chosen = values.names.n > 0,
					     .tool = "ingero-export",
					     .max_bytes = values.max_db,
					     .partial = &x->partial,
					     .left_out = &x->left_out,
					     .page = &x->page,
					     .version = cli_version(),
					     .weight = export_weight_of(values.weight) };
	return 0;
}

static int open_expression(struct export *x, struct err *e)
{
	if (!values.where)
		return values.args.n
			       ? err_set(e, ERR_USAGE, "--arg is for the expression behind -w")
			       : 0;
	return filter_expr_new(&x->expr, values.where, values.args.v, values.args.n, e);
}

static int flush_text(struct export *x, bool last, struct err *e)
{
	struct buf *b = &x->text;
	int rc = b->failed ? err_nomem(e) : 0;

	if (!rc && x->gzip) {
		rc = gzip_add(x->gzip, &x->packed, b->p, b->n, last, e);
		b = &x->packed;
	}
	if (!rc && b->n)
		rc = write_all(x->out.fd, b->p, b->n, e) ? err_prefix(e, "%s", x->out.path) : 0;
	x->bytes += b->n;
	buf_reset(&x->text);
	buf_reset(&x->packed);
	return rc;
}

/* Whether a read of standard input would wait. */
static bool nothing_yet(void)
{
	return poll(&(struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN }, 1, 0) == 0;
}

static int pick_item(struct export *x, struct stream_item *it, struct filter_pick *pick,
		     struct filter_cut *cut, struct err *e)
{
	bool left = true;
	int rc = 0;

	if (!x->format->whole)
		rc = filter_pick_item(pick, it, &left, e);
	else if (pick->select->resolved)
		rc = filter_cut_item(cut, pick->select, x->em.w, it, &left, e);
	if (!rc && left)
		rc = findings_format_item(x->sink, it, e);
	if (!rc && it->kind == STREAM_EVENTS)
		x->events += it->n;
	return rc;
}

/* A part of a recording is not analyzed: its causes may lie in the rest. */
static bool is_analyzed(const struct export *x)
{
	return x->format->findings && !x->sel.resolved && !values.pids.n && !values.names.n &&
	       !values.nodes.n && !x->expr && !(x->format->flows && x->piped);
}

static struct cli_progress progress;

static bool is_interrupted(void)
{
	cli_progress_tick(&progress);
	return cli_signal_received() != 0;
}

static int read_all(struct export *x, struct input *in, struct filter_pick *pick, struct err *e)
{
	struct event_stream *s = input_stream(in);
	struct filter_cut cut = { 0 };
	struct stream_item it;
	int rc;

	x->em.opt.fd = x->out.fd;
	x->em.opt.path = x->out.path;
	x->em.opt.stop = is_interrupted;
	x->page =
		(struct html_page_format_options){ .select = pick->select, .input = in, .top = 20 };
	rc = findings_format_open(&x->sink, x->format, &x->em, is_analyzed(x), e);
	cli_progress_begin(&progress, input_position, in, isatty(x->out.fd));
	while (!rc && (rc = s->next(s, &it, e)) > 0) {
		rc = it.kind == STREAM_RECORD && !late_names_record(&x->told, x->em.w, it.record)
			     ? err_nomem(e)
			     : pick_item(x, &it, pick, &cut, e);
		if (!rc && x->piped && x->format->idle && nothing_yet())
			rc = findings_format_idle(x->sink, e);
		if (!rc)
			rc = flush_text(x, false, e);
		if (!rc && cli_signal_received())
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
		cli_progress_tick(&progress);
	}
	if (!rc || rc == ERR_TOO_NEW) {
		int end;

		x->partial = rc || input_partial(in);
		end = findings_format_analyze(x->sink, e);
		end = end ? end : findings_format_finish(x->sink, e);
		if (!end)
			end = flush_text(x, true, e);
		rc = end ? end : rc;
	}
	cli_progress_end(&progress);
	if (x->sink)
		x->findings = findings_format_count(x->sink);
	findings_format_free(x->sink);
	filter_cut_free(&cut);
	return rc;
}

/* Reports what could not be read, and events that -w failed on. */
static int print_damage(const struct export *x, const struct input *in)
{
	struct buf notes = { 0 }, details = { 0 };
	const char *first;
	uint64_t errors;
	int status, verdict = input_verdict(in, &notes);

	input_account(in, &details);
	fleet_files_replace_names(&x->fetched.files, &notes);
	fleet_files_replace_names(&x->fetched.files, &details);
	status = cli_say_input(verdict, &notes, &details);
	first = x->expr ? filter_expr_errors(x->expr, &errors) : NULL;
	if (first)
		cli_warn("-w had no answer for %s events, which were left out; the first: %s",
			 fmt_count(errors).s, first);
	return status;
}

/* What an event takes in an archive: ", 180 bytes an event". */
static struct fmt_text per_event(const struct export *x, uint64_t events)
{
	struct fmt_text text = { "" };

	if (!strcmp(x->format->name, "sqlite") && events)
		snprintf(text.s, sizeof(text.s), ", %.0f bytes an event",
			 (double)x->bytes / (double)events);
	return text;
}

static void print_written(const struct export *x)
{
	uint64_t events = x->events - x->left_out;
	struct buf text = { 0 };

	fmt_counted(&text, events, bytes_of("events"));
	buf_puts(&text, ", ");
	fmt_counted(&text, x->findings, bytes_of("findings"));
	cli_note("Exported %s -> %s (%s, %s%s)", buf_text(&text), values.output, x->format->name,
		 fmt_bytes(x->bytes).s, per_event(x, events).s);
	buf_free(&text);
	if (x->left_out)
		cli_note("%s events of older minutes were left out (--max-db)",
			 fmt_count(x->left_out).s);
	if (values.max_db && x->bytes > values.max_db)
		cli_warn("%s is larger than --max-db: its last minute stays, and what says whose "
			 "events "
			 "they are",
			 values.output);
}

static int run_export(struct export *x, const struct cli_operands *operands, int *status,
		      struct err *e)
{
	const char *path = values.output ? values.output : "-";
	struct world *w = x->em.w;
	struct filter_pick pick = { .select = &x->sel, .expr = x->expr, .w = w, .told = &x->told };
	struct input *in = NULL;
	struct stat st;
	int rc;

	rc = input_open_within_ahead(&in, w, (const char *const *)operands->v,
				     (unsigned)operands->n, x->fetched.files.ahead_ns, &x->sel, e);
	if (!rc)
		rc = atomic_file_open(&x->out, path, e);
	if (!rc && values.gzip)
		rc = gzip_new(&x->gzip, 6, e);
	if (!rc)
		rc = read_all(x, in, &pick, e);
	/* A newer version ends the reading; what came before it is still worth having. */
	if (rc == ERR_TOO_NEW) {
		cli_error("%s", e->text);
		*status = CLI_EXIT_DAMAGED;
		rc = 0;
	}
	if (!rc)
		rc = input_something(in, e);
	if (!rc && x->format->seeks && fstat(x->out.fd, &st) == 0)
		x->bytes = (uint64_t)st.st_size;
	if (!rc)
		rc = atomic_file_keep(&x->out, e);
	if (!rc) {
		int damage = print_damage(x, in);

		*status = damage > *status ? damage : *status;
		if (values.output && strcmp(values.output, "-"))
			print_written(x);
	}
	atomic_file_drop(&x->out);
	filter_pick_free(&pick);
	input_free(in);
	return rc;
}

/* Recordings of other machines take the place of the operands. */
static int fetch_nodes(struct export *x, const struct filter_words *words,
		       struct cli_operands *operands, struct err *e)
{
	const struct fleet_options how = { .recording_max = values.max_node,
					   .recordings_max = values.max_nodes,
					   .agent = program.name };
	int rc = remote_recordings_fetch(&x->fetched, &values.fleet, how, words, e);

	operands->v = x->fetched.files.names;
	operands->n = x->fetched.files.n;
	return rc;
}

static int prepare_export(struct export *x, const struct cli_operands *operands,
			  const struct filter_words *words, struct err *e)
{
	int rc;

	if (values.push || values.listen)
		rc = choose_live(x, e);
	else if (values.headers.n || (values.fleet.ca_cert && !values.fleet.nodes.n) ||
		 values.interval_ns)
		rc = err_set(e, ERR_USAGE, "--interval, --header and --ca-cert go with --push");
	else
		rc = choose_format(x, e);
	if (!rc) {
		x->sel.calls = x->format->whole;
		rc = filter_words(&x->sel, words, e);
	}
	if (!rc)
		rc = open_expression(x, e);
	if (!rc && values.output)
		rc = cli_output_apart(values.output, operands->v, operands->n, e);
	if (!rc && values.output && x->format && x->format->seeks)
		rc = archive_replaceable(values.output, e);
	/* From a pipe the rest is read; otherwise what was begun is taken away. */
	if (!rc && !x->piped)
		rc = cli_signals_catch(e);
	else if (!rc)
		cli_signals_let_first_pass(STDIN_FILENO);
	x->em.w = rc ? NULL : world_new();
	if (!rc && !x->em.w)
		rc = err_nomem(e);
	x->em.told = &x->told;
	x->em.out = &x->text;
	return rc;
}

static void free_export(struct export *x)
{
	remote_recordings_free(&x->fetched);
	cli_otel_free(&x->otel);
	gzip_free(x->gzip);
	buf_free(&x->text);
	buf_free(&x->packed);
	late_names_free(&x->told);
	filter_expr_free(x->expr);
	world_free(x->em.w);
	filter_free(&x->sel);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	cli_list_free(&values.nodes);
	cli_list_free(&values.args);
	cli_list_free(&values.headers);
	cli_list_free(&values.fleet.nodes);
}

int main(int argc, char **argv)
{
	struct export x = { .out.fd = -1 };
	struct cli_operands operands;
	struct filter_words words;
	struct err e = { 0 };
	int rc, status;

	cli_start();
	database_input_watch(cli_preparing);
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	status = CLI_EXIT_DONE;
	words = (struct filter_words){ .pids = values.pids.v,
				       .npids = values.pids.n,
				       .names = values.names.v,
				       .nnames = values.names.n,
				       .nodes = values.nodes.v,
				       .nnodes = values.nodes.n,
				       .since = values.since,
				       .until = values.until,
				       .last_given = last_given,
				       .last_ns = values.last_ns };
	x.piped = operands.n == 0 && !values.fleet.nodes.n;
	rc = prepare_export(&x, &operands, &words, &e);
	if (!rc && values.fleet.nodes.n)
		rc = fetch_nodes(&x, &words, &operands, &e);
	if (!rc)
		rc = run_export(&x, &operands, &status, &e);
	if (rc == ERR_INTERRUPTED)
		status = 128 + cli_signal_received();
	else if (rc)
		status = cli_fail(fleet_files_replace_names_err(&x.fetched.files, &e));
	free_export(&x);
	return status;
}

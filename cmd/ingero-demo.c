/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-demo: writes a generated recording whose truth is known. Without a scenario it sends one
 * through ingero-correlate and ingero-explain, so that a newcomer sees a verdict.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/human.h"
#include "lib/base/io.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/timetext.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/signals.h"
#include "lib/cli/term.h"
#include "lib/ige/writer.h"
#include "lib/sim/sim.h"

static struct values {
	const char *output, *node;
	bool archive, list, truth, json;
	int64_t seed, threads, dose;
	uint64_t duration_ns;
} values = { .seed = 1, .dose = -1, .duration_ns = 30000000000 };

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "seed",
	  .type = CLI_INT,
	  AT(seed),
	  .arg = "N",
	  .group = "What is generated",
	  .min = 0,
	  .max = INT64_MAX,
	  .help = "Another recording of the same scenario [1]" },
	{ .name = "duration",
	  .type = CLI_DURATION,
	  AT(duration_ns),
	  .arg = "TIME",
	  .group = "What is generated",
	  .help = "How long the recording lasts in event time [30s]" },
	{ .name = "threads",
	  .type = CLI_INT,
	  AT(threads),
	  .arg = "N",
	  .group = "What is generated",
	  .min = 1,
	  .max = 64,
	  .help = "Threads that make CUDA calls; the first is the victim [2, or what the "
		  "scenario needs]" },
	{ .name = "dose",
	  .type = CLI_INT,
	  AT(dose),
	  .arg = "PERCENT",
	  .group = "What is generated",
	  .min = 0,
	  .max = 80,
	  .help = "Share of the time the culprit takes" },
	{ .name = "node",
	  .letter = 'n',
	  .type = CLI_STRING,
	  AT(node),
	  .arg = "NAME",
	  .group = "What is generated",
	  .help = "Made on the machine of that name" },
	{ .name = "output",
	  .letter = 'o',
	  .type = CLI_STRING,
	  AT(output),
	  .arg = "FILE",
	  .group = "Output",
	  .help = "Write the recording there instead of standard output" },
	{ .name = "archive",
	  .type = CLI_FLAG,
	  AT(archive),
	  .group = "Output",
	  .help = "Write it in the smallest form" },
	{ .name = "list",
	  .type = CLI_FLAG,
	  AT(list),
	  .group = "Output",
	  .help = "List the scenarios" },
	{ .name = "truth",
	  .type = CLI_FLAG,
	  AT(truth),
	  .group = "Output",
	  .help = "Print what is planted instead of the recording" },
	{ .name = "json",
	  .type = CLI_FLAG,
	  AT(json),
	  .group = "Output",
	  .help = "The list or the truth as JSON" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-demo",
	.summary = "Generate a recording whose truth is known",
	.usage = "[SCENARIO]",
	.options = options,
	.footer = "Without a scenario the incident is correlated and explained at once:\n"
		  "  ingero-demo incident | ingero-correlate | ingero-explain",
	.operands_max = 1,
};

static int write_recording(const struct sim_options *o, int fd, struct err *e)
{
	struct world *w = world_new();
	struct event_stream *in = NULL;
	struct ige_writer *out = NULL;
	struct ige_writer_options opt = { .clock_id = 1, .index = true, .archive = values.archive };
	const struct world_node *node;
	struct ige_fd_sink sink;
	struct stream_item item;
	int rc;

	rc = w ? sim_open(&in, w, o, e) : err_nomem(e);
	if (rc)
		goto out;
	node = world_get_node(w, 1);
	memcpy(opt.node_uuid, node->uuid, sizeof(opt.node_uuid));
	opt.boot = node->boot;
	opt.real_minus_mono_ns = sim_real_minus_mono_ns();
	ige_fd_sink_init(&sink, fd);
	rc = ige_writer_new(&out, w, &sink.sink, &opt, e);
	while (!rc && (rc = in->next(in, &item, e)) > 0) {
		rc = 0;
		for (size_t i = 0; i < item.n && !rc; i++)
			rc = ige_writer_event(out, &item.events[i], e);
		if (item.kind == STREAM_RECORD)
			rc = ige_writer_record(out, item.record, e);
		if (item.kind == STREAM_EVENTS && !rc)
			rc = ige_writer_flush(out, item.watermark_ns, item.floor_ns, false, e);
		if (item.kind == STREAM_LAST && !rc)
			rc = ige_writer_finish(out, e);
	}
out:
	ige_writer_free(out);
	if (in)
		in->close(in);
	world_free(w);
	return rc;
}

static int record_to(const struct sim_options *o, const char *path)
{
	struct err e = { 0 };
	int fd = path ? cli_output_open(path, &e) : STDOUT_FILENO;
	int rc = fd < 0 ? e.code : cli_refuse_terminal(fd, &e);

	if (!rc)
		rc = write_recording(o, fd, &e);
	if (fd > STDERR_FILENO && close(fd) && !rc)
		rc = err_sys(&e, "cannot write %s", path);
	return rc ? cli_fail(&e) : CLI_EXIT_DONE;
}

static void truths_json(struct jsonw *j, const struct event_stream *in)
{
	unsigned n;
	const struct sim_truth *t = sim_truths(in, &n);

	jsonw_key_array(j, "truths");
	for (unsigned i = 0; i < n; i++) {
		if (t[i].count == 0)
			continue;
		jsonw_object_begin(j);
		jsonw_key_str(j, "kind", t[i].kind);
		jsonw_key_str(j, "culprit", t[i].culprit);
		jsonw_key_u64(j, "culprit_pid", t[i].culprit_pid);
		jsonw_key_u64(j, "victim_pid", t[i].victim_pid);
		jsonw_key_u64(j, "lost_ns", t[i].lost_ns);
		jsonw_key_u64(j, "count", t[i].count);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void truths_text(struct buf *out, const struct event_stream *in)
{
	static const char *const headers[] = { "planted", "culprit", ">pid", ">victim",
					       ">lost",	  ">times",  NULL };
	struct table *table = table_new(headers);
	unsigned n, rows = 0;
	const struct sim_truth *t = sim_truths(in, &n);

	for (unsigned i = 0; table && i < n; i++) {
		if (t[i].count == 0)
			continue;
		rows++;
		table_cell(table, "%s", t[i].kind);
		table_cell(table, "%s", t[i].culprit);
		table_cell(table, "%u", t[i].culprit_pid);
		table_cell(table, "%u", t[i].victim_pid);
		table_cell(table, "%s", human_ns(t[i].lost_ns).s);
		table_cell(table, "%s", human_count(t[i].count).s);
	}
	if (!table)
		out->failed = true;
	else if (rows)
		table_fold(out, table, 0, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
	else
		buf_puts(out, "nothing is planted\n");
	table_free(table);
}

static int print_truth(const char *scenario, const struct sim_options *o)
{
	struct world *w = world_new();
	struct event_stream *in = NULL;
	struct stream_item item;
	struct buf out = { 0 };
	struct err e = { 0 };
	int rc = w ? sim_open(&in, w, o, &e) : err_nomem(&e);

	while (!rc && (rc = in->next(in, &item, &e)) > 0)
		rc = 0;
	if (!rc && values.json) {
		struct jsonw j;

		jsonw_init(&j, &out, true);
		jsonw_object_begin(&j);
		jsonw_key_str(&j, "schema", "ingero.demo/1");
		jsonw_key_str(&j, "scenario", scenario);
		jsonw_key(&j, "seed");
		jsonw_id(&j, o->seed);
		jsonw_key_u64(&j, "duration_ns", o->duration_ns);
		truths_json(&j, in);
		jsonw_object_end(&j);
		buf_putc(&out, '\n');
	} else if (!rc) {
		truths_text(&out, in);
	}
	if (!rc)
		rc = cli_print(&out, &e);
	if (in)
		in->close(in);
	world_free(w);
	buf_free(&out);
	return rc ? cli_fail(&e) : CLI_EXIT_DONE;
}

static int print_list(void)
{
	static const char *const headers[] = { "scenario", "what is wrong", NULL };
	struct table *table = values.json ? NULL : table_new(headers);
	struct buf out = { 0 };
	struct err e = { 0 };
	struct jsonw j;
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);
	int rc;

	jsonw_init(&j, &out, true);
	if (values.json) {
		jsonw_object_begin(&j);
		jsonw_key_str(&j, "schema", "ingero.demo/1");
		jsonw_key_array(&j, "scenarios");
	}
	for (unsigned i = 0; i < n; i++) {
		if (values.json) {
			jsonw_object_begin(&j);
			jsonw_key_str(&j, "name", s[i].name);
			jsonw_key_str(&j, "summary", s[i].summary);
			jsonw_object_end(&j);
		} else if (table) {
			table_cell(table, "%s", s[i].name);
			table_cell(table, "%s", s[i].summary);
		}
	}
	if (values.json) {
		jsonw_array_end(&j);
		jsonw_object_end(&j);
		buf_putc(&out, '\n');
	} else if (table) {
		table_fold(&out, table, 0, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
	} else {
		out.failed = true;
	}
	table_free(table);
	rc = values.json ? cli_print(&out, &e) : cli_print_text(&out, &e);
	buf_free(&out);
	return rc ? cli_fail(&e) : CLI_EXIT_DONE;
}

/* ---- no scenario: the whole way to the verdict ---- */

/* The program of that name beside this one, else wherever the shell would find it. */
static void exec_sibling(const char *name)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *slash;

	if (n > 0) {
		path[n] = '\0';
		slash = strrchr(path, '/');
		snprintf(slash + 1, (size_t)(path + sizeof(path) - slash - 1), "%s", name);
		execl(path, name, (char *)NULL);
	}
	execlp(name, name, (char *)NULL);
	cli_error("cannot run %s: %s", name, strerror(errno));
	_exit(CLI_EXIT_CANNOT);
}

/* Runs name with in as standard input and out (-1: ours) as standard output; other is closed in the child. */
static pid_t spawn(const char *name, int in, int out, int other)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	cli_signals_restore();
	dup2(in, STDIN_FILENO);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	close(in);
	if (out >= 0)
		close(out);
	if (other >= 0)
		close(other);
	exec_sibling(name);
	return -1;
}

static int status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return CLI_EXIT_CANNOT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int show_verdict(const struct sim_options *o)
{
	int a[2], b[2], first, second, rc;
	pid_t correlate, explain;
	struct err e = { 0 };

	if (pipe(a) || pipe(b)) {
		err_sys(&e, "cannot make a pipe");
		return cli_fail(&e);
	}
	cli_note("A generated recording: another process shares the CPU of a training loop.");
	cli_note("The same by hand: ingero-demo incident | ingero-correlate | ingero-explain\n");
	correlate = spawn("ingero-correlate", a[0], b[1], a[1]);
	close(a[0]);
	close(b[1]);
	explain = spawn("ingero-explain", b[0], -1, a[1]);
	close(b[0]);
	if (correlate < 0 || explain < 0)
		rc = err_sys(&e, "cannot start a program");
	else
		rc = write_recording(o, a[1], &e);
	close(a[1]);
	first = correlate > 0 ? status_of(correlate) : 0;
	second = explain > 0 ? status_of(explain) : 0;
	if (rc && rc != ERR_CLOSED)
		return cli_fail(&e);
	return first ? first : second;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct sim_options o;
	const char *scenario;
	int rc;

	cli_start();
	rc = cli_parse(&program, &values, argc, argv, &operands);
	if (rc != CLI_GO)
		return rc;
	if (values.list && operands.n)
		return cli_usage_error(&program, "--list takes no scenario");
	if (values.list)
		return cli_finish_stdout(print_list());
	if (values.json && !values.truth)
		return cli_usage_error(&program,
				       "--json goes with --list or --truth; a recording is binary");
	if (values.truth && values.output)
		return cli_usage_error(&program,
				       "--truth prints the truth and writes no recording");
	scenario = operands.n ? operands.v[0] : "incident";
	if (sim_scenario_options(scenario, &o)) {
		const char *names[32], *near;
		unsigned n;
		const struct sim_scenario *s = sim_scenarios(&n);

		for (unsigned i = 0; i < n; i++)
			names[i] = s[i].name;
		near = cli_nearest(scenario, names, n);
		return cli_usage_error(&program,
				       "no scenario is called '%s'%s%s%s (--list names them)",
				       scenario, near ? "; did you mean '" : "", near ? near : "",
				       near ? "'?" : "");
	}
	o.seed = (uint64_t)values.seed;
	o.duration_ns = values.duration_ns;
	if (values.threads)
		o.threads = (unsigned)values.threads;
	o.node = values.node;
	if (values.dose >= 0)
		sim_scenario_dose(&o, (unsigned)values.dose);
	if (values.truth)
		return cli_finish_stdout(print_truth(scenario, &o));
	if (!operands.n && !values.output)
		return show_verdict(&o);
	return record_to(&o, values.output);
}

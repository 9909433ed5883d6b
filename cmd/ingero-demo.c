/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-demo: writes a generated recording whose truth is known, or shows what ingero-correlate
 * and ingero-explain make of it, or of a stall that really happens on this machine.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/atomic_file.h"
#include "lib/base/io.h"
#include "lib/base/jsonw.h"
#include "lib/cli/defaults.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/sibling.h"
#include "lib/cli/term.h"
#include "lib/demo/real_stall.h"
#include "lib/demo/system_bars.h"
#include "lib/host/ready.h"
#include "lib/ige/writer.h"
#include "lib/sim/sim.h"
#include "lib/sim/sim_truths.h"

#define TRUTHS_MAX  64
#define REPORT_MAX  ((size_t)64 << 20)
#define GPU_WAIT_MS 2000
#define PLAY_NS	    2000000000 /* in which a recording's machine is shown */

static struct values {
	const char *output, *node;
	bool archive, list, truth, json, explain, live, loop;
	int64_t seed, threads, dose;
	uint64_t duration_ns;
} values = { .seed = 1, .dose = -1, .duration_ns = 30000000000 };

static bool generating; /* something was said of what is generated, but its machine's name */

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "seed",
	  .type = CLI_INT,
	  AT(seed),
	  .arg = "N",
	  .group = "What is generated",
	  .given = &generating,
	  .min = 0,
	  .max = INT64_MAX,
	  .help = "Another recording of the same scenario [1]" },
	{ .name = "duration",
	  .type = CLI_DURATION,
	  AT(duration_ns),
	  .arg = "TIME",
	  .group = "What is generated",
	  .given = &generating,
	  .help = "How long the recording lasts in event time [30s]" },
	{ .name = "threads",
	  .type = CLI_INT,
	  AT(threads),
	  .arg = "N",
	  .group = "What is generated",
	  .given = &generating,
	  .min = 1,
	  .max = 64,
	  .help = "Threads that make CUDA calls; the first is the victim [2, or what the "
		  "scenario needs]" },
	{ .name = "dose",
	  .type = CLI_INT,
	  AT(dose),
	  .arg = "PERCENT",
	  .group = "What is generated",
	  .given = &generating,
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
	{ .name = "explain",
	  .type = CLI_FLAG,
	  AT(explain),
	  .group = "Showing",
	  .help = "Correlate and explain it; without a SCENARIO the six of the tour" },
	{ .name = "gpu",
	  .type = CLI_FLAG,
	  AT(live),
	  .group = "Showing",
	  .help = "Explain a stall that really happens here: probes, a loop on the GPU, a hog" },
	{ .name = "loop", .type = CLI_FLAG, AT(loop) }, /* what --gpu records */
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
	  .help = "The list, the truth or the reports as JSON" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-demo",
	.summary = "Generate a recording whose truth is known",
	.usage = "[SCENARIO]",
	.options = options,
	.footer = "Without anything the incident is correlated and explained at once, and so is a\n"
		  "SCENARIO on a terminal:\n"
		  "  ingero-demo incident | ingero-correlate | ingero-explain",
	.operands_max = 1,
};

/* NULL truths: they are not asked for. */
static int write_recording(const struct sim_options *o, int fd, struct sim_truth *truths,
			   unsigned *ntruths, struct err *e)
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
		rc = ige_writer_item(out, &item, e);
		if (item.kind == STREAM_LAST && !rc)
			rc = ige_writer_finish(out, e);
	}
	if (truths && !rc) {
		const struct sim_truth *t = sim_truths(in, ntruths);

		*ntruths = *ntruths < TRUTHS_MAX ? *ntruths : TRUTHS_MAX;
		memcpy(truths, t, *ntruths * sizeof(*t));
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
	struct atomic_file out;
	int rc = atomic_file_open(&out, path ? path : "-", &e);

	if (!rc)
		rc = cli_refuse_terminal(out.fd, &e);
	if (!rc && (rc = write_recording(o, out.fd, NULL, NULL, &e)))
		err_prefix(&e, "%s", out.path);
	rc = rc ? rc : atomic_file_keep(&out, &e);
	atomic_file_drop(&out);
	return rc ? cli_fail(&e) : CLI_EXIT_DONE;
}

static int print_truth(const char *scenario, const struct sim_options *o)
{
	struct world *w = world_new();
	struct event_stream *in = NULL;
	const struct sim_truth *t = NULL;
	struct stream_item item;
	struct buf out = { 0 };
	struct err e = { 0 };
	unsigned n = 0;
	int rc = w ? sim_open(&in, w, o, &e) : err_nomem(&e);

	while (!rc && (rc = in->next(in, &item, &e)) > 0)
		rc = 0;
	if (!rc)
		t = sim_truths(in, &n);
	if (!rc && values.json) {
		struct jsonw j;

		jsonw_init(&j, &out, true);
		jsonw_object_begin(&j);
		jsonw_key_str(&j, "schema", "ingero.demo/1");
		jsonw_key_str(&j, "scenario", scenario);
		jsonw_key(&j, "seed");
		jsonw_id(&j, o->seed);
		jsonw_key_u64(&j, "duration_ns", o->duration_ns);
		sim_truths_json(&j, t, n);
		jsonw_object_end(&j);
		buf_putc(&out, '\n');
	} else if (!rc) {
		sim_truths_text(&out, t, n, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
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
	struct buf out = { 0 };
	struct err e = { 0 };
	int rc;

	if (values.json) {
		sim_list_json(&out);
		rc = cli_print(&out, &e);
	} else {
		sim_list_text(&out, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
		rc = cli_print_text(&out, &e);
	}
	buf_free(&out);
	return rc ? cli_fail(&e) : CLI_EXIT_DONE;
}

/* ---- what stands above a report ---- */

/* For who looks at a terminal, the machine is shown while the recording runs. */
static bool bars_wanted(void)
{
	return isatty(STDOUT_FILENO) && !cli_settings.quiet && !values.json;
}

/* Which GPU this machine has: what is generated needs none. */
static void say_gpus(void)
{
	struct host_ready_gpus gpus;
	struct verdicts lines = { 0 };
	struct buf text = { 0 };

	if (cli_settings.quiet)
		return;
	host_ready_gpus(&lines, &gpus, GPU_WAIT_MS);
	host_ready_gpus_text(&gpus, &text);
	if (gpus.count)
		cli_note("GPU: %s, driver %s", buf_text(&text),
			 *gpus.driver ? gpus.driver : "unknown");
	else if (*gpus.driver)
		cli_note("GPU: driver %s, but %s", gpus.driver, gpus.why);
	else
		cli_note("no GPU here: %s", values.live ? gpus.why : "what is shown is generated");
	buf_free(&text);
	verdicts_free(&lines);
}

static int play_bars(const struct sim_options *o, struct err *e)
{
	struct buf newline = { 0 };
	int rc;

	if (!bars_wanted())
		return 0;
	rc = system_bars_play(o, PLAY_NS, e);
	if (!rc) {
		buf_putc(&newline, '\n');
		rc = cli_print(&newline, e);
	}
	buf_free(&newline);
	return rc;
}

/* ---- the whole way to the verdict ---- */

/* Runs the generated recording through ingero-correlate and ingero-explain: prints the report, or
 * (report not NULL) returns it as JSON. *status: of the programs. */
static int explain_recording(const struct sim_options *o, struct sim_truth *truths, unsigned *n,
			     struct buf *report, int *status, struct err *e)
{
	char color[32] = "", *correlate[] = { "ingero-correlate", NULL },
	     *show[] = { "ingero-explain", color, report ? "--json" : NULL, NULL };
	int a[2] = { -1, -1 }, b[2] = { -1, -1 }, c[2] = { -1, -1 }, rc;
	pid_t first = -1, second = -1;

	snprintf(color, sizeof(color), "--color=%s",
		 cli_settings.color ? cli_settings.color : "auto");
	fflush(NULL);
	rc = cli_sibling_pipe(a, e) || cli_sibling_pipe(b, e) || cli_sibling_pipe(c, e);
	if (!rc) {
		first = cli_sibling_start(
			correlate, &(struct cli_sibling_fds){ a[0], b[1], -1, .only_reads = true },
			e);
		second = first < 0 ? -1
				   : cli_sibling_start(
					     show,
					     &(struct cli_sibling_fds){ b[0], report ? c[1] : -1,
									-1, .only_reads = true },
					     e);
	}
	close(a[0]);
	close(b[0]);
	close(b[1]);
	close(c[1]);
	rc = second < 0 ? e->code : write_recording(o, a[1], truths, n, e);
	close(a[1]);
	if (report && !rc)
		rc = read_fd(c[0], "a report", report, REPORT_MAX, e);
	close(c[0]);
	*status = first > 0 ? cli_sibling_wait(first) : 0;
	if (second > 0) {
		int shown = cli_sibling_wait(second);

		*status = *status ? *status : shown;
	}
	/* A reader that closed the pipe has reported why by its own status. */
	return rc == ERR_CLOSED ? 0 : rc;
}

static int fill_options(const char *scenario, struct sim_options *o)
{
	if (sim_scenario_options(scenario, o)) {
		const char *names[64], *near;
		unsigned n;
		const struct sim_scenario *s = sim_scenarios(&n);

		n = n < 64 ? n : 64;
		for (unsigned i = 0; i < n; i++)
			names[i] = s[i].name;
		near = cli_nearest(scenario, names, n);
		return cli_usage_error(&program,
				       "no scenario is called '%s'%s%s%s (--list names them)",
				       scenario, near ? "; did you mean '" : "", near ? near : "",
				       near ? "'?" : "");
	}
	o->seed = (uint64_t)values.seed;
	o->duration_ns = values.duration_ns;
	if (values.threads)
		o->threads = (unsigned)values.threads;
	o->node = values.node;
	if (values.dose >= 0)
		sim_scenario_dose(o, (unsigned)values.dose);
	return CLI_GO;
}

static int show_text(const struct sim_scenario *s, const struct sim_options *o, struct err *e)
{
	struct sim_truth truths[TRUTHS_MAX];
	struct buf out = { 0 };
	unsigned n = 0;
	int rc, status = 0;

	buf_printf(&out, "== %s: %s\n$ ingero-demo %s | ingero-correlate | ingero-explain\n",
		   s->name, s->summary, s->name);
	rc = cli_print(&out, e);
	rc = rc ? rc : play_bars(o, e);
	if (!rc)
		rc = explain_recording(o, truths, &n, NULL, &status, e);
	buf_reset(&out);
	buf_puts(&out, "\nThe truth, which no program above has read:\n");
	sim_truths_text(&out, truths, n, cli_color(STDOUT_FILENO), cli_columns(STDOUT_FILENO));
	buf_putc(&out, '\n');
	if (!rc && !status)
		rc = cli_print(&out, e);
	buf_free(&out);
	return rc ? cli_fail(e) : status;
}

static int show_json(struct jsonw *j, const struct sim_scenario *s, const struct sim_options *o,
		     struct err *e)
{
	struct sim_truth truths[TRUTHS_MAX];
	struct buf report = { 0 };
	unsigned n = 0;
	int status = 0, rc = explain_recording(o, truths, &n, &report, &status, e);

	jsonw_object_begin(j);
	jsonw_key_str(j, "scenario", s->name);
	jsonw_key_str(j, "summary", s->summary);
	jsonw_key(j, "seed");
	jsonw_id(j, o->seed);
	jsonw_key_u64(j, "duration_ns", o->duration_ns);
	sim_truths_json(j, truths, n);
	jsonw_key(j, "report");
	while (report.n && report.p[report.n - 1] == '\n')
		report.n--;
	if (!rc && !status && report.n)
		jsonw_raw(j, buf_bytes(&report));
	else
		jsonw_null(j);
	jsonw_object_end(j);
	buf_free(&report);
	return rc ? cli_fail(e) : status;
}

/* That scenario, or (NULL) all of the tour. */
static int show_scenario(const char *scenario)
{
	struct buf out = { 0 };
	struct err e = { 0 };
	struct sim_options o;
	struct jsonw j;
	int status = 0;
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	jsonw_init(&j, &out, true);
	if (values.json) {
		jsonw_object_begin(&j);
		jsonw_key_str(&j, "schema", "ingero.demo/1");
		jsonw_key_array(&j, "reports");
	} else {
		say_gpus();
	}
	for (unsigned i = 0; i < n && !status; i++) {
		if (scenario ? strcmp(s[i].name, scenario) != 0 : !s[i].tour)
			continue;
		status = fill_options(s[i].name, &o);
		if (status == CLI_GO)
			status = values.json ? show_json(&j, &s[i], &o, &e)
					     : show_text(&s[i], &o, &e);
	}
	if (values.json) {
		jsonw_array_end(&j);
		jsonw_object_end(&j);
		buf_putc(&out, '\n');
		if (!status && cli_print(&out, &e))
			status = cli_fail(&e);
	}
	buf_free(&out);
	return status;
}

/* Without anything on the command line. */
static int show_incident(void)
{
	struct sim_options o;
	struct err e = { 0 };
	int rc, status = fill_options("incident", &o);

	say_gpus();
	cli_note("A generated recording: another process shares the CPU of a training loop.");
	cli_note("The same by hand: ingero-demo incident | ingero-correlate | ingero-explain\n");
	if (status != CLI_GO)
		return status;
	rc = play_bars(&o, &e);
	rc = rc ? rc : explain_recording(&o, NULL, NULL, NULL, &status, &e);
	return rc ? cli_fail(&e) : status;
}

/* ---- a stall that really happens ---- */

static int show_live(void)
{
	char *path = NULL,
	     *show[] = { "ingero-explain", values.json ? "--json" : NULL, NULL, NULL };
	const char *to = values.output;
	struct err e = { 0 };
	int fd = -1, status;
	pid_t hog = -1, pid;

	if (!to && asprintf(&path, "%s/ingero-demo.XXXXXX.ige", cli_scratch_folder()) < 0)
		return err_nomem(&e), cli_fail(&e);
	if (path && (fd = mkstemps(path, 4)) < 0) {
		err_sys(&e, "cannot create %s (TMPDIR says where)", path);
		free(path);
		return cli_fail(&e);
	}
	to = path ? path : to;
	say_gpus();
	status = real_stall_record(program.name, to, bars_wanted(), &hog, &e);
	show[values.json ? 2 : 1] = (char *)to;
	if (status == 0) {
		pid = cli_sibling_start(
			show, &(struct cli_sibling_fds){ -1, -1, -1, .only_reads = true }, &e);
		status = pid < 0 ? cli_fail(&e) : cli_sibling_wait(pid);
	}
	if (status == 0)
		cli_note("\nThe truth: the hog was %s, pid %d", REAL_STALL_HOG, (int)hog);
	if (fd >= 0) {
		close(fd);
		unlink(path);
		if (status == 0)
			cli_note("The recording is gone; -o FILE keeps it.");
	}
	free(path);
	return status;
}

static int check_usage(const struct cli_operands *operands)
{
	if (values.list && operands->n)
		return cli_usage_error(&program, "--list takes no scenario");
	if (values.json && !values.truth && !values.list && !values.explain && !values.live)
		return cli_usage_error(&program, "--json goes with --list, --truth or --explain; a "
						 "recording is binary");
	if (values.truth && values.output)
		return cli_usage_error(&program,
				       "--truth prints the truth and writes no recording");
	if (values.explain && values.output && !values.live)
		return cli_usage_error(&program,
				       "--explain shows the report and writes no recording");
	if (values.archive && (values.truth || values.explain || values.live))
		return cli_usage_error(&program, "--archive is for a recording that is written");
	if (values.live && generating)
		return cli_usage_error(&program,
				       "--gpu makes it happen: --seed, --duration, --threads and "
				       "--dose are for what is generated");
	if (values.live && operands->n && strcmp(operands->v[0], "incident") != 0)
		return cli_usage_error(&program,
				       "--gpu makes the incident happen; '%s' can be "
				       "generated only",
				       operands->v[0]);
	return CLI_GO;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct err e = { 0 };
	struct sim_options o;
	const char *scenario;
	int status;

	cli_start();
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status == CLI_GO && values.loop)
		return real_stall_loop(program.name, &e) ? cli_fail(&e) : CLI_EXIT_DONE;
	if (status == CLI_GO)
		status = check_usage(&operands);
	if (status != CLI_GO)
		return status;
	if (values.list)
		return cli_finish_stdout(print_list());
	if (values.live)
		return cli_finish_stdout(show_live());
	scenario = sim_scenario_name(operands.n ? operands.v[0] : "incident");
	status = fill_options(scenario, &o);
	if (status != CLI_GO)
		return status;
	if (values.truth)
		return cli_finish_stdout(print_truth(scenario, &o));
	/* A recording is nothing for a terminal: what it tells is. */
	if (!values.output && !values.archive && isatty(STDOUT_FILENO))
		values.explain |= operands.n > 0;
	if (values.explain && !values.output)
		return cli_finish_stdout(show_scenario(operands.n ? scenario : NULL));
	if (!operands.n && !values.output)
		return cli_finish_stdout(show_incident());
	return record_to(&o, values.output);
}

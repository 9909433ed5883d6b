/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-merge: recordings in, one recording out, in time order, or a part of them, or their
 * smallest form. One alone is passed on as the bytes it is where nothing about it has to change.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/archive/replace.h"
#include "lib/base/fmt.h"
#include "lib/base/keyfile.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/cli/window.h"
#include "lib/input/merge.h"
#include "lib/input/database_input.h"
#include "lib/input/operand.h"
#include "lib/input/outputs.h"
#include "lib/input/pass.h"
#include "lib/input/resolve.h"
#include "lib/input/clock_report.h"

static struct values {
	const char *output, *since, *until, *force_node, *key;
	bool slice, split, compact, reindex, recover, anonymize;
	uint64_t last_ns, skew_ns;
	struct cli_list pids, names;
} values = { .skew_ns = 100000000 };

static bool last_given;

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = CLI_STRING,
	  AT(output),
	  .arg = "FILE",
	  .group = "Output",
	  .help = "Write there instead of standard output, an SQLite archive where it ends in .db; "
		  "the file appears when it is whole" },
	{ .name = "compact",
	  .type = CLI_FLAG,
	  AT(compact),
	  .group = "Output",
	  .help = "In the smallest form, for keeping" },
	{ .name = "reindex",
	  .type = CLI_FLAG,
	  AT(reindex),
	  .group = "Output",
	  .help = "One recording as it is, with a new index" },
	{ .name = "recover",
	  .type = CLI_FLAG,
	  AT(recover),
	  .group = "Output",
	  .help = "What is readable of damaged inputs becomes a sound recording that says what "
		  "was lost" },
	{ .name = "split",
	  .type = CLI_FLAG,
	  AT(split),
	  .group = "Output",
	  .help = "A file per machine: FILE with its name in front of the ending" },
	{ .name = "slice",
	  .type = CLI_FLAG,
	  AT(slice),
	  .group = "Which part",
	  .help = "Only what the following options select, and what belongs to it" },
	CLI_SELECT_OPTIONS("Which part", &last_given),
	{ .name = "force-node",
	  .type = CLI_STRING,
	  AT(force_node),
	  .arg = "NAME",
	  .group = "Machines",
	  .help = "Name of the machine of what does not say where it was recorded" },
	{ .name = "clock-skew-threshold",
	  .type = CLI_DURATION,
	  AT(skew_ns),
	  .arg = "TIME",
	  .group = "Machines",
	  .help = "Warn of clocks that may be off by more than this [100ms]" },
	{ .name = "anonymize",
	  .type = CLI_FLAG,
	  AT(anonymize),
	  .group = "For others",
	  .help = "Pseudonyms for hosts, users, paths, pods, addresses and command lines" },
	{ .name = "anonymize-key",
	  .type = CLI_STRING,
	  AT(key),
	  .arg = "FILE",
	  .group = "For others",
	  .help = "The same pseudonyms whenever this secret is used; otherwise they are new each "
		  "time" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-merge",
	.summary = "Recordings in, one out: joined, cut, repaired, made small or anonymous",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-merge node-*.ige | ingero-correlate | ingero-explain\n"
		  "  ingero-merge --slice --last 5m -p 4821 run.ige -o part.ige",
	.reads_recordings = true,
};

/* ---- before anything is opened ---- */

static bool ends_in(const char *path, const char *ending)
{
	size_t n = strlen(path), m = strlen(ending);

	return n > m && !strcmp(path + n - m, ending);
}

static bool to_database(void)
{
	return values.output &&
	       (ends_in(values.output, ".db") || ends_in(values.output, ".sqlite"));
}

static int check_options(bool sliced, struct err *e)
{
	if (to_database() && (values.compact || values.split || values.reindex))
		return err_set(
			e, ERR_USAGE,
			"%s: an archive is one file and has its own form: --compact, --split and "
			"--reindex are for recordings, which end in .ige",
			values.output);
	if (values.slice && !sliced)
		return err_set(e, ERR_USAGE,
			       "--slice needs to know what: --since, --until, --last, -p or -e");
	if (values.split && (!values.output || !strcmp(values.output, "-")))
		return err_set(e, ERR_USAGE,
			       "--split writes several files: name them with -o FILE");
	if (values.reindex &&
	    (sliced || values.compact || values.recover || values.split || values.anonymize))
		return err_set(e, ERR_USAGE,
			       "--reindex leaves the recording as it is: what is written anew has "
			       "its index anyway");
	return 0;
}

/* ---- for others ---- */

static void say_left_out(uint64_t left_out)
{
	if (left_out)
		cli_note("%s chains and analyses cannot be read and were left out: "
			 "ingero-correlate finds them again",
			 fmt_count(left_out).s);
}

/* ---- outputs ---- */

static int keep_outputs(struct merge_outputs *o, const struct cli_operands *operands,
			uint64_t events, struct err *e)
{
	int rc = 0;

	/* Those of machines have names that nobody gave them. */
	for (size_t i = 0; i < o->all.n && !rc; i++)
		if (o->all.v[i]->path)
			rc = cli_output_apart(o->all.v[i]->path, operands->v, operands->n, e);
	for (size_t i = 0; i < o->all.n && !rc; i++) {
		const struct merge_output *out = o->all.v[i];

		rc = to_database() ? archive_replaceable(values.output, e) : 0;
		if (!rc)
			rc = merge_output_keep(o, i, e);
		if (!rc && out->path)
			cli_note("%s: %s", out->path, fmt_bytes(out->bytes).s);
		else if (!rc)
			cli_note("%s: %s events, %s", values.output ? values.output : "output",
				 fmt_count(events).s, fmt_bytes(out->bytes).s);
	}
	return rc;
}

/* ---- running ---- */

static struct cli_progress progress;

/* Called per block, so it updates the progress line, too. */
static bool is_interrupted(void)
{
	cli_progress_tick(&progress);
	return cli_signal_received() != 0;
}

static bool interrupted_merge(const struct merge_target *t)
{
	(void)t;
	return is_interrupted();
}

static void say_counts(const char *name, uint64_t events, uint64_t findings, uint64_t stacks,
		       const char *what)
{
	struct buf text = { 0 };

	fmt_counted(&text, events, bytes_of("events"));
	buf_puts(&text, ", ");
	fmt_counted(&text, findings, bytes_of("findings"));
	buf_puts(&text, ", ");
	fmt_counted(&text, stacks, bytes_of(what));
	cli_note("%s: %s", name, buf_text(&text));
	buf_free(&text);
}

static void say_input(const struct input_told *t, const struct pass_result *passed,
		      const struct world *w)
{
	say_counts(t->name, passed ? passed->events : t->tally->events,
		   passed ? passed->chains : t->tally->chains,
		   passed ? world_count(w, WORLD_STACK) : t->tally->stacks, "stacks");
}

static bool is_operand(const struct cli_operands *operands, const char *name)
{
	for (size_t i = 0; i < operands->n; i++)
		if (!strcmp(operands->v[i], name))
			return true;
	return false;
}

/* A line per input, in the order in which they were typed: what it brought. Those found in folders
 * follow. And one of all. */
static void say_inputs(const struct input *in, const struct pass_result *passed,
		       const struct world *w, const struct cli_operands *operands)
{
	uint64_t events = 0, findings = 0;
	struct input_told t;
	char all[32];
	unsigned n;

	for (size_t k = 0; k < operands->n; k++)
		for (unsigned i = 0; input_told(in, i, &t); i++)
			if (!strcmp(operands->v[k], t.name))
				say_input(&t, passed, w);
	for (n = 0; input_told(in, n, &t); n++) {
		if (!is_operand(operands, t.name))
			say_input(&t, passed, w);
		events += t.tally->events;
		findings += t.tally->chains;
	}
	snprintf(all, sizeof(all), "%u inputs", n);
	if (n > 1)
		say_counts(all, events, findings, world_count(w, WORLD_STACK), "unique stacks");
}

static void say_clocks(const struct input *in, const struct world *w)
{
	struct buf notes = { 0 }, warnings = { 0 };

	input_clock_report(in, w, values.skew_ns, &notes, &warnings);
	if (notes.n) {
		notes.n--; /* the last newline */
		cli_note("%.*s", (int)notes.n, notes.p);
	}
	cli_warn_lines(&warnings);
	buf_free(&notes);
	buf_free(&warnings);
}

/* Damage, as far as it is worth a status: one that was repaired is not. */
static int print_damage(const struct input *in)
{
	struct buf notes = { 0 }, details = { 0 };
	int status = cli_say_input(input_verdict(in, &notes), &notes, &details);

	return values.recover && !input_report(in).empty ? CLI_EXIT_DONE : status;
}

static int merge_inputs(struct world *w, struct input *in, const struct merge_options *opt,
			struct merge_outputs *o, const struct cli_operands *operands, struct err *e)
{
	struct input_told first;
	struct merge_result merged;
	struct pass_result passed = { 0 };
	struct ige_sink *sink;
	bool whole = input_reader(in) && input_told(in, 0, &first) && first.head->known;
	bool pass = whole && !opt->select && !values.compact && !values.recover && !values.split &&
		    !values.force_node && !opt->anonymize && !opt->database;
	int rc;

	if (values.reindex && !pass)
		return err_set(
			e, ERR_USAGE,
			"--reindex is for one recording that begins where it should: "
			"several are indexed when they are merged, damaged ones with --recover");
	cli_progress_begin(&progress, input_position, in, false);
	if (pass) {
		rc = o->target.sink(&o->target, 0, &sink, e);
		if (!rc)
			rc = pass_run(in, values.reindex, sink, is_interrupted, &passed, e);
		merged.events = passed.events;
	} else {
		rc = merge_run(w, in, opt, &o->target, &merged, e);
	}
	cli_progress_end(&progress);
	if (rc)
		return rc;
	say_inputs(in, pass ? &passed : NULL, w, operands);
	if (!pass)
		say_left_out(merged.left_out);
	say_clocks(in, w);
	if (opt->database && o->all.n)
		o->all.v[0]->bytes = merged.bytes;
	return keep_outputs(o, operands, merged.events, e);
}

static int run_merge(const struct cli_operands *operands, struct filter *sel, int *status,
		     struct err *e)
{
	const char *const *names = (const char *const *)operands->v;
	unsigned n = (unsigned)operands->n;
	struct merge_options opt = { .archive = values.compact,
				     .recover = values.recover,
				     .force_node = values.force_node };
	struct world *w = world_new(), *masked = values.anonymize ? world_new() : NULL;
	char tool[64];
	struct archive_options archive = { .tool = tool,
					   .path = values.output,
					   .stop = is_interrupted };
	struct keyhash key;
	struct merge_outputs o;
	struct input *in = NULL;
	int rc = w && !masked == !values.anonymize ? 0 : err_nomem(e);

	merge_outputs_init(&o, masked ? masked : w, values.output, values.split);
	o.target.interrupted = interrupted_merge;
	if (!rc)
		rc = merge_name_nodes(masked ? masked : w, &opt, e);
	database_input_name(values.force_node);
	snprintf(tool, sizeof(tool), "%s %s", program.name, cli_version());
	if (to_database())
		opt.database = &archive;
	if (!rc && values.anonymize) {
		rc = keyhash_read(&key, values.key, e);
		opt.anonymize = &key;
		opt.masked = masked;
	}
	if (!rc && filter_needs_end(sel))
		rc = input_resolve(w, names, n, sel, e);
	if (!rc)
		rc = input_open_counted(&in, w, names, n, e);
	if (!rc && sel->resolved)
		rc = input_window(in, sel->since_ns, sel->until_ns, true, e);
	if (sel->resolved || sel->pids.n || sel->patterns.n)
		opt.select = sel;
	if (!rc)
		rc = merge_inputs(w, in, &opt, &o, operands, e);
	if (!rc)
		*status = print_damage(in);
	merge_outputs_free(&o);
	input_free(in);
	world_free(masked);
	world_free(w);
	return rc;
}

int main(int argc, char **argv)
{
	struct cli_operands operands;
	struct filter sel = { 0 };
	struct filter_words words;
	struct err e = { 0 };
	bool piped, sliced;
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
				       .since = values.since,
				       .until = values.until,
				       .last_given = last_given,
				       .last_ns = values.last_ns };
	values.anonymize |= values.key != NULL;
	sliced = words.npids || words.nnames || words.since || words.until || last_given;
	piped = operands.n == 0;
	for (size_t i = 0; i < operands.n; i++)
		piped |= !strcmp(operands.v[i], "-");
	rc = check_options(sliced, &e);
	if (!rc)
		rc = filter_words(&sel, &words, &e);
	for (size_t i = 0; i < operands.n && !rc; i++)
		rc = input_operand_check(operands.v[i], &e);
	/* An archive may be its own input: it is read to its end before it is replaced. */
	if (!rc && to_database())
		rc = archive_replaceable(values.output, &e);
	else if (!rc && values.output)
		rc = cli_output_apart(values.output, operands.v, operands.n, &e);
	if (!rc && (!values.output || !strcmp(values.output, "-")))
		rc = cli_refuse_terminal(STDOUT_FILENO, &e);
	/* From a pipe the rest is read; otherwise what was begun is taken away. */
	if (!rc && !piped)
		rc = cli_signals_catch(&e);
	else if (!rc)
		cli_signals_let_first_pass(STDIN_FILENO);
	if (!rc)
		rc = run_merge(&operands, &sel, &status, &e);
	if (rc == ERR_INTERRUPTED)
		status = 128 + cli_signal_received();
	else if (rc)
		status = cli_fail(&e);
	filter_free(&sel);
	cli_list_free(&values.pids);
	cli_list_free(&values.names);
	return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingero-correlate: a recording in, the same recording out with its chains. Blocks are passed on as
 * the bytes they are; only chain and analysis records are added, and those of an earlier run
 * replaced. A chain is written as soon as it settles, so that a live pipe shows it while the
 * program still runs.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/oom_flag.h"
#include "lib/detect/analysis.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/options.h"
#include "lib/cli/outfile.h"
#include "lib/cli/output.h"
#include "lib/cli/progress.h"
#include "lib/cli/signals.h"
#include "lib/report/chain_json.h"
#include "lib/ige/block.h"
#include "lib/ige/reader.h"
#include "lib/ige/writer.h"
#include "lib/input/input.h"
#include "lib/input/database_input.h"

static struct values {
	const char *output;
	bool chains_only, json;
	double min_share;
	uint64_t min_lost_ns;
} values = { .min_share = 1, .min_lost_ns = 10000000 };

#define AT(member) .offset = offsetof(struct values, member)

static const struct cli_option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = CLI_STRING,
	  AT(output),
	  .arg = "FILE",
	  .group = "Output",
	  .help = "Write there instead of standard output" },
	{ .name = "chains-only",
	  .type = CLI_FLAG,
	  AT(chains_only),
	  .group = "Output",
	  .help = "Leave the events out: a small stream with the chains and what the recording "
		  "is" },
	{ .name = "json",
	  .type = CLI_FLAG,
	  AT(json),
	  .group = "Output",
	  .help = "Chain and analysis records as JSON, one per line, instead of a stream" },
	{ .name = "min-share",
	  .type = CLI_NUMBER,
	  AT(min_share),
	  .arg = "PERCENT",
	  .group = "What is told",
	  .help = "Causes below this share of wall time are not told [1]" },
	{ .name = "min-lost",
	  .type = CLI_DURATION,
	  AT(min_lost_ns),
	  .arg = "TIME",
	  .group = "What is told",
	  .help = "Nor are those that took less than this [10ms]" },
	{ 0 },
};

static const struct cli_program program = {
	.name = "ingero-correlate",
	.summary = "Find what took the time: the recording again, with its chains",
	.usage = "[FILE...]",
	.options = options,
	.footer = "  ingero-record -o - -- python3 train.py | ingero-correlate | ingero-explain\n"
		  "  ingero-correlate run.ige -o run-chains.ige",
	.reads_recordings = true,
};

struct correlate {
	struct cause_sink sink; /* first member: on_record casts it back */
	struct cause *cause;
	struct buf told; /* blocks or lines to be written */
	struct buf last; /* the LAST block, held back until it is known whether more follows */
	uint64_t seq;
	struct cli_outfile out;
	struct cli_progress progress;
	bool begun; /* a segment header came: without one there is nothing to add anything to */
};

static int on_record(struct cause_sink *s, const struct record *r, struct err *e)
{
	struct correlate *c = (struct correlate *)s;
	int64_t time_ns = r->kind == RECORD_ANALYSIS ? r->u.ANALYSIS.time_ns : r->u.CHAIN.time_ns;

	if (!values.json)
		return ige_encode_records(&c->told, r, 1, c->seq, time_ns, e);
	chain_json_line(&c->told, r);
	return 0;
}

static int flush_buf(struct correlate *c, struct buf *b, struct err *e)
{
	int rc = b->failed ? err_nomem(e) : cli_outfile_write(&c->out, b->p, b->n, e);

	buf_reset(b);
	return rc;
}

/* Whether a block is copied: not the records we replace, nor an index, whose offsets would be
 * wrong. */
static bool is_passed(struct correlate *c, const struct ige_block *b)
{
	if (b->n == IGE_SEGMENT_BYTES && memcmp(b->bytes, IGE_SEGMENT_MAGIC, 8) == 0) {
		c->begun = true;
		return !values.json;
	}
	if (values.json)
		return false;
	if (b->type == IGE_RECORDS)
		return b->record_kind != RECORD_CHAIN && b->record_kind != RECORD_ANALYSIS;
	if (b->type == IGE_INDEX || b->type == IGE_TRAILER)
		return false;
	return !values.chains_only || b->type != IGE_EVENTS || b->last;
}

static int pass_block(struct correlate *c, const struct ige_block *b, struct err *e)
{
	int rc = flush_buf(c, &c->last, e);

	if (rc || !is_passed(c, b))
		return rc;
	if (b->last) {
		buf_add(&c->last, b->bytes, b->n);
		return 0;
	}
	return cli_outfile_write(&c->out, b->bytes, b->n, e);
}

static int one_input(struct correlate *c, struct ige_reader *r, struct err *e)
{
	struct ige_block b;
	struct stream_item item;
	int rc;

	while ((rc = ige_reader_block(r, &b, e)) > 0) {
		c->seq = b.seq;
		rc = pass_block(c, &b, e);
		while (!rc && (rc = ige_reader_items(r, &item, e)) > 0)
			rc = cause_item(c->cause, &item, e);
		if (!rc)
			rc = flush_buf(c, &c->told, e);
		if (rc)
			return rc;
		cli_progress_tick(&c->progress);
	}
	return rc;
}

/* Reports on standard error what could not be read; returns the exit status for it. */
static int print_damage(const struct input *in)
{
	struct buf notes = { 0 }, details = { 0 };

	input_account(in, &details);
	return cli_say_input(input_verdict(in, &notes), &notes, &details);
}

/* Whether every input is readable: checked before anything is written for the first one. */
static int all_there(const struct cli_operands *operands, struct err *e)
{
	for (size_t i = 0; i < operands->n; i++) {
		const char *name = operands->v[i];

		if (strcmp(name, "-") != 0 && access(name, R_OK) != 0)
			return err_sys(e, "cannot open %s", name);
	}
	return 0;
}

/* Whether an input is no regular file: it may grow for long while others read our output. */
static bool is_piped(const struct cli_operands *operands)
{
	struct stat st;

	for (size_t i = 0; i < (operands->n ? operands->n : 1); i++) {
		const char *name = operands->n ? operands->v[i] : "-";

		if ((strcmp(name, "-") ? stat(name, &st) : fstat(STDIN_FILENO, &st)) ||
		    !S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

static int one_operand(struct correlate *c, struct world *w, const char *const *name, int *status,
		       struct err *e)
{
	struct input *in = NULL;
	struct buf what = { 0 };
	int64_t began_ns = 0;
	int rc;

	cli_phase(&began_ns, "");
	rc = input_open(&in, w, name, 1, e);
	if (!rc) {
		input_describe(in, &what);
		cli_detail_lines(&what);
		cli_progress_begin(&c->progress, input_position, in,
				   values.json && isatty(STDOUT_FILENO));
		rc = one_input(c, input_reader(in), e);
		cli_progress_end(&c->progress);
		cli_phase(&began_ns, "read, analyzed and passed on");
	}
	if (in && (rc == 0 || rc == ERR_TOO_NEW)) {
		int damage = print_damage(in);

		*status = damage > *status ? damage : *status;
	}
	buf_free(&what);
	input_free(in);
	return rc;
}

int main(int argc, char **argv)
{
	static const char *const standard[] = { "-" };
	struct correlate c = { .sink = { on_record } };
	struct cause_options opt = { 0 };
	struct cli_operands operands;
	struct world *w = NULL;
	struct err e = { 0 };
	int status, rc = 0;

	cli_start();
	database_input_watch(cli_preparing);
	status = cli_parse(&program, &values, argc, argv, &operands);
	if (status != CLI_GO)
		return status;
	if (!(values.min_share >= 0 && values.min_share <= 100))
		return cli_usage_error(&program, "--min-share is a percentage, 0 to 100");
	status = CLI_EXIT_DONE;
	cli_signals_let_first_pass(STDIN_FILENO);
	if (all_there(&operands, &e) < 0)
		return cli_fail(&e);
	if (values.output && cli_output_apart(values.output, operands.v, operands.n, &e) < 0)
		return cli_fail(&e);
	if (cli_outfile_open(&c.out, values.output, !is_piped(&operands), &e) < 0)
		return cli_fail(&e);
	if (!c.out.path && !values.json && cli_refuse_terminal(c.out.fd, &e) < 0)
		return cli_fail(&e);
	/* Of nothing at all nothing is too little; 0 would be the default. */
	opt.min_share = values.min_share > 0 ? values.min_share / 100 : 1e-300;
	opt.min_lost_ns = values.min_lost_ns ? values.min_lost_ns : 1;
	w = world_new();
	c.cause = w ? cause_new(w, &opt, &c.sink) : NULL;
	if (!c.cause)
		rc = err_nomem(&e);
	for (size_t i = 0; !rc && i < (operands.n ? operands.n : 1); i++)
		rc = one_operand(&c, w, operands.n ? (const char *const *)&operands.v[i] : standard,
				 &status, &e);
	if (!rc)
		rc = cause_finish(c.cause, &e);
	if (!rc && c.begun)
		rc = flush_buf(&c, &c.told, &e);
	if (!rc && oom_flag_is_set()) /* no end for what may lack something */
		rc = err_nomem(&e);
	if (!rc)
		rc = flush_buf(&c, &c.last, &e);
	if (cli_outfile_close(&c.out, !rc, rc ? NULL : &e) && !rc)
		rc = e.code;
	if (rc)
		status = cli_fail(&e);
	buf_free(&c.told);
	buf_free(&c.last);
	cause_free(c.cause);
	world_free(w);
	return status;
}

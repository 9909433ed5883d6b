/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option parser, row by row: what was given, which status came back, what ended up where.
 */
#include "lib/cli/options.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/cli/exit.h"
#include "lib/cli/help.h"
#include "lib/cli/message.h"
#include "lib/cli/value.h"
#include "tests/tap.h"

struct values {
	bool json, all;
	int level;
	const char *output, *mode;
	int64_t top;
	double rate;
	uint64_t size, since;
	struct cli_list pids, exprs;
};

#define AT(member) .offset = offsetof(struct values, member)

static bool top_given;
static const struct cli_option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = CLI_STRING,
	  AT(output),
	  .arg = "FILE",
	  .help = "Write there",
	  .group = "Output" },
	{ .name = "json",
	  .letter = 'j',
	  .type = CLI_FLAG,
	  AT(json),
	  .help = "As JSON",
	  .group = "Output" },
	{ .name = "all",
	  .letter = 'a',
	  .type = CLI_FLAG,
	  AT(all),
	  .help = "Everything",
	  .group = "Targets" },
	{ .name = "level",
	  .letter = 'l',
	  .type = CLI_COUNT,
	  AT(level),
	  .help = "More",
	  .group = "Targets" },
	{ .name = "mode",
	  .type = CLI_CHOICE,
	  AT(mode),
	  .arg = "MODE",
	  .choices = "fast|exact",
	  .help = "How",
	  .group = "Targets" },
	{ .name = "top",
	  .type = CLI_INT,
	  AT(top),
	  .min = 1,
	  .max = 100,
	  .given = &top_given,
	  .arg = "N",
	  .help = "A help text that is much too long for the rest of one line and has to be "
		  "wrapped "
		  "somewhere sensible",
	  .group = "Output" },
	{ .name = "rate", .type = CLI_NUMBER, AT(rate), .help = "Rate", .group = "Output" },
	{ .name = "size",
	  .type = CLI_SIZE,
	  AT(size),
	  .arg = "SIZE",
	  .help = "Size",
	  .group = "Output" },
	{ .name = "since",
	  .type = CLI_DURATION,
	  AT(since),
	  .arg = "T",
	  .help = "Since",
	  .group = "Output" },
	{ .name = "pid",
	  .letter = 'p',
	  .type = CLI_LIST,
	  AT(pids),
	  .arg = "PID[,PID]",
	  .help = "Processes",
	  .group = "Targets" },
	{ .name = "where",
	  .letter = 'w',
	  .type = CLI_REPEAT,
	  AT(exprs),
	  .arg = "EXPR",
	  .help = "Only these",
	  .group = "Targets" },
	{ .name = "old-name", .type = CLI_FLAG, AT(all), .help = "Hidden" },
	{ 0 },
};

static struct cli_program program = {
	.name = "ingero-test", .summary = "Tests things", .usage = "[FILE...]", .options = options
};

/* Parse words (split at blanks) with standard error and output caught in *said. */
static int parse(struct values *v, struct cli_operands *rest, const char *words, struct buf *said)
{
	static char text[400], *argv[32];
	char *at = text, *save = NULL;
	int argc = 1, status, saved[2] = { dup(1), dup(2) }, fd;
	char path[] = "/tmp/ingero-unit.XXXXXX", chunk[8192];
	ssize_t n;

	snprintf(text, sizeof(text), "%s", words);
	argv[0] = (char *)"ingero-test";
	while ((argv[argc] = strtok_r(at, " ", &save))) {
		argc++;
		at = NULL;
	}
	fflush(stdout);
	fd = mkstemp(path);
	unlink(path);
	dup2(fd, 1);
	dup2(fd, 2);
	memset(v, 0, sizeof(*v));
	memset(rest, 0, sizeof(*rest));
	top_given = false;
	cli_settings = (struct cli_settings){ .color = "auto" };
	status = cli_parse(&program, v, argc, argv, rest);
	dup2(saved[0], 1);
	dup2(saved[1], 2);
	close(saved[0]);
	close(saved[1]);
	buf_reset(said);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(said, chunk, (size_t)n);
	close(fd);
	return status;
}

static void accepted(void)
{
	struct cli_operands rest;
	struct buf said = { 0 };
	struct values v;

	is_int(parse(&v, &rest, "-o x --json a b", &said), CLI_GO, "plain");
	ok(v.json && !strcmp(v.output, "x") && rest.n == 2 && !strcmp(rest.v[1], "b") && !rest.v[2],
	   "values and operands");
	parse(&v, &rest, "a -jall -ox.ige", &said);
	ok(v.json && v.all && v.level == 2 && !strcmp(v.output, "x.ige"),
	   "grouped letters, glued value");
	parse(&v, &rest, "--output=a=b -p 1,2 --pid=3 -w a,b -w c", &said);
	ok(!strcmp(v.output, "a=b"), "only the first = counts");
	ok(v.pids.n == 3 && !strcmp(v.pids.v[2], "3"), "a list is split and goes on");
	ok(v.exprs.n == 2 && !strcmp(v.exprs.v[0], "a,b"), "a repeated value is not split");
	cli_list_free(&v.pids);
	cli_list_free(&v.exprs);
	parse(&v, &rest, "--top 7 --rate -2.5 --size 1.5m --since 1h30m --mode exact", &said);
	ok(v.top == 7 && top_given && v.rate == -2.5 && v.size == 3 << 19 &&
		   v.since == 5400000000000u && !strcmp(v.mode, "exact"),
	   "typed values");
	parse(&v, &rest, "--top 010", &said);
	is_int(v.top, 10, "a whole number with a zero before it");
	parse(&v, &rest, "--top 0x10", &said);
	is_int(v.top, 16, "and in hexadecimal");
	parse(&v, &rest, "- -- -j --nonsense", &said);
	ok(rest.n == 3 && rest.dashes && !v.json && !strcmp(rest.v[0], "-") &&
		   !strcmp(rest.v[2], "--nonsense"),
	   "behind -- everything is an operand");
	parse(&v, &rest, "-qvv --color=never --old-name", &said);
	ok(cli_settings.quiet && cli_settings.verbose == 2 &&
		   !strcmp(cli_settings.color, "never") && v.all,
	   "common and hidden options");
	program.stop_at_operand = true;
	parse(&v, &rest, "-j python3 -a --json", &said);
	ok(v.json && !v.all && rest.n == 3, "a command keeps its own options");
	program.stop_at_operand = false;
	buf_free(&said);
}

static void refused(void)
{
	static const struct {
		const char *words, *said;
	} rows[] = {
		{ "--jsn", "ingero-test: unknown option '--jsn'; did you mean '--json'?" },
		{ "--js=1", "did you mean '--json'?" },
		{ "--verbos", "did you mean '--verbose'?" },
		{ "--entirely-else", "unknown option '--entirely-else' (" },
		{ "-Z", "unknown option '-Z'" },
		{ "-jZ", "unknown option '-Z'" },
		{ "--json=yes", "option '--json' takes no value" },
		{ "-o", "option '-o' needs a value: FILE" },
		{ "--top=0", "'0' is not within 1..100" },
		{ "--top=5x", "'5x' is not a whole number" },
		{ "--top=99999999999999999999", "is not within" },
		{ "--rate=fast", "'fast' is not a number" },
		{ "--rate=nan", "'nan' is not a number" },
		{ "--size=10x", "is not a size" },
		{ "--size=-1", "is not a size" },
		{ "--size=99999999t", "is not a size" },
		{ "--since=5x", "is not a duration" },
		{ "--mode=slow", "'slow' is none of fast|exact" },
		{ "--mode=fast|exact", "is none of" },
		{ "-p 1,,2", "an empty value" },
		{ "--color=red", "is none of auto|always|never" },
	};
	struct cli_operands rest;
	struct buf said = { 0 };
	struct values v;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		is_int(parse(&v, &rest, rows[i].words, &said), CLI_EXIT_USAGE, "%s is refused",
		       rows[i].words);
		like(buf_text(&said), rows[i].said, "%s says so", rows[i].words);
		is_u64(said.n ? strcspn(said.p, "\n") : 0, said.n - 1, "in one line");
		cli_list_free(&v.pids);
	}
	program.usage = "";
	is_int(parse(&v, &rest, "x", &said), CLI_EXIT_USAGE, "operands nobody takes");
	program.usage = "FILE";
	program.operands_max = 1;
	is_int(parse(&v, &rest, "x y", &said), CLI_EXIT_USAGE, "one too many");
	like(buf_text(&said), "too many operands: 'y'", "says which");
	program.usage = "[FILE...]";
	program.operands_max = 0;
	buf_free(&said);
}

static void described(void)
{
	struct buf out = { 0 };
	const char *line, *end;
	size_t longest = 0;

	cli_help_text(&out, &program);
	like(buf_text(&out),
	     "Usage: ingero-test [OPTION...] [FILE...]\nTests things.\n\nOutput:\n  -o, --output "
	     "FILE",
	     "help begins");
	like(buf_text(&out), "\nTargets:\n  -a, --all ", "groups follow");
	like(buf_text(&out), "\nGeneral:\n  -q, --quiet ", "and the common options");
	ok(!strstr(out.p, "old-name"), "hidden stays hidden");
	for (line = out.p; (end = strchr(line, '\n')); line = end + 1)
		longest = (size_t)(end - line) > longest ? (size_t)(end - line) : longest;
	ok(longest <= 80, "within 80 columns (%zu)", longest);
	buf_reset(&out);
	cli_complete_text(&out, &program);
	like(buf_text(&out), "program\tingero-test\tTests things\t[FILE...]\n",
	     "the table names the program");
	like(buf_text(&out), "option\to\toutput\tstring\tFILE\t\tOutput\tWrite there\n",
	     "an option");
	like(buf_text(&out), "option\t\tmode\tchoice\tMODE\tfast|exact\tTargets\tHow\n",
	     "a choice");
	ok(!strstr(out.p, "old-name"), "hidden is not offered");
	buf_free(&out);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	accepted();
	refused();
	described();
	return tap_done();
}

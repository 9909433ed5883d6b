/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses command lines by the option tables of the programs. Long names are never abbreviated: a
 * script that runs today must not change its meaning when an option is added. Operands and options
 * may be mixed, "--" ends options.
 */
#include "lib/cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "lib/cli/config.h"
#include "lib/cli/defaults.h"
#include "lib/cli/exit.h"
#include "lib/cli/help.h"
#include "lib/cli/message.h"
#include "lib/cli/output.h"
#include "lib/cli/value.h"

struct parser {
	const struct cli_program *program;
	void *values;
	char **argv;
	int argc, at;
	int status; /* CLI_GO while all is well */
	VEC(const struct cli_option *) given;
};

int cli_usage_error(const struct cli_program *program, const char *fmt, ...)
{
	struct buf text = { 0 };
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	cli_error("%s (%s --help lists the options)", buf_text(&text), program->name);
	buf_free(&text);
	return CLI_EXIT_USAGE;
}

/* Letters changed, missing, too many, or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[3][64], la = strlen(a), lb = strlen(b), i, j;

	if (la > 63 || lb > 63)
		return SIZE_MAX;
	for (j = 0; j <= lb; j++)
		row[0][j] = j;
	for (i = 1; i <= la; i++) {
		size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = i;
		for (j = 1; j <= lb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = last[j] + 1 < best ? last[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[la % 3][lb];
}

const char *cli_nearest(const char *text, const char *const *names, size_t n)
{
	size_t len = strlen(text), best = len < 4 ? 2 : len / 3 + 2, i;
	const char *nearest = NULL;

	for (i = 0; i < n; i++) {
		size_t d = edit_distance(text, names[i]);

		/* The beginning of a name is a good guess however much of it is missing. */
		if (len > 1 && !strncmp(names[i], text, len))
			d = 1;
		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

static int unknown_long(const struct cli_program *program, const char *name, size_t len)
{
	VEC(const char *) names = { 0 };
	const struct cli_option *o;
	const char *nearest = NULL;
	char text[64];
	int status;

	for (size_t i = 0; (o = cli_option_at(program, i)); i++)
		if (o->group && !vec_push(&names, o->name))
			break;
	if (len < sizeof(text)) {
		memcpy(text, name, len);
		text[len] = '\0';
		nearest = cli_nearest(text, names.v, names.n);
	}
	if (nearest)
		status = cli_usage_error(program, "unknown option '--%.*s'; did you mean '--%s'?",
					 (int)len, name, nearest);
	else
		status = cli_usage_error(program, "unknown option '--%.*s'", (int)len, name);
	vec_free(&names);
	return status;
}

static int print_and_end(void (*text)(struct buf *, const struct cli_program *),
			 const struct cli_program *program)
{
	struct buf out = { 0 };

	if (text)
		text(&out, program);
	else
		buf_printf(&out, "%s %s%s\n", program->name, INGERO_VERSION, cli_commit());
	if (out.failed) {
		cli_error("out of memory");
		return CLI_EXIT_CANNOT;
	}
	fwrite(out.p, 1, out.n, stdout);
	buf_free(&out);
	return cli_finish_stdout(CLI_EXIT_DONE);
}

/* Apply option o, written as `shown` by the user; value is what stood behind "=" or the letter, or
 * NULL. */
static void apply_option(struct parser *ps, const struct cli_option *o, bool common,
			 const char *shown, char *value)
{
	struct err e = { 0 };

	if (common && !strcmp(o->name, "help")) {
		ps->status = print_and_end(cli_help_text, ps->program);
		return;
	}
	if (common && !strcmp(o->name, "version")) {
		ps->status = print_and_end(NULL, ps->program);
		return;
	}
	if (!cli_takes_argument(o->type) && value) {
		ps->status = cli_usage_error(ps->program, "option '%s' takes no value", shown);
		return;
	}
	if (cli_takes_argument(o->type) && !value) {
		if (ps->at >= ps->argc) {
			ps->status = cli_usage_error(ps->program, "option '%s' needs a value: %s",
						     shown, o->arg ? o->arg : "VALUE");
			return;
		}
		value = ps->argv[ps->at++];
	}
	if (cli_value_set(o, common ? (void *)&cli_settings : ps->values, value, &e) < 0) {
		ps->status = e.code == ERR_NOMEM ? cli_fail(&e)
						 : cli_usage_error(ps->program, "option '%s': %s",
								   shown, e.text);
		return;
	}
	if (!vec_push(&ps->given, o))
		ps->status = cli_fail(&(struct err){ ERR_NOMEM, "out of memory" });
	if (o->given)
		*o->given = true;
	if (o->said)
		*o->said = true;
}

/* ---- what ingero.yaml says
 * ------------------------------------------------------------------------ */

/* Keys of the older agent that mean one of our options. */
static const char *find_new_key(const struct cli_config_entry *entry)
{
	if (!strcmp(entry->section, "agent") && !strcmp(entry->key, "node"))
		return "node";
	if (!strcmp(entry->section, "fleet") && !strcmp(entry->key, "nodes"))
		return "nodes";
	return NULL;
}

static int flag_value(const char *text, bool *on, struct err *e)
{
	static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false",
										       "no", "off",
										       "0" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!strcmp(text, yes[i]) || !strcmp(text, no[i])) {
			*on = !strcmp(text, yes[i]);
			return 0;
		}
	}
	return err_set(e, ERR_USAGE, "'%s' is not true or false", text);
}

static int take_entry(void *ctx, const struct cli_config_entry *entry, struct err *e)
{
	struct parser *ps = ctx;
	const char *own = strchr(ps->program->name, '-'), *name = find_new_key(entry);
	const struct cli_option *o;
	bool mine = own && !strcmp(entry->section, own + 1), common, on = true;

	if (!name && *entry->section && !mine)
		return 0;
	name = name ? name : entry->key;
	o = cli_option_find(ps->program, name, strlen(name), 0, &common);
	/* Outside of a section it may be for another program. */
	if (!o && !mine)
		return 0;
	if (!o || !strcmp(name, "help") || !strcmp(name, "version"))
		return err_set(e, ERR_USAGE, "line %u: %s has no option '%s'", entry->line,
			       ps->program->name, name);
	for (size_t i = 0; i < ps->given.n; i++)
		if (ps->given.v[i] == o)
			return 0;
	if (!cli_takes_argument(o->type)) {
		if (flag_value(entry->value, &on, e))
			return err_prefix(e, "line %u: %s", entry->line, name);
		if (!on)
			return 0;
	}
	if (cli_value_set(o, common ? (void *)&cli_settings : ps->values,
			  cli_takes_argument(o->type) ? entry->value : NULL, e))
		return err_prefix(e, "line %u: %s", entry->line, name);
	if (o->given)
		*o->given = true;
	return 0;
}

static int apply_config(struct parser *ps)
{
	static char *text; /* values point into it for as long as the program runs */
	struct err e = { 0 };
	char path[4096];
	size_t n;

	if (cli_config_find(&text, &n, path, sizeof(path), &e)) {
		cli_error("%s", e.text);
		return CLI_EXIT_CANNOT;
	}
	if (text && cli_config_parse(text, n, take_entry, ps, &e)) {
		cli_error("%s: %s", path, e.text);
		return CLI_EXIT_USAGE;
	}
	if (text)
		cli_detail("options from %s", path);
	return CLI_GO;
}

static void parse_long(struct parser *ps, char *word)
{
	char *name = word + 2, *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	bool common;
	const struct cli_option *o = cli_option_find(ps->program, name, len, 0, &common);
	char shown[80];

	if (!o && len == 16 && !memcmp(name, "complete-options", len)) {
		ps->status = print_and_end(cli_complete_text, ps->program);
		return;
	}
	if (!o) {
		ps->status = unknown_long(ps->program, name, len);
		return;
	}
	snprintf(shown, sizeof(shown), "--%s", o->name);
	apply_option(ps, o, common, shown, value ? value + 1 : NULL);
}

static void parse_letters(struct parser *ps, char *word)
{
	char *at;

	for (at = word + 1; *at && ps->status == CLI_GO; at++) {
		bool common;
		const struct cli_option *o = cli_option_find(ps->program, NULL, 0, *at, &common);
		char shown[3] = { '-', *at };

		if (!o) {
			ps->status = cli_usage_error(ps->program, "unknown option '-%c'", *at);
			return;
		}
		if (cli_takes_argument(o->type)) {
			apply_option(ps, o, common, shown, at[1] ? at + 1 : NULL);
			return;
		}
		apply_option(ps, o, common, shown, NULL);
	}
}

static bool is_statement(const char *word)
{
	return strpbrk(word, " \t\n") && access(word, F_OK) != 0;
}

/* Whether a recording may come through standard input. */
static bool read_from(int fd)
{
	struct stat st;

	return !isatty(fd) && fstat(fd, &st) == 0 && !S_ISCHR(st.st_mode);
}

/* The front door names the folder that is read anyway. */
static bool db_named(void)
{
	struct buf usual = { 0 };
	bool named;

	cli_default_folder(&usual);
	named = cli_settings.db && strcmp(cli_settings.db, buf_text(&usual)) != 0;
	buf_free(&usual);
	return named;
}

static int choose_nodes(const struct cli_program *program, size_t said, size_t operands)
{
	struct cli_list *nodes = program->nodes;

	if (!nodes || !nodes->n)
		return CLI_GO;
	if (said && operands)
		return cli_usage_error(program, "a recording or --nodes, not both");
	if (!said && (operands || db_named() || read_from(STDIN_FILENO)))
		nodes->n = 0;
	return CLI_GO;
}

/* What was said to no effect was meant otherwise. */
static int check_of_nodes(const struct parser *ps)
{
	for (size_t i = 0; i < ps->given.n && ps->program->nodes && !ps->program->nodes->n; i++)
		if (ps->given.v[i]->of_nodes)
			return cli_usage_error(ps->program, "option '--%s' is for --nodes",
					       ps->given.v[i]->name);
	return CLI_GO;
}

int cli_parse(const struct cli_program *program, void *values, int argc, char **argv,
	      struct cli_operands *operands)
{
	struct parser ps = { .program = program,
			     .values = values,
			     .argv = argv,
			     .argc = argc,
			     .at = 1,
			     .status = CLI_GO };
	char **words = argv + (argc > 0); /* operands move to the front of argv: there is room */
	struct err e = { 0 };
	size_t n = 0, said;
	bool options = true;

	cli_settings.program = program->name;
	while (ps.at < argc && ps.status == CLI_GO) {
		char *word = argv[ps.at++];

		if (options && !strcmp(word, "--")) {
			options = false;
			operands->dashes = true;
		} else if (options && word[0] == '-' && word[1] == '-') {
			parse_long(&ps, word);
		} else if (options && word[0] == '-' && word[1]) {
			parse_letters(&ps, word);
		} else {
			if (program->stop_at_operand)
				options = false;
			if (program->statement && !*program->statement && is_statement(word))
				*program->statement = word;
			else
				words[n++] = word;
		}
	}
	said = program->nodes ? program->nodes->n : 0;
	if (ps.status == CLI_GO)
		ps.status = apply_config(&ps);
	if (ps.status == CLI_GO)
		ps.status = choose_nodes(program, said, n);
	if (ps.status == CLI_GO)
		ps.status = check_of_nodes(&ps);
	vec_free(&ps.given);
	if (ps.status != CLI_GO)
		return ps.status;
	if (n && !program->usage[0])
		return cli_usage_error(program, "takes no operands, but '%s' was given", words[0]);
	if (program->operands_max && n > program->operands_max)
		return cli_usage_error(program, "too many operands: '%s'",
				       words[program->operands_max]);
	words[n] = NULL;
	operands->v = words;
	operands->n = n;
	if (program->reads_recordings && !(program->nodes && program->nodes->n) &&
	    cli_default_operands(operands, cli_settings.db, program->serves, &e))
		return cli_fail(&e);
	return CLI_GO;
}

const char *cli_commit(void)
{
	return *INGERO_COMMIT ? " (" INGERO_COMMIT ")" : "";
}

const char *cli_version(void)
{
	return INGERO_VERSION;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Help text from option tables: groups in the order of their first option, option names in one
 * column, sentences wrapped beside it, everything within 80 columns.
 */
#include "lib/cli/help.h"

#include <string.h>

#include "lib/cli/message.h"
#include "lib/cli/value.h"

#define WIDTH	   80u
#define INDENT_MAX 30u

static const char general[] = "General";

static const struct cli_option common_options[] = {
	{ .name = "quiet",
	  .letter = 'q',
	  .type = CLI_FLAG,
	  .offset = offsetof(struct cli_settings, quiet),
	  .help = "Say only what went wrong",
	  .group = general },
	{ .name = "verbose",
	  .letter = 'v',
	  .type = CLI_COUNT,
	  .offset = offsetof(struct cli_settings, verbose),
	  .help = "Say more; twice for everything",
	  .group = general },
	{ .name = "color",
	  .type = CLI_CHOICE,
	  .offset = offsetof(struct cli_settings, color),
	  .arg = "WHEN",
	  .choices = "auto|always|never",
	  .help = "Colour: auto, always or never (auto: on a terminal)",
	  .group = general },
	{ .name = "progress",
	  .type = CLI_FLAG,
	  .offset = offsetof(struct cli_settings, progress),
	  .help = "Show progress even when standard error is no terminal",
	  .group = general },
	{ .name = "help", .letter = 'h', .help = "Print this help and exit", .group = general },
	{ .name = "version", .help = "Print the version and exit", .group = general },
	{ 0 },
};

static const struct cli_option reading_options[] = {
	{ .name = "db",
	  .letter = 'd',
	  .type = CLI_STRING,
	  .offset = offsetof(struct cli_settings, db),
	  .arg = "DIR",
	  .help = "Without a FILE read the newest run there",
	  .group = general },
	{ 0 },
};

/* "  -o, --output FILE" */
static void names_text(struct buf *out, const struct cli_option *o)
{
	if (o->letter)
		buf_printf(out, "  -%c, ", o->letter);
	else
		buf_puts(out, "      ");
	buf_printf(out, "--%s", o->name);
	if (cli_takes_argument(o->type))
		buf_printf(out, " %s", o->arg ? o->arg : "VALUE");
}

static size_t names_width(const struct cli_option *o)
{
	struct buf names = { 0 };
	size_t n;

	names_text(&names, o);
	n = names.n;
	buf_free(&names);
	return n;
}

static void pad_to(struct buf *out, size_t line_start, size_t column)
{
	while (!out->failed && out->n - line_start < column)
		buf_putc(out, ' ');
}

static void wrap_at(struct buf *out, size_t line_start, size_t column, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (out->n - line_start + 1 + len > WIDTH && out->n - line_start > column) {
			buf_putc(out, '\n');
			line_start = out->n;
			pad_to(out, line_start, column);
		} else if (out->n - line_start > column) {
			buf_putc(out, ' ');
		}
		buf_add(out, text, len);
		text += len;
		text += strspn(text, " ");
	}
	buf_putc(out, '\n');
}

static void option_text(struct buf *out, const struct cli_option *o, size_t column)
{
	size_t start = out->n;

	names_text(out, o);
	if (out->n - start + 2 > column) {
		buf_putc(out, '\n');
		start = out->n;
	}
	pad_to(out, start, column);
	wrap_at(out, start, column, o->help);
}

/* The i-th of the program's own options, of those of readers and of those of all. */
static const struct cli_option *option_at(const struct cli_program *program, size_t i, bool *common)
{
	const struct cli_option *tables[] = { program->options,
					      program->reads_recordings ? reading_options : NULL,
					      common_options };

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		const struct cli_option *o = tables[t];

		*common = t > 0;
		for (; o && o->name; o++, i--)
			if (i == 0)
				return o;
	}
	return NULL;
}

const struct cli_option *cli_option_at(const struct cli_program *program, size_t i)
{
	bool common;

	return option_at(program, i, &common);
}

const struct cli_option *cli_option_find(const struct cli_program *program, const char *name,
					 size_t len, char letter, bool *common)
{
	const struct cli_option *o;

	for (size_t i = 0; (o = option_at(program, i, common)); i++)
		if (letter ? o->letter == letter
			   : strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static bool group_begins(const struct cli_program *program, size_t i)
{
	const char *group = cli_option_at(program, i)->group;
	size_t k;

	if (!group)
		return false;
	for (k = 0; k < i; k++) {
		const char *before = cli_option_at(program, k)->group;

		if (before && !strcmp(before, group))
			return false;
	}
	return true;
}

void cli_help_text(struct buf *out, const struct cli_program *program)
{
	const struct cli_option *o, *member;
	size_t column = 0, i, k;

	buf_printf(out, "Usage: %s [OPTION...]%s%s\n%s.\n", program->name,
		   program->usage[0] ? " " : "", program->usage, program->summary);
	for (i = 0; (o = cli_option_at(program, i)); i++)
		if (o->group && names_width(o) + 2 > column && names_width(o) + 2 <= INDENT_MAX)
			column = names_width(o) + 2;
	for (i = 0; (o = cli_option_at(program, i)); i++) {
		if (!group_begins(program, i))
			continue;
		buf_printf(out, "\n%s:\n", o->group);
		for (k = i; (member = cli_option_at(program, k)); k++)
			if (member->group && !strcmp(member->group, o->group))
				option_text(out, member, column);
	}
	if (program->footer)
		buf_printf(out, "\n%s\n", program->footer);
}

static const char *type_name(enum cli_type type)
{
	static const char *const names[] = { "flag",   "count", "string",   "choice", "int",
					     "number", "size",	"duration", "list",   "repeat" };

	return names[type];
}

void cli_complete_text(struct buf *out, const struct cli_program *program)
{
	const struct cli_option *o;
	size_t i;

	buf_printf(out, "program\t%s\t%s\t%s\n", program->name, program->summary, program->usage);
	for (i = 0; (o = cli_option_at(program, i)); i++)
		if (o->group)
			buf_printf(out, "option\t%.1s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				   o->letter ? &o->letter : "", o->name, type_name(o->type),
				   o->arg ? o->arg : "", o->choices ? o->choices : "", o->group,
				   o->help);
	buf_puts(out, program->more ? program->more : "");
}

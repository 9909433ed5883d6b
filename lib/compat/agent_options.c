/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the older agent's command lines. A row stands here only where the meaning of an option
 * needs other words today; an option of the same name and meaning needs none, words that no row
 * knows are passed on.
 */
#include "lib/compat/agent_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/base/vec.h"

/* clang-format off */
#define NO_CHOICE "every library copy of a process is traced, wherever it is"

const struct agent_option agent_options[] = {
	/* trace */
	{ "trace", "duration", 'd', AGENT_VALUE, AGENT_DURATION, "--duration %" },
	{ "trace", "db", 'd', AGENT_VALUE, .now = "@output %" },
	{ "trace", "output", 'o', AGENT_VALUE, .now = "@output %" },
	{ "trace", "record", 0, AGENT_SWITCH, .now_off = "@no-file" },
	{ "trace", "max-db", 0, AGENT_VALUE, .now = "--max-size %" },
	{ "trace", "verbose", 'v', AGENT_SWITCH, .now = "@events -v" },
	{ "trace", "json", 0, AGENT_SWITCH, .now = "@json" },
	{ "trace", "debug", 0, AGENT_SWITCH, .now = "@stacks -v -v" },
	{ "trace", "stack", 0, AGENT_SWITCH, .now_off = "--no-stacks" },
	{ "trace", "stack-samples", 0, AGENT_VALUE, .note = "every call keeps its stack; equal ones are stored once" },
	{ "trace", "py-walker", 0, AGENT_VALUE, .note = "Python frames are always walked in the kernel" },
	{ "trace", "record-all", 0, AGENT_SWITCH, .note = "every event is recorded" },
	{ "trace", "prometheus", 0, AGENT_VALUE, .now = "@listen %" },
	{ "trace", "otlp", 0, AGENT_VALUE, .now = "@push %" },
	{ "trace", "otlp-insecure", 0, AGENT_SWITCH, .note = "an address without https:// is asked over plain HTTP" },
	{ "trace", "ringbuf-size", 0, AGENT_VALUE, .now = "--ring %" },
	{ "trace", "sampling-rate", 0, AGENT_VALUE, .note = "every event is recorded; --sample N and --budget leave calls out, and count them" },
	{ "trace", "no-io", 0, AGENT_SWITCH, .now = "--exclude io" },
	{ "trace", "no-net", 0, AGENT_SWITCH, .now = "--exclude net" },
	{ "trace", "no-tcp", 0, AGENT_SWITCH, .now = "--exclude net" },
	{ "trace", "log", 0, AGENT_VALUE, .note = "messages go to standard error: 2>FILE keeps them" },
	{ "trace", "cuda-lib", 0, AGENT_VALUE, .note = NO_CHOICE },
	{ "trace", "nccl", 0, AGENT_SWITCH, .note = "NCCL is always traced where a process has it" },
	{ "trace", "nccl-lib", 0, AGENT_VALUE, .note = NO_CHOICE },
	{ "trace", "remediate", 0, AGENT_SWITCH, .note = "nothing is changed on this machine: ingero explain prints the commands to type" },
	{ "trace", "throttle-poll-interval", 0, AGENT_VALUE, .note = "GPU health is sampled once a second" },

	/* explain */
	{ "explain", "from", 0, AGENT_VALUE, .now = "--since %" },
	{ "explain", "to", 0, AGENT_VALUE, .now = "--until %" },
	{ "explain", "last", 0, AGENT_VALUE, AGENT_NUMBER, "--last-events %" },
	{ "explain", "annotations", 0, AGENT_SWITCH, .note = "marks of the program are events of the recording (ingero record --mark)" },

	/* query */
	{ "query", "op", 0, AGENT_VALUE, .now = "-e %" },

	/* demo */
	{ "demo", "duration", 'd', AGENT_VALUE, AGENT_DURATION, "--duration %" },
	{ "demo", "speed", 0, AGENT_VALUE, .note = "a generated recording is there at once, however long it lasts" },
	{ "demo", "stack", 0, AGENT_SWITCH },
	{ "demo", "no-gpu", 0, AGENT_SWITCH },
	{ 0 },
};
/* clang-format on */

/* One word of a command line, taken apart. */
struct word {
	const char *name; /* of an option, of n letters */
	size_t n;
	char letter;	   /* of a short one, else 0 */
	const char *value; /* behind "=" or the letter; NULL: none there */
};

static bool parse_word(const char *text, struct word *w)
{
	const char *equals = strchr(text, '=');

	if (text[0] != '-' || !text[1])
		return false;
	*w = (struct word){ .name = text + 2 };
	if (text[1] != '-') {
		w->letter = text[1];
		w->value = text[2] ? text + 2 : NULL;
		return true;
	}
	w->n = equals ? (size_t)(equals - w->name) : strlen(w->name);
	w->value = equals ? equals + 1 : NULL;
	return true;
}

static bool is_matching_value(enum agent_option_when when, const char *value)
{
	uint64_t ns;

	if (when == AGENT_DURATION)
		return duration_parse(bytes_of(value), &ns, NULL) == 0;
	return when == AGENT_ALWAYS || (*value && value[strspn(value, "0123456789")] == '\0');
}

/* next: the word behind it, which is its value where none stands in it; NULL: none. */
static const struct agent_option *row_of(const char *command, const struct word *w,
					 const char *next)
{
	const char *value = w->value ? w->value : next ? next : "";

	for (const struct agent_option *o = agent_options; o->command; o++) {
		if (strcmp(o->command, command) != 0)
			continue;
		if (w->letter ? o->letter != w->letter
			      : strlen(o->name) != w->n || memcmp(o->name, w->name, w->n) != 0)
			continue;
		if (o->takes == AGENT_SWITCH || is_matching_value(o->when, value))
			return o;
	}
	return NULL;
}

static int add_word(struct agent_plan *p, const char *word, struct err *e)
{
	return vec_push(&p->words, word) ? 0 : err_nomem(e);
}

/* The words of now, with the value in its place. */
static int add_replacement(struct agent_plan *p, const char *now, const char *value, struct err *e)
{
	int rc = 0;

	while (rc == 0 && *now) {
		size_t n = strcspn(now, " ");
		const char *word = value;

		if (strncmp(now, "@no-file", n) == 0) {
			p->no_file = true;
		} else if (strncmp(now, "@json", n) == 0) {
			p->json = true;
		} else if (strncmp(now, "@events", n) == 0) {
			p->events = true;
		} else if (strncmp(now, "@stacks", n) == 0) {
			p->events = p->stacks = true;
		} else if (strncmp(now, "@listen", n) == 0) {
			p->listen = value;
			break;
		} else if (strncmp(now, "@push", n) == 0) {
			p->push = value;
			break;
		} else if (strncmp(now, "@output", n) == 0) {
			p->output = value;
			break;
		} else {
			if (*now != '%') {
				char *copy = strndup(now, n);

				if (!copy || !vec_push(&p->texts, copy)) {
					free(copy);
					return err_nomem(e);
				}
				word = copy;
			}
			rc = add_word(p, word, e);
		}
		now += n + (now[n] == ' ');
	}
	return rc;
}

static int apply_option(struct agent_plan *p, const struct agent_option *o, const char *value,
			struct err *e)
{
	bool off = o->takes == AGENT_SWITCH && value &&
		   (strcmp(value, "false") == 0 || strcmp(value, "0") == 0);
	const char *now = off ? o->now_off : o->now, *note = off ? o->off_note : o->note;

	if (o->refused)
		p->refused = note;
	else if (note)
		buf_printf(&p->notes, "ingero %s --%s: %s\n", o->command, o->name, note);
	if (p->notes.failed)
		return err_nomem(e);
	return now ? add_replacement(p, now, value, e) : 0;
}

int agent_options_translate(const struct door_command *command, int argc, char **argv,
			    struct agent_plan *plan, struct err *e)
{
	int rc = command->first ? add_word(plan, command->first, e) : 0;

	for (int i = 0; rc == 0 && i < argc; i++) {
		struct word w = { 0 };
		const struct agent_option *o =
			parse_word(argv[i], &w)
				? row_of(command->name, &w, i + 1 < argc ? argv[i + 1] : NULL)
				: NULL;
		const char *value = w.value;
		bool apart;

		if (strcmp(argv[i], "--") == 0) { /* what follows is a command, or operands */
			while (rc == 0 && i < argc)
				rc = add_word(plan, argv[i++], e);
			break;
		}
		plan->has_db |= command->reads &&
				(w.letter == 'd' || (w.n == 2 && memcmp(w.name, "db", 2) == 0));
		apart = o && o->takes == AGENT_VALUE && !value;
		if (apart && i + 1 == argc)
			return err_set(e, ERR_USAGE, "option '%s' needs a value", argv[i]);
		if (apart)
			value = argv[i + 1];
		if (!o) {
			rc = add_word(plan, argv[i], e);
			continue;
		}
		i += apart;
		rc = apply_option(plan, o, value, e);
	}
	return rc;
}

void agent_plan_free(struct agent_plan *plan)
{
	for (size_t i = 0; i < plan->texts.n; i++)
		free((char *)plan->texts.v[i]);
	cli_list_free(&plan->texts);
	cli_list_free(&plan->words);
	buf_free(&plan->notes);
}

void agent_options_complete(struct buf *out)
{
	for (const struct agent_option *o = agent_options; o->command; o++)
		if (!o->refused)
			buf_printf(out, "old\t%s\t%s\t%d\n", o->command, o->name,
				   o->takes == AGENT_VALUE);
}

void agent_options_help(struct buf *out, const char *command)
{
	for (const struct agent_option *o = agent_options; o->command; o++) {
		const char *own = o->now ? o->now : o->now_off ? o->now_off : "";

		/* What the front door does by itself, the command's help says itself. */
		if (strcmp(o->command, command) != 0 || (*own == '@' && !o->note))
			continue;
		buf_printf(out, "  --%s%s", o->name, o->takes == AGENT_VALUE ? " VALUE" : "");
		if (o->now && *own != '@')
			buf_printf(out, ": %s", o->now);
		if (o->now_off)
			buf_printf(out, "; =false: %s", o->now_off);
		if (o->note)
			buf_printf(out, ": %s", o->note);
		buf_putc(out, '\n');
	}
}

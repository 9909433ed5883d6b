/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the front door: commands, and the older agent's command lines. A row of the older
 * agent's options stands here only where its meaning needs other words today; an option of the same
 * name and meaning needs none, words that no row knows are passed on.
 */
#include "lib/cli/door.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/base/vec.h"

/* clang-format off */
const struct door_command door_commands[] = {
	{ "trace", NULL, "Record what runs, find what stalls it, show both live" },
	{ "record", "ingero-record", "Record CUDA calls and what the host did to them" },
	{ "explain", "ingero-explain", "Say what took the time, who did it, and what to do about it", .reads = true },
	{ "stat", "ingero-stat", "How often, how long, how much, for each operation", .reads = true },
	{ "check", "ingero-check", "Can this machine record? What is missing, and what to do" },
	{ "demo", "ingero-demo", "Show what each kind of trouble looks like", .first = "--explain" },
	{ "merge", "ingero-merge", "Recordings in, one out: joined, cut, repaired or made small", .reads = true },
	{ "correlate", "ingero-correlate", "Find what took the time: the recording again, with its chains", .reads = true },
	{ "export", "ingero-export", "Timelines, tables and metrics for other programs",
	  "ingero stat --json and ingero explain --json have the numbers", .reads = true },
	{ "query", "ingero-query", "Ask a recording in SQL",
	  "ingero stat -e OP -p PID --since TIME counts events, ingero explain names causes", .reads = true },
	{ "mcp", "ingero-mcp", "Answer an assistant's questions",
	  "ingero explain --json is made for programs" },
	{ "dashboard", "ingero-dashboard", "Show recordings in a browser" },
	{ "help", NULL, "Help, or a command's manual page" },
	{ "version", NULL, "The version" },
	{ 0 },
};

#define NO_CHOICE "every library copy of a process is traced, wherever it is"

const struct door_option door_options[] = {
	/* trace */
	{ "trace", "duration", 'd', DOOR_VALUE, DOOR_DURATION, "--duration %" },
	{ "trace", "db", 'd', DOOR_VALUE, .now = "@output %" },
	{ "trace", "output", 'o', DOOR_VALUE, .now = "@output %" },
	{ "trace", "record", 0, DOOR_SWITCH, .now_off = "@no-file" },
	{ "trace", "max-db", 0, DOOR_VALUE, .now = "--max-size %" },
	{ "trace", "verbose", 'v', DOOR_SWITCH, .now = "@events -v" },
	{ "trace", "json", 0, DOOR_SWITCH, .now = "@json" },
	{ "trace", "debug", 0, DOOR_SWITCH, .now = "@stacks -v -v" },
	{ "trace", "stack", 0, DOOR_SWITCH, .now_off = "--no-stacks" },
	{ "trace", "stack-samples", 0, DOOR_VALUE, .note = "every call keeps its stack; equal ones are stored once" },
	{ "trace", "py-walker", 0, DOOR_VALUE, .note = "Python frames are always walked in the kernel" },
	{ "trace", "record-all", 0, DOOR_SWITCH, .note = "every event is recorded" },
	{ "trace", "prometheus", 0, DOOR_VALUE, .now = "@listen %" },
	{ "trace", "otlp", 0, DOOR_VALUE, .now = "@push %" },
	{ "trace", "otlp-insecure", 0, DOOR_SWITCH, .note = "an address without https:// is asked over plain HTTP" },
	{ "trace", "ringbuf-size", 0, DOOR_VALUE, .now = "--ring %" },
	{ "trace", "sampling-rate", 0, DOOR_VALUE, .note = "every event is recorded; --sample N and --budget leave calls out, and count them" },
	{ "trace", "no-io", 0, DOOR_SWITCH, .now = "--exclude io" },
	{ "trace", "no-net", 0, DOOR_SWITCH, .now = "--exclude net" },
	{ "trace", "no-tcp", 0, DOOR_SWITCH, .now = "--exclude net" },
	{ "trace", "log", 0, DOOR_VALUE, .note = "messages go to standard error: 2>FILE keeps them" },
	{ "trace", "cuda-lib", 0, DOOR_VALUE, .note = NO_CHOICE },
	{ "trace", "nccl", 0, DOOR_SWITCH, .note = "NCCL is always traced where a process has it" },
	{ "trace", "nccl-lib", 0, DOOR_VALUE, .note = NO_CHOICE },
	{ "trace", "remediate", 0, DOOR_SWITCH, .note = "nothing is changed on this machine: ingero explain prints the commands to type" },
	{ "trace", "throttle-poll-interval", 0, DOOR_VALUE, .note = "GPU health is sampled once a second" },

	/* explain */
	{ "explain", "from", 0, DOOR_VALUE, .now = "--since %" },
	{ "explain", "to", 0, DOOR_VALUE, .now = "--until %" },
	{ "explain", "last", 0, DOOR_VALUE, DOOR_NUMBER, "--last-events %" },
	{ "explain", "annotations", 0, DOOR_SWITCH, .note = "marks of the program are events of the recording (ingero record --mark)" },

	/* query */
	{ "query", "op", 0, DOOR_VALUE, .now = "-e %" },

	/* demo */
	{ "demo", "duration", 'd', DOOR_VALUE, DOOR_DURATION, "--duration %" },
	{ "demo", "speed", 0, DOOR_VALUE, .note = "a generated recording is there at once, however long it lasts" },
	{ "demo", "stack", 0, DOOR_SWITCH },
	{ "demo", "no-gpu", 0, DOOR_SWITCH },
	{ 0 },
};
/* clang-format on */

const struct door_command *door_find(const char *name)
{
	for (const struct door_command *c = door_commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const char *door_nearest(const char *name)
{
	const char *names[sizeof(door_commands) / sizeof(door_commands[0])];
	size_t n = 0;

	for (const struct door_command *c = door_commands; c->name; c++)
		names[n++] = c->name;
	return cli_nearest(name, names, n);
}

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

static bool is_matching_value(enum door_when when, const char *value)
{
	uint64_t ns;

	if (when == DOOR_DURATION)
		return duration_parse(bytes_of(value), &ns, NULL) == 0;
	return when == DOOR_ALWAYS || (*value && value[strspn(value, "0123456789")] == '\0');
}

/* next: the word behind it, which is its value where none stands in it; NULL: none. */
static const struct door_option *row_of(const char *command, const struct word *w, const char *next)
{
	const char *value = w->value ? w->value : next ? next : "";

	for (const struct door_option *o = door_options; o->command; o++) {
		if (strcmp(o->command, command) != 0)
			continue;
		if (w->letter ? o->letter != w->letter
			      : strlen(o->name) != w->n || memcmp(o->name, w->name, w->n) != 0)
			continue;
		if (o->takes == DOOR_SWITCH || is_matching_value(o->when, value))
			return o;
	}
	return NULL;
}

static int add_word(struct door_plan *p, const char *word, struct err *e)
{
	return vec_push(&p->words, word) ? 0 : err_nomem(e);
}

/* The words of now, with the value in its place. */
static int add_replacement(struct door_plan *p, const char *now, const char *value, struct err *e)
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

static int apply_option(struct door_plan *p, const struct door_option *o, const char *value,
			struct err *e)
{
	bool off = o->takes == DOOR_SWITCH && value &&
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

int door_translate(const struct door_command *command, int argc, char **argv,
		   struct door_plan *plan, struct err *e)
{
	int rc = command->first ? add_word(plan, command->first, e) : 0;

	for (int i = 0; rc == 0 && i < argc; i++) {
		struct word w = { 0 };
		const struct door_option *o =
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
		apart = o && o->takes == DOOR_VALUE && !value;
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

void door_plan_free(struct door_plan *plan)
{
	for (size_t i = 0; i < plan->texts.n; i++)
		free((char *)plan->texts.v[i]);
	cli_list_free(&plan->texts);
	cli_list_free(&plan->words);
	buf_free(&plan->notes);
}

void door_complete(struct buf *out)
{
	for (const struct door_command *c = door_commands; c->name; c++)
		buf_printf(out, "command\t%s\t%s\t%s\n", c->name, c->program ? c->program : "",
			   c->summary);
	for (const struct door_option *o = door_options; o->command; o++)
		if (!o->refused)
			buf_printf(out, "old\t%s\t%s\t%d\n", o->command, o->name,
				   o->takes == DOOR_VALUE);
}

void door_old_options(struct buf *out, const char *command)
{
	for (const struct door_option *o = door_options; o->command; o++) {
		const char *own = o->now ? o->now : o->now_off ? o->now_off : "";

		/* What the front door does by itself, the command's help says itself. */
		if (strcmp(o->command, command) != 0 || (*own == '@' && !o->note))
			continue;
		buf_printf(out, "  --%s%s", o->name, o->takes == DOOR_VALUE ? " VALUE" : "");
		if (o->now && *own != '@')
			buf_printf(out, ": %s", o->now);
		if (o->now_off)
			buf_printf(out, "; =false: %s", o->now_off);
		if (o->note)
			buf_printf(out, ": %s", o->note);
		buf_putc(out, '\n');
	}
}

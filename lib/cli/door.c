/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the commands, and finds one by its name.
 */
#include "lib/cli/door.h"

#include <string.h>

#include "lib/cli/options.h"

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

void door_complete(struct buf *out)
{
	for (const struct door_command *c = door_commands; c->name; c++)
		buf_printf(out, "command\t%s\t%s\t%s\n", c->name, c->program ? c->program : "",
			   c->summary);
}

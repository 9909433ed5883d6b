/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of the older agent, and what the front door makes of them.
 */
#include "lib/compat/agent_options.h"

#include <string.h>

#include "tests/tap.h"

static const struct row {
	const char *line, *words, *notes; /* notes: how many lines and a part of them, "" none */
	const char *output, *listen, *push;
	bool no_file, json, events, stacks, refused;
	int rc;
} rows[] = {
	{ "trace", "", "" },
	{ "trace --pid 4821,5032", "--pid 4821,5032", "" },
	{ "trace --record=false", "", "", .no_file = true },
	{ "trace --record", "", "" },
	{ "trace --record=true", "", "" },
	{ "trace --duration 60s", "--duration 60s", "" },
	{ "trace -d 60s", "--duration 60s", "" },
	{ "trace -d60s", "--duration 60s", "" },
	{ "trace -d /srv/runs", "", "", .output = "/srv/runs" },
	{ "trace --db /srv/runs", "", "", .output = "/srv/runs" },
	{ "trace --db=x.ige -p 1", "-p 1", "", .output = "x.ige" },
	{ "trace -o x.ige", "", "", .output = "x.ige" },
	{ "trace --json", "", "", .json = true },
	{ "trace --json=false", "", "" },
	{ "trace --debug", "-v -v", "", .events = true, .stacks = true },
	{ "trace --stack=false", "--no-stacks", "" },
	{ "trace --stack=0", "--no-stacks", "" },
	{ "trace --stack --py-walker=ebpf", "", "in the kernel" },
	{ "trace --max-db 10g", "--max-size 10g", "" },
	{ "trace --max-db 500m", "--max-size 500m", "" },
	{ "trace --max-db=0", "--max-size 0", "" },
	{ "trace --deadband 5 --heartbeat 30s", "--deadband 5 --heartbeat 30s", "" },
	{ "trace --otlp localhost:4318 --debug", "-v -v", "", .events = true, .stacks = true,
	  .push = "localhost:4318" },
	{ "trace --prometheus=:9090", "", "", .listen = ":9090" },
	{ "trace --verbose", "-v", "", .events = true },
	{ "trace -v", "-v", "", .events = true },
	{ "trace --no-io -- sh -c --debug", "--exclude io -- sh -c --debug", "" },
	{ "trace --max-db", .rc = ERR_USAGE },
	{ "explain --from 15:40 --to 15:45", "--since 15:40 --until 15:45", "" },
	{ "explain --last 100", "--last-events 100", "" },
	{ "explain --last 30s", "--last 30s", "" },
	{ "explain --last=100 --json", "--last-events 100 --json", "" },
	{ "explain --chains -d x.db", "--chains -d x.db", "" },
	{ "explain --nodes a:1,b:2", "--nodes a:1,b:2", "" },
	{ "explain --nosuch", "--nosuch", "" },
	{ "query --op cudaMemcpy --json", "-e cudaMemcpy --json", "" },
	{ "query -- --op x", "-- --op x", "" },
	{ "demo", "--explain", "" },
	{ "demo incident --speed 2 -d 5s --stack", "--explain incident --duration 5s", "at once" },
	{ "export --format perfetto -d x -o t.json", "--format perfetto -d x -o t.json", "" },
};

static unsigned split(char *text, char **argv)
{
	unsigned n = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	return n;
}

static void one(const struct row *r)
{
	char line[128], *argv[16];
	struct agent_plan plan = { 0 };
	struct buf words = { 0 };
	struct err e = { 0 };
	unsigned n;

	snprintf(line, sizeof(line), "%s", r->line);
	n = split(line, argv);
	is_int(agent_options_translate(door_find(argv[0]), (int)n - 1, argv + 1, &plan, &e), r->rc,
	       "%s", r->line);
	for (size_t i = 0; i < plan.words.n; i++)
		buf_printf(&words, "%s%s", i ? " " : "", plan.words.v[i]);
	if (r->rc == 0) {
		is_str(buf_text(&words), r->words, "%s: words", r->line);
		ok(*r->notes ? strstr(buf_text(&plan.notes), r->notes) != NULL &&
				       strchr(buf_text(&plan.notes), '\n') ==
					       strrchr(buf_text(&plan.notes), '\n')
			     : plan.notes.n == 0,
		   "%s: one line is said where something is lost", r->line);
		is_str(plan.output ? plan.output : "", r->output ? r->output : "", "%s: output",
		       r->line);
		is_str(plan.listen ? plan.listen : "", r->listen ? r->listen : "",
		       "%s: metrics asked for", r->line);
		is_str(plan.push ? plan.push : "", r->push ? r->push : "", "%s: metrics sent",
		       r->line);
		ok(plan.no_file == r->no_file && plan.json == r->json && plan.events == r->events &&
			   plan.stacks == r->stacks && (plan.refused != NULL) == r->refused,
		   "%s: what the front door does itself", r->line);
	}
	buf_free(&words);
	agent_plan_free(&plan);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		one(&rows[i]);
	for (const struct agent_option *o = agent_options; o->command; o++) {
		ok(door_find(o->command) != NULL, "%s --%s is of a command", o->command, o->name);
		ok(o->now || o->now_off || o->note || o->takes == AGENT_SWITCH,
		   "%s --%s becomes something, or it is said that it does not", o->command,
		   o->name);
	}
	is_str(door_nearest("exprot"), "export", "the nearest command");
	is_str(door_nearest("trcae"), "trace", "the nearest command");
	ok(!door_nearest("frobnicate"), "nothing is near");
	ok(!door_find("exprot"), "no such command");
	return tap_done();
}

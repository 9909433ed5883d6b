/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and bounds were checked against the schema by the protocol; what it cannot say is checked
 * here, and nothing is taken on trust: who calls may be another protocol.
 */
#include "lib/mcp/args.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int tool_args_text(struct tool_args *a, const char *key, const char **text, struct err *e)
{
	struct json v = json_get(a->all, key);
	struct bytes b = json_bytes(v);
	char *copy = NULL;
	int rc = 0;

	*text = NULL;
	if (json_type(v) == JSON_TYPE_NONE || json_type(v) == JSON_TYPE_NULL) {
		json_free(v);
		return 0;
	}
	if (json_type(v) != JSON_TYPE_STRING || (b.n && memchr(b.p, 0, b.n)))
		rc = err_set(e, ERR_USAGE, "%s is no text", key);
	else if (!(copy = arena_alloc(&a->strings, b.n + 1)))
		rc = err_nomem(e);
	if (!rc) {
		memcpy(copy, b.p ? b.p : "", b.n);
		copy[b.n] = 0;
		*text = b.n ? copy : NULL;
	}
	json_free(v);
	return rc;
}

double tool_args_number(const struct tool_args *a, const char *key, double otherwise)
{
	struct json v = json_get(a->all, key);
	double x = json_double(v, otherwise);

	json_free(v);
	return isfinite(x) ? x : otherwise;
}

bool tool_args_bool(const struct tool_args *a, const char *key, bool otherwise)
{
	struct json v = json_get(a->all, key);
	bool x = json_type(v) == JSON_TYPE_BOOL ? json_is_true(v) : otherwise;

	json_free(v);
	return x;
}

static int add_pid(struct tool_args *a, struct json v, struct err *e)
{
	double x = json_double(v, -1);
	char *text;

	if (!(x >= 0 && x <= UINT32_MAX && x == floor(x)))
		return err_set(e, ERR_USAGE, "a pid is a number from 1 to 4294967295");
	if (x == 0) /* all, as the Go agent has it */
		return 0;
	text = arena_alloc(&a->strings, 16);
	if (!text || !vec_push(&a->pids, text))
		return err_nomem(e);
	snprintf(text, 16, "%.0f", x);
	return 0;
}

static int read_pids(struct tool_args *a, struct err *e)
{
	struct json one = json_get(a->all, "pid"), many = json_get(a->all, "pids");
	int rc = one.is && json_type(one) != JSON_TYPE_NULL ? add_pid(a, one, e) : 0;

	for (size_t i = 0; i < json_length(many) && !rc; i++) {
		struct json v = json_at(many, i);

		rc = add_pid(a, v, e);
		json_free(v);
	}
	json_free(one);
	json_free(many);
	return rc;
}

/* "a,b" of a source: "source:a", "source:b". */
static int read_names(struct tool_args *a, struct err *e)
{
	const char *ops, *source;
	int rc = tool_args_text(a, "op", &ops, e);

	rc = rc ? rc : tool_args_text(a, "source", &source, e);
	if (rc || (!ops && !source))
		return rc;
	if (!ops)
		return vec_push(&a->names, source) ? 0 : err_nomem(e);
	while (*ops) {
		size_t n = strcspn(ops, ","), size;
		char *text;

		size = n + (source ? strlen(source) + 1 : 0) + 1;
		text = arena_alloc(&a->strings, size);
		if (!text)
			return err_nomem(e);
		snprintf(text, size, "%s%s%.*s", source ? source : "", source ? ":" : "", (int)n,
			 ops);
		if (n && !vec_push(&a->names, text))
			return err_nomem(e);
		ops += n + (ops[n] == ',');
	}
	return 0;
}

static int read_form(struct tool_args *a, struct err *e)
{
	double top = tool_args_number(a, "top_n", tool_args_number(a, "limit", 0.5));
	double budget = tool_args_number(a, "budget", ARGS_BUDGET);

	if (budget < ARGS_BUDGET_MIN || budget > ARGS_BUDGET_MAX)
		return err_set(e, ERR_USAGE, "budget is from %d to %d tokens", ARGS_BUDGET_MIN,
			       ARGS_BUDGET_MAX);
	if (fabs(top) > 1e9)
		return err_set(e, ERR_USAGE, "that many rows are never shown");
	a->budget = (uint64_t)budget;
	a->top_given = top != 0.5;
	a->top = a->top_given && top > 0 ? (uint64_t)top : 0;
	a->tsc = tool_args_bool(a, "tsc", true);
	return tool_args_text(a, "jq", &a->jq, e);
}

int tool_args_read(struct tool_args *a, struct json args, struct err *e)
{
	const char *node = NULL;
	int rc;

	*a = (struct tool_args){ .all = args };
	rc = tool_args_text(a, "since", &a->words.since, e);
	rc = rc ? rc : tool_args_text(a, "until", &a->words.until, e);
	rc = rc ? rc : tool_args_text(a, "node", &node, e);
	rc = rc ? rc : read_pids(a, e);
	rc = rc ? rc : read_names(a, e);
	rc = rc ? rc : read_form(a, e);
	if (!rc && node && !vec_push(&a->nodes, node))
		rc = err_nomem(e);
	a->words.pids = a->pids.v;
	a->words.npids = a->pids.n;
	a->words.names = a->names.v;
	a->words.nnames = a->names.n;
	a->words.nodes = a->nodes.v;
	a->words.nnodes = a->nodes.n;
	return rc;
}

void tool_args_free(struct tool_args *a)
{
	vec_free(&a->pids);
	vec_free(&a->names);
	vec_free(&a->nodes);
	arena_free(&a->strings);
}

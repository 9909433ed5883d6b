/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments that tools have in common, under the names and with the meanings that the Go
 * agent's have, and the words of a selection made of them. Whatever a tool does not name in its
 * schema does not reach it.
 */
#ifndef INGERO_MCP_ARGS_H
#define INGERO_MCP_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/vec.h"
#include "lib/filter/filter.h"

#define ARGS_BUDGET	4000 /* tokens of a text when nobody says */
#define ARGS_BUDGET_MIN 100
#define ARGS_BUDGET_MAX 200000

struct tool_args {
	struct json all;	   /* borrowed */
	struct filter_words words; /* since, until, pid, pids, op, source, node */
	VEC(const char *) pids, names, nodes;
	uint64_t budget;
	bool tsc; /* columns rather than JSON */
	bool top_given;
	uint64_t top;	/* top_n or limit; 0: all */
	const char *jq; /* NULL: none */
	struct arena strings;
};

/* ERR_USAGE: one of them is wrong. To be freed in any case. */
int tool_args_read(struct tool_args *a, struct json args, struct err *e);
void tool_args_free(struct tool_args *a);

/* Of arguments that only one tool has. Text: borrowed from a; NULL: not given. */
int tool_args_text(struct tool_args *a, const char *key, const char **text, struct err *e);
double tool_args_number(const struct tool_args *a, const char *key, double otherwise);
bool tool_args_bool(const struct tool_args *a, const char *key, bool otherwise);

/* Parts of input schemas. */
#define ARGS_SCHEMA(properties) \
	"{\"type\":\"object\",\"properties\":{" properties "},\"additionalProperties\":false}"
#define ARGS_SCHEMA_REQUIRED(properties, required)                                     \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required \
	"],\"additionalProperties\":false}"
#define ARGS_SINCE                                                                             \
	"\"since\":{\"type\":\"string\",\"maxLength\":64,\"description\":\"From then on: 5m, " \
	"1h30m (before the recording's end), 15:40, or ISO time\"}"
#define ARGS_TIME                                                                                 \
	ARGS_SINCE                                                                                \
	","                                                                                       \
	"\"until\":{\"type\":\"string\",\"maxLength\":64,\"description\":\"Up to then, the same " \
	"forms\"}"
#define ARGS_PIDS                                                                         \
	"\"pid\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":4294967295,"             \
	"\"description\":\"One process; 0: all\"},"                                       \
	"\"pids\":{\"type\":\"array\",\"maxItems\":1000,\"items\":{\"type\":\"integer\"," \
	"\"minimum\":0,\"maximum\":4294967295},\"description\":\"Several processes\"}"
#define ARGS_OP                                                                           \
	"\"op\":{\"type\":\"string\",\"maxLength\":1000,\"description\":\"Operations: "   \
	"cudaMemcpyAsync, cu*Alloc*, several with commas\"},"                             \
	"\"source\":{\"type\":\"string\",\"maxLength\":64,\"description\":\"A source of " \
	"events: cuda, driver, nccl, host …\"}"
#define ARGS_NODE                                                                         \
	"\"node\":{\"type\":\"string\",\"maxLength\":256,\"description\":\"Only of this " \
	"machine\"}"
#define ARGS_TOP(text) "\"top_n\":{\"type\":\"integer\",\"description\":\"" text "\"}"
#define ARGS_LIMIT(most, text)                                            \
	"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":" most \
	",\"description\":\"" text "\"}"
#define ARGS_FORM                                                                          \
	"\"budget\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":200000,"             \
	"\"description\":\"Most tokens of the text [4000]; what does not fit is named\"}," \
	"\"tsc\":{\"type\":\"boolean\",\"description\":\"Columns instead of JSON [true]\"}"
#define ARGS_JQ                                                                              \
	"\"jq\":{\"type\":\"string\",\"maxLength\":4096,\"description\":\"A jq filter over " \
	"the structured answer, instead of it\"}"

#endif

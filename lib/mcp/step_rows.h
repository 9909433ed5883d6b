/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of the program that a recording is about, as tools give them: the verdict, and the lines of
 * the loop with most of a step.
 */
#ifndef INGERO_MCP_STEP_ROWS_H
#define INGERO_MCP_STEP_ROWS_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

/* "verdict" and "steps" of an answer about causes; neither, where no program has steps. */
void step_rows_set(struct json *o, const struct report *r);
/* One of "steps" as lines of text, numbered from 0. */
void step_row_append_text(struct buf *out, struct json row, size_t at);

/* In a cause's row: that it is of no step. */
void step_rows_mark_outside(struct json *row, const struct report *r, const struct finding *c);

#define STEP_ROWS_SCHEMA                                                                           \
	"{\"type\":\"array\",\"description\":\"Lines of the loop with most of a step, and why: "   \
	"milliseconds of one step\",\"items\":{\"type\":\"object\",\"properties\":{\"line\":{"     \
	"\"type\":\"string\"},\"site\":{\"type\":\"string\"},\"percent\":{\"type\":\"number\"},"   \
	"\"ms\":{\"type\":\"number\"},\"why\":{\"type\":\"array\",\"items\":{\"type\":\"object\"," \
	"\"properties\":{\"ms\":{\"type\":\"number\"},\"text\":{\"type\":\"string\"}},"            \
	"\"required\":[\"ms\",\"text\"]}}},\"required\":[\"line\",\"percent\",\"ms\"]}}"

#endif

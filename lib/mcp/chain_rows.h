/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes as tools give them: the same facts as ingero-explain's, in units a reader takes at a
 * glance.
 */
#ifndef INGERO_MCP_CHAIN_ROWS_H
#define INGERO_MCP_CHAIN_ROWS_H

#include "lib/query/chains.h"
#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/event/chain.h"

/* A chain as an object. whole: with its timeline, its evidence and all stacks. */
struct json chain_row_new(const struct finding *c, bool whole);
/* Whether a moment is a call, which explain_call takes. */
bool chain_row_is_call(const struct finding_moment *m);
/* Moves its moments (t_s) later by by_ns: moments of a part of a recording count from the beginning
 * of the recording, as the arguments of other tools do. */
void chain_row_shift_time(struct json *row, int64_t by_ns);
/* The object as lines of text, numbered from 0. */
void chain_row_append_text(struct buf *out, struct json row, size_t at);

/* Of all: "verdict", and what was read and what was not recorded, as "recording". shown: the first
 * that is not hidden; NULL: none is. */
void chain_rows_set_summary(struct json *o, const struct query_chains *a,
			    const struct finding *shown);
/* The frame as text. */
void chain_rows_append_head(struct buf *out, struct json answer);

#define CHAIN_ROW_SCHEMA                                                                           \
	"{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"severity\":{"         \
	"\"type\":"                                                                                \
	"\"string\",\"enum\":[\"LOW\",\"MEDIUM\",\"HIGH\",\"?\"]},\"kind\":{\"type\":\"string\"}," \
	"\"summary\":{\"type\":\"string\"},\"op\":{\"type\":\"string\"},\"pid\":{\"type\":"        \
	"\"integer\"},"                                                                            \
	"\"process\":{\"type\":\"string\"},\"node\":{\"type\":\"string\"},\"lost_ms\":{\"type\":"  \
	"\"number\"},\"count\":{\"type\":\"integer\"},\"wall_percent\":{\"type\":\"number\"},"     \
	"\"first_s\":{\"type\":\"number\"},\"last_s\":{\"type\":\"number\"},\"culprit\":{"         \
	"\"type\":"                                                                                \
	"\"string\"},\"where\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"fix\":{"     \
	"\"type\":"                                                                                \
	"\"array\",\"items\":{\"type\":\"object\"}},\"timeline\":{\"type\":\"array\",\"items\":"   \
	"{\"type\":\"object\"}},\"without\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," \
	"\"outside_steps\":{\"type\":\"boolean\"}}"                                                \
	","                                                                                        \
	"\"required\":[\"id\",\"severity\",\"kind\",\"summary\",\"lost_ms\",\"count\"]}"

#endif

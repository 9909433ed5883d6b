/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a structured answer: a head, then its lists, each with its columns named once and a
 * line for each row. What does not fit into a budget of tokens is left out of the text and of the
 * structured answer alike, from the ends of its lists, and both say so, and how to ask for it.
 */
#ifndef INGERO_MCP_TOKEN_BUDGET_H
#define INGERO_MCP_TOKEN_BUDGET_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/mcp/args.h"
#include "lib/mcp/mcp_catalog.h"

struct answer_column {
	const char *key, *head; /* head NULL: as the key */
	double times;		/* what a row has, so many times: another unit of it; 0: once */
};

struct answer_list {
	const char *key;   /* of an array of objects (of arrays, without columns) */
	const char *title; /* a line before it; NULL: none */
	const struct answer_column *
		columns; /* ended by a NULL key; columns without a value in any row are not there */
	void (*row)(struct buf *out, struct json row, size_t at); /* instead of columns */
	const char *total; /* member with the number of rows, where not all are in the list; NULL:
			      they are */
	const char *more;  /* how to ask for rows that are left out: "top_n" */
	bool top;	   /* tool_args.top is of this list */
	uint64_t top_default; /* rows when nobody says, 0: all */
};

struct answer_layout {
	void (*head)(struct buf *out, struct json answer); /* NULL: none */
	const struct answer_list *lists; /* ended by a NULL key; the more important first */
	void (*foot)(struct buf *out, struct json answer); /* NULL: none */
};

/* About how many tokens of a language model a text takes; rather more than less. */
uint64_t token_budget_estimate(struct bytes text);

/* A number as short as it says enough: four digits, and all that stand before the point. */
void token_budget_append_number(struct buf *out, double x);
/* A value of a row; nothing for what is not there. */
void token_budget_append_value(struct buf *out, struct json v);
/* The same of a member of an object. */
void token_budget_append_member(struct buf *out, struct json object, const char *key);
/* The same of a member that is an array: each of its values, behind what stands before the first,
 * and between two. */
void token_budget_append_members(struct buf *out, struct json object, const char *key,
				 const char *first, const char *between);

/* Fills in both parts of an answer. answer: an object, taken over. Its texts are made clean. */
int token_budget_write_answer(struct mcp_reply *out, struct json answer,
			      const struct answer_layout *layout, const struct tool_args *args,
			      const struct request_ctx *rctx, struct err *e);

#endif

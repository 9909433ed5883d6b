/* SPDX-License-Identifier: Apache-2.0 */
/* A mark is given when its value is written, so that what is cut from the end of a table takes no
 * marks with it. */
#include "lib/mcp/token_budget_internal.h"

#include <string.h>

#include "lib/mcp/token_budget.h"

#define LEAST	    6  /* tokens of a value that is worth a mark: the mark takes two, and "=" one */
#define SHORTEST    12 /* bytes of so many */
#define MARK_TOKENS 2
#define WORTH	    8  /* tokens saved in a column, or its values stand as they are */
#define MOST	    64 /* values of a column: what comes after those stands as it is */

struct token_budget_word {
	char *text;
	size_t n;
	uint64_t tokens, uses;
	unsigned mark; /* 0: not written yet */
};

static struct token_budget_word *find_word(const struct token_budget_words *w, struct bytes value)
{
	for (size_t i = 0; i < w->v.n; i++)
		if (bytes_equal((struct bytes){ w->v.v[i].text, w->v.v[i].n }, value))
			return &w->v.v[i];
	return NULL;
}

bool token_budget_words_count(struct token_budget_words *w, struct bytes value)
{
	struct token_budget_word *known, one = { .n = value.n, .uses = 1 };

	if (value.n < SHORTEST || (one.tokens = token_budget_estimate(value)) < LEAST)
		return true;
	known = find_word(w, value);
	if (known)
		known->uses++;
	if (known || w->v.n == MOST)
		return true;
	one.text = strndup(value.p, value.n);
	if (one.text && vec_push(&w->v, one))
		return true;
	free(one.text);
	return false;
}

void token_budget_words_choose(struct token_budget_words *w)
{
	uint64_t saved = 0;
	size_t kept = 0;

	for (size_t i = 0; i < w->v.n; i++) {
		struct token_budget_word *one = &w->v.v[i];
		uint64_t as_is = one->uses * one->tokens,
			 marked = one->uses * MARK_TOKENS + one->tokens + 1;

		if (one->uses > 1 && as_is > marked) {
			saved += as_is - marked;
			w->v.v[kept++] = *one;
		} else {
			free(one->text);
		}
	}
	w->v.n = kept;
	if (saved < WORTH)
		token_budget_words_free(w);
}

void token_budget_words_append(struct token_budget_words *w, struct buf *out, struct bytes value,
			       unsigned *marks)
{
	struct token_budget_word *one = find_word(w, value);
	bool first = one && !one->mark;

	if (first)
		one->mark = ++*marks;
	if (one)
		buf_printf(out, first ? "$%u=" : "$%u", one->mark);
	if (!one || first)
		buf_add(out, value.p, value.n);
}

void token_budget_words_free(struct token_budget_words *w)
{
	for (size_t i = 0; i < w->v.n; i++)
		free(w->v.v[i].text);
	vec_free(&w->v);
}

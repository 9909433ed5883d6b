/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a name once, from the front: what stands in brackets is left out, a blank outside of them
 * ends a return type, and parameters end the name unless it goes on behind them, as one of a local
 * class or lambda does.
 */
#include "lib/base/cpp_name.h"

#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

struct reading {
	struct bytes in;
	size_t at;
	struct buf *out;
	size_t begin; /* of out: where the name stands */
};

static bool is_next(const struct reading *r, const char *text)
{
	size_t n = strlen(text);

	return r->in.n - r->at >= n && memcmp(r->in.p + r->at, text, n) == 0;
}

static bool is_so_far(const struct reading *r, const char *text)
{
	return bytes_equal((struct bytes){ r->out->p + r->begin, r->out->n - r->begin },
			   bytes_of(text));
}

static bool has_operator(const struct reading *r)
{
	struct bytes so_far = { r->out->p + r->begin, r->out->n - r->begin };

	return is_so_far(r, "operator") || bytes_end_with(so_far, "::operator");
}

/* Behind the bracket that closes the one at r->at; the end, if none does. */
static size_t find_end(const struct reading *r)
{
	size_t depth = 0, at = r->at;

	for (; at < r->in.n; at++) {
		char c = r->in.p[at];

		if (c == '>' && at && r->in.p[at - 1] == '-')
			continue; /* of a trailing return type */
		depth += c == '<' || c == '(' || c == '{' || c == '[';
		if ((c == '>' || c == ')' || c == '}' || c == ']') && --depth == 0)
			return at + 1;
	}
	return at;
}

/* "operator()", "operator<<", "operator new[]", "operator std::string": up to its parameters. */
static void print_operator(struct reading *r)
{
	if (is_next(r, "()")) {
		buf_puts(r->out, "()");
		r->at += 2;
		return;
	}
	while (r->at < r->in.n && r->in.p[r->at] != '(')
		buf_putc(r->out, r->in.p[r->at++]);
}

/* Parameters at r->at: whether the name goes on behind them. */
static bool skip_parameters(struct reading *r)
{
	bool type = is_so_far(r, "decltype");

	r->at = find_end(r);
	if (type)
		return true;
	if (is_next(r, " const::"))
		r->at += strlen(" const");
	return is_next(r, "::");
}

/* False: it ends here. */
static bool print_next(struct reading *r)
{
	char c = r->in.p[r->at];

	if (has_operator(r)) {
		print_operator(r);
	} else if (is_next(r, ANONYMOUS)) {
		buf_puts(r->out, ANONYMOUS);
		r->at += strlen(ANONYMOUS);
	} else if (is_next(r, "{lambda(")) {
		buf_puts(r->out, "{lambda}");
		r->at = find_end(r);
	} else if (c == '<') {
		r->at = find_end(r);
	} else if (c == '(') {
		return skip_parameters(r);
	} else if (c == ' ') {
		r->at++;
		if (is_next(r, "["))
			return false; /* [clone .cold] */
		r->out->n = r->begin;
	} else {
		buf_putc(r->out, c);
		r->at++;
	}
	return true;
}

void cpp_name_print(struct buf *out, struct bytes name)
{
	struct reading r = { .in = name, .out = out, .begin = out->n };
	bool cpp = name.n && name.p[0] != '<' && name.p[0] != '_' &&
		   (memchr(name.p, '(', name.n) || memchr(name.p, '<', name.n));

	while (cpp && r.at < name.n && !out->failed && print_next(&r))
		;
	if (out->n > r.begin)
		return;
	buf_add(out, name.p, name.n);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section without room for a heading and a row is left out, and found by its key.
 */
#include "lib/base/page.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/fmt.h"

#define ROWS_LEAST  4
#define LINES_LEAST 2  /* a heading and a row */
#define ROOMY	    34 /* rows from which on an empty line stands between sections */

struct page_section *page_add(struct page *p, char key, const char *name, enum page_rank rank)
{
	struct page_section s = { .key = key, .name = name, .rank = rank };

	if (!vec_push(&p->sections, s)) {
		p->foot.failed = true;
		return NULL;
	}
	return &p->sections.v[p->sections.n - 1];
}

void page_free(struct page *p)
{
	for (size_t i = 0; i < p->sections.n; i++) {
		buf_free(&p->sections.v[i].brief);
		buf_free(&p->sections.v[i].full);
	}
	vec_free(&p->sections);
	buf_free(&p->head);
	buf_free(&p->foot);
}

static unsigned lines_of(const struct buf *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < text->n; i++)
		n += text->p[i] == '\n';
	return n;
}

/* Lines [from, from + n) of it. */
static unsigned put_lines(struct buf *out, const struct buf *text, unsigned from, unsigned n)
{
	const char *p = text->p, *end = p + text->n, *next;
	unsigned line = 0, put = 0;

	for (; p < end && put < n; p = next, line++) {
		next = memchr(p, '\n', (size_t)(end - p));
		next = next ? next + 1 : end;
		if (line < from)
			continue;
		buf_add(out, p, (size_t)(next - p));
		put++;
	}
	return put;
}

/* ---- keys ---- */

static const struct page_section *section_of(const struct page *p, char key)
{
	for (size_t i = 0; i < p->sections.n; i++)
		if (p->sections.v[i].key == key)
			return &p->sections.v[i];
	return NULL;
}

/* "? help  s system ... q quit": as many as fit. */
static void keys_line(struct buf *out, const struct page *p, const struct page_look *look)
{
	struct buf line = { 0 };
	size_t used = strlen("? help  q quit"), width;

	buf_printf(&line, "%s%s", look->held ? "HELD  " : "",
		   look->key == PAGE_SHARED ? "? help  q quit" : "Esc back  q quit");
	used += (look->key == PAGE_SHARED ? 0 : 2) + (look->held ? strlen("HELD  ") : 0);
	for (size_t i = 0; i < p->sections.n; i++) {
		const struct page_section *s = &p->sections.v[i];

		width = 4 + strlen(s->name);
		if (p->columns && used + width > p->columns)
			continue;
		buf_printf(&line, "  %c %s", s->key, s->name);
		used += width;
	}
	fmt_styled(out, p->color, FMT_DIM, buf_text(&line));
	out->failed |= line.failed;
	buf_free(&line);
}

static void help_text(struct buf *out, const struct page *p)
{
	buf_puts(out, "Keys\n"
		      "  q          leave this view\n"
		      "  Up Down    scroll through all sections (j k, PgUp PgDn, Home End)\n"
		      "  a          all sections, one below the other\n"
		      "  Space      hold what is shown, go on\n"
		      "  Esc        back, as the same key again\n");
	for (size_t i = 0; i < p->sections.n; i++)
		buf_printf(out, "  %c          %s alone\n", p->sections.v[i].key,
			   p->sections.v[i].name);
	buf_puts(out, "Marks\n"
		      "  *          of fewer than 100 calls: its p99 is the longest of them\n"
		      "  ~  >=      estimated, at least: a part of the calls was recorded\n"
		      "  (9)        rows of a table, of which those stand below that fit\n");
}

/* What is scrolled through. */
static void whole_text(struct buf *out, const struct page *p, const struct page_look *look)
{
	const struct page_section *one = section_of(p, look->key);

	if (look->key == PAGE_HELP) {
		help_text(out, p);
		return;
	}
	for (size_t i = 0; i < p->sections.n; i++) {
		const struct page_section *s = &p->sections.v[i];
		bool empty_first = s->full.n && s->full.p[0] == '\n';

		if (one ? s != one : s->full.n == 0)
			continue;
		if (one && s->full.n == 0)
			buf_printf(out, "%s: nothing yet\n", s->name);
		/* Sections begin with an empty line, which the first one needs not. */
		buf_add(out, s->full.p + (empty_first && out->n == 0),
			s->full.n - (empty_first && out->n == 0));
	}
}

/* ---- lines that are shared ---- */

struct share {
	unsigned want, has;
};

/* A heading and a row to each of that rank. */
static void share_least(struct share *v, const struct page *p, enum page_rank rank, unsigned *left)
{
	for (size_t i = 0; i < p->sections.n; i++) {
		unsigned least = v[i].want < LINES_LEAST ? v[i].want : LINES_LEAST;

		if (p->sections.v[i].rank != rank || least > *left)
			continue;
		v[i].has = least;
		*left -= least;
	}
}

/* To those that have that, a row more by turns. */
static void share_rows(struct share *v, const struct page *p, enum page_rank rank, unsigned *left)
{
	bool more = true;

	while (more && *left) {
		more = false;
		for (size_t i = 0; i < p->sections.n && *left; i++) {
			if (p->sections.v[i].rank != rank || !v[i].has || v[i].has >= v[i].want)
				continue;
			v[i].has++;
			--*left;
			more = true;
		}
	}
}

static unsigned shared_text(struct buf *out, const struct page *p, unsigned rows, bool roomy)
{
	struct share *v = calloc(p->sections.n + 1, sizeof(*v));
	unsigned left = rows, put = 0;

	if (!v) {
		out->failed = true;
		return 0;
	}
	for (size_t i = 0; i < p->sections.n; i++)
		v[i].want = p->sections.v[i].brief.n
				    ? lines_of(&p->sections.v[i].brief) + (unsigned)roomy
				    : 0;
	share_least(v, p, PAGE_FIRST, &left);
	share_least(v, p, PAGE_SECOND, &left);
	share_rows(v, p, PAGE_FIRST, &left);
	share_rows(v, p, PAGE_SECOND, &left);
	share_least(v, p, PAGE_THIRD, &left);
	share_rows(v, p, PAGE_THIRD, &left);
	for (size_t i = 0; i < p->sections.n; i++) {
		unsigned lines = v[i].has;

		if (!lines || (lines < LINES_LEAST + (unsigned)roomy && lines < v[i].want))
			continue;
		if (roomy) {
			buf_putc(out, '\n');
			lines--;
			put++;
		}
		put += put_lines(out, &p->sections.v[i].brief, 0, lines);
	}
	free(v);
	return put;
}

/* Rows between what stays above and below, the line of keys included there. */
static unsigned body_rows(const struct page *p, unsigned rows, unsigned *head, unsigned *foot)
{
	*head = lines_of(&p->head);
	*foot = lines_of(&p->foot);
	rows = rows < ROWS_LEAST ? ROWS_LEAST : rows;
	/* Where it is very low, the foot says what matters most. */
	if (*foot + 2 > rows)
		*foot = rows - 2;
	if (*head + *foot + 2 > rows)
		*head = rows - *foot - 2;
	return rows - *head - *foot - 1;
}

void page_text(struct buf *out, const struct page *p, struct page_look *look, unsigned rows)
{
	unsigned head, foot, body = body_rows(p, rows, &head, &foot), put = 0, all;
	struct buf whole = { 0 };

	put_lines(out, &p->head, 0, head);
	if (look->key == PAGE_SHARED) {
		put = shared_text(out, p, body, rows >= ROOMY);
	} else {
		whole_text(&whole, p, look);
		all = lines_of(&whole);
		if (look->offset + body > all)
			look->offset = all > body ? all - body : 0;
		put = put_lines(out, &whole, look->offset, body);
		out->failed |= whole.failed;
		buf_free(&whole);
	}
	for (; put < body; put++)
		buf_putc(out, '\n');
	put_lines(out, &p->foot, 0, foot);
	keys_line(out, p, look);
	out->failed |= p->head.failed || p->foot.failed;
}

bool page_turn(const struct page *p, struct page_look *look, int key, unsigned rows)
{
	unsigned head, foot, body = body_rows(p, rows, &head, &foot);
	unsigned step = key == PAGE_BACK || key == PAGE_ON ? body : 1;
	bool scrolls = key == PAGE_UP || key == PAGE_DOWN || key == PAGE_BACK || key == PAGE_ON ||
		       key == PAGE_TOP || key == PAGE_END;

	if (key == 'k' || key == 'j') {
		key = key == 'k' ? PAGE_UP : PAGE_DOWN;
		scrolls = true;
	}
	if (key == PAGE_ESCAPE || (key == look->key && key)) {
		*look = (struct page_look){ .held = look->held };
		return true;
	}
	if (key == PAGE_WHOLE || key == PAGE_HELP || (key < 256 && section_of(p, (char)key))) {
		*look = (struct page_look){ .key = (char)key, .held = look->held };
		return true;
	}
	if (!scrolls)
		return false;
	if (look->key == PAGE_SHARED) {
		*look = (struct page_look){ .key = PAGE_WHOLE, .held = look->held };
		if (key != PAGE_END)
			return true;
	}
	if (key == PAGE_DOWN || key == PAGE_ON)
		look->offset += step;
	else if (key == PAGE_END)
		look->offset = ~0u / 2;
	else if (key == PAGE_TOP)
		look->offset = 0;
	else
		look->offset = look->offset > step ? look->offset - step : 0;
	return true;
}

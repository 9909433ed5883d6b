/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of sections for a terminal of any size: lines above and below that stay, and between them
 * sections that share the lines there are, one of them alone, or all of them to scroll through.
 * Nothing here prints or reads keys.
 */
#ifndef INGERO_BASE_PAGE_H
#define INGERO_BASE_PAGE_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"

/* Which section gets lines first when there are too few for all. A heading and a row are for each
 * of the first two ranks; of what is left each of the first rank gets a row more by turns, then
 * those of the second, and then the third rank its share. */
enum page_rank { PAGE_FIRST, PAGE_SECOND, PAGE_THIRD };

struct page_section {
	char key;	  /* shows it alone */
	const char *name; /* static */
	enum page_rank rank;
	struct buf brief; /* lines, the first one a heading; may be cut from below */
	struct buf full;  /* what is shown of it alone */
};

struct page {
	struct buf head, foot;		   /* lines */
	VEC(struct page_section) sections; /* from top to bottom */
	unsigned columns;		   /* that it was made for */
	bool color;
};

/* What a person looks at. */
struct page_look {
	char key;	 /* of one section; PAGE_SHARED, PAGE_WHOLE, PAGE_HELP */
	unsigned offset; /* lines that were scrolled away */
	bool held;	 /* the page is not renewed */
};
#define PAGE_SHARED '\0'
#define PAGE_WHOLE  'a'
#define PAGE_HELP   '?'

/* Keys that are not characters. */
enum page_key { PAGE_UP = 256, PAGE_DOWN, PAGE_BACK, PAGE_ON, PAGE_TOP, PAGE_END, PAGE_ESCAPE };

/* Its place in the page, with nothing in it; NULL: no memory (said at page_text, too). */
struct page_section *page_add(struct page *p, char key, const char *name, enum page_rank rank);
void page_free(struct page *p);

/* Exactly so many lines (4 at least), of columns at most where the terminal cuts them. look->offset
 * is put where there is something to see. */
void page_text(struct buf *out, const struct page *p, struct page_look *look, unsigned rows);

/* What a key changes, on a terminal of so many rows; false: it means nothing here. */
bool page_turn(const struct page *p, struct page_look *look, int key, unsigned rows);

#endif

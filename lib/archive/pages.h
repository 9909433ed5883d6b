/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-trees of an SQLite database, written from bottom to top in the order of their keys: what
 * inserting row by row would make, at the speed of copying. The form is that of SQLite's file
 * format 4; the library made the rest of the file and reads all of it. Rows never need overflow
 * pages: they are bounded by ARCHIVE_ROW_MAX.
 */
#ifndef INGERO_ARCHIVE_PAGES_H
#define INGERO_ARCHIVE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define ARCHIVE_PAGE 4096
#define ARCHIVE_ROW_MAX \
	(ARCHIVE_PAGE - 35) /* of a record in a leaf of a table: longer ones spill */
#define ARCHIVE_KEY_MAX 64  /* of a record in an index */

/* At most 9 bytes; returns how many. */
unsigned archive_varint_put(uint8_t *p, uint64_t x);

/* Pages in the order of their numbers, from 1, to a file that can be sought. */
struct page_file {
	int fd;
	uint32_t pages;	    /* have a number */
	struct buf chunk;   /* of those, not written yet: the last ones */
	bool (*stop)(void); /* asked now and then; true: ERR_INTERRUPTED. NULL: never */
};
/* *number: of the page, which begins at that place of the file. The page at 1 GiB is left out, as
 * SQLite leaves it. */
int page_file_put(struct page_file *f, const uint8_t *page, uint32_t *number, struct err *e);
int page_file_flush(struct page_file *f, struct err *e);
/* A page that has its number already. */
int page_file_patch(struct page_file *f, uint32_t number, const uint8_t *page, struct err *e);
void page_file_free(struct page_file *f);

/* ---- a page with its cells, from the end of the page towards its beginning ---- */

struct page {
	uint8_t p[ARCHIVE_PAGE];
	unsigned cells, content, header;
};
enum page_type { PAGE_INDEX_INNER = 2, PAGE_TABLE_INNER = 5, PAGE_INDEX = 10, PAGE_TABLE = 13 };
void page_begin(struct page *p, enum page_type type);
/* Where n bytes of a further cell go; NULL: they do not fit. */
uint8_t *page_cell(struct page *p, unsigned n);
/* Takes the last cell away again; it stays where it was until the next one. */
const uint8_t *page_uncell(struct page *p, unsigned *n);
void page_end(struct page *p, uint32_t rightmost);

/* ---- a table's tree above its leaves ---- */

struct table_leaf {
	uint32_t page;
	uint64_t last; /* rowid */
};
struct table_leaves {
	VEC(struct table_leaf) v;
};
/* Its root becomes *root; everything else is put. No leaf: an empty root. One leaf: never; it is
 * the root itself, so that whoever has one gives its page here instead. */
int page_table_tree(struct page_file *f, const struct table_leaves *leaves, struct page *root,
		    struct err *e);

/* ---- an index ---- */

struct index_tree {
	struct page_file *f;
	struct page leaf;
	VEC(uint32_t) children; /* pages of the level being made */
	struct buf keys;	/* between them: length, then that many bytes */
	VEC(size_t) key_at;
	unsigned longest;
};
void index_tree_begin(struct index_tree *t, struct page_file *f);
/* record[0..n): the next key in order, n <= ARCHIVE_KEY_MAX. */
int index_tree_add(struct index_tree *t, const uint8_t *record, unsigned n, struct err *e);
int index_tree_end(struct index_tree *t, struct page *root, struct err *e);
void index_tree_free(struct index_tree *t);

#endif

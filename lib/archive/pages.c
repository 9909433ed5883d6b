/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the pages of SQLite b-trees without SQLite. Every inner page has at least two children and
 * every leaf a cell: pages share the children evenly, because nothing is added to them later.
 */
#include "lib/archive/pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CHUNK	  (256 * ARCHIVE_PAGE)
#define LOCK_PAGE (0x40000000 / ARCHIVE_PAGE + 1) /* locks are taken on bytes in it */

unsigned archive_varint_put(uint8_t *p, uint64_t x)
{
	uint8_t low[10];
	unsigned n = 0;

	if (x >> 56) {
		p[8] = (uint8_t)x;
		x >>= 8;
		for (int i = 7; i >= 0; i--, x >>= 7)
			p[i] = (uint8_t)(x & 0x7f) | 0x80;
		return 9;
	}
	do {
		low[n++] = (uint8_t)(x & 0x7f) | 0x80;
		x >>= 7;
	} while (x);
	low[0] &= 0x7f;
	for (unsigned i = 0; i < n; i++)
		p[i] = low[n - 1 - i];
	return n;
}

static void put_u16(uint8_t *p, unsigned x)
{
	p[0] = (uint8_t)(x >> 8);
	p[1] = (uint8_t)x;
}

static void put_u32(uint8_t *p, uint32_t x)
{
	put_u16(p, x >> 16);
	put_u16(p + 2, x & 0xffff);
}

/* ---- the file ---- */

static int write_at(int fd, const void *p, size_t n, uint64_t at, struct err *e)
{
	const char *from = p;

	while (n) {
		ssize_t did = pwrite(fd, from, n, (off_t)at);

		if (did < 0 && errno == EINTR)
			continue;
		if (did < 0)
			return err_sys(e, "cannot write");
		from += did;
		n -= (size_t)did;
		at += (uint64_t)did;
	}
	return 0;
}

int page_file_flush(struct page_file *f, struct err *e)
{
	uint64_t end = (uint64_t)f->pages * ARCHIVE_PAGE;
	int rc = f->chunk.failed ? err_nomem(e)
				 : write_at(f->fd, f->chunk.p, f->chunk.n, end - f->chunk.n, e);

	buf_reset(&f->chunk);
	return rc;
}

int page_file_put(struct page_file *f, const uint8_t *page, uint32_t *number, struct err *e)
{
	int rc = 0;

	if (f->pages + 1 == LOCK_PAGE) {
		rc = page_file_flush(f, e);
		f->pages++;
	}
	if (f->pages > UINT32_MAX - 2)
		return err_set(e, ERR_LIMIT, "an SQLite file cannot be larger than 16 TiB");
	buf_add(&f->chunk, page, ARCHIVE_PAGE);
	*number = ++f->pages;
	if (!rc && f->chunk.n >= CHUNK) {
		rc = page_file_flush(f, e);
		if (!rc && f->stop && f->stop())
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	return rc;
}

int page_file_patch(struct page_file *f, uint32_t number, const uint8_t *page, struct err *e)
{
	return write_at(f->fd, page, ARCHIVE_PAGE, (uint64_t)(number - 1) * ARCHIVE_PAGE, e);
}

void page_file_free(struct page_file *f)
{
	buf_free(&f->chunk);
}

/* ---- a page ---- */

void page_begin(struct page *p, enum page_type type)
{
	memset(p->p, 0, 12);
	p->p[0] = (uint8_t)type;
	p->header = type == PAGE_INDEX_INNER || type == PAGE_TABLE_INNER ? 12 : 8;
	p->cells = 0;
	p->content = ARCHIVE_PAGE;
}

uint8_t *page_cell(struct page *p, unsigned n)
{
	unsigned pointers = p->header + 2 * p->cells;

	if (n < 4) /* the least that a freed cell takes */
		n = 4;
	if (p->content < pointers + 2 + n)
		return NULL;
	p->content -= n;
	put_u16(p->p + pointers, p->content);
	p->cells++;
	return p->p + p->content;
}

const uint8_t *page_uncell(struct page *p, unsigned *n)
{
	const uint8_t *cell = p->p + p->content;
	const uint8_t *before = p->p + p->header + 2 * (p->cells - 2);

	p->cells--;
	*n = (p->cells ? (unsigned)(before[0] << 8 | before[1]) : ARCHIVE_PAGE) - p->content;
	p->content += *n;
	return cell;
}

void page_end(struct page *p, uint32_t rightmost)
{
	unsigned pointers = p->header + 2 * p->cells;

	memset(p->p + pointers, 0, p->content - pointers);
	put_u16(p->p + 3, p->cells);
	put_u16(p->p + 5, p->content);
	if (p->header == 12)
		put_u32(p->p + 8, rightmost);
}

/* ---- levels: n children over pages of at most `most` ---- */

static size_t children_in_page(size_t n, size_t pages, size_t i)
{
	return n / pages + (i < n % pages);
}

int page_table_tree(struct page_file *f, const struct table_leaves *leaves, struct page *root,
		    struct err *e)
{
	/* 4 for the child, 9 for its last row, 2 for the pointer; one more child stands in the
	 * header */
	const size_t most = (ARCHIVE_PAGE - 12) / 15 + 1;
	struct table_leaves level = { { 0 } }, above = { { 0 } };
	int rc = 0;

	if (!leaves->v.n) {
		page_begin(root, PAGE_TABLE);
		page_end(root, 0);
		return 0;
	}
	for (size_t i = 0; i < leaves->v.n && !rc; i++)
		rc = vec_push(&level.v, leaves->v.v[i]) ? 0 : err_nomem(e);
	while (!rc) {
		size_t pages = (level.v.n + most - 1) / most, at = 0;

		above.v.n = 0;
		for (size_t i = 0; i < pages && !rc; i++) {
			size_t n = children_in_page(level.v.n, pages, i);
			struct table_leaf up = level.v.v[at + n - 1];

			page_begin(root, PAGE_TABLE_INNER);
			for (size_t k = at; k + 1 < at + n; k++) {
				uint8_t rowid[9];
				unsigned len = archive_varint_put(rowid, level.v.v[k].last);
				uint8_t *cell = page_cell(root, 4 + len);

				put_u32(cell, level.v.v[k].page);
				memcpy(cell + 4, rowid, len);
			}
			page_end(root, up.page);
			at += n;
			if (pages == 1)
				goto out; /* this page is the root */
			rc = page_file_put(f, root->p, &up.page, e);
			if (!rc && !vec_push(&above.v, up))
				rc = err_nomem(e);
		}
		if (!rc) {
			struct table_leaves swap = level;

			level = above;
			above = swap;
		}
	}
out:
	vec_free(&level.v);
	vec_free(&above.v);
	return rc;
}

/* ---- an index ---- */

void index_tree_begin(struct index_tree *t, struct page_file *f)
{
	*t = (struct index_tree){ .f = f };
	page_begin(&t->leaf, PAGE_INDEX);
}

/* The leaf is full: its last key goes up between it and the next. */
static int next_leaf(struct index_tree *t, struct err *e)
{
	unsigned n;
	const uint8_t *key = page_uncell(&t->leaf, &n);
	uint32_t page = 0;
	int rc;

	if (!vec_push(&t->key_at, t->keys.n))
		return err_nomem(e);
	buf_add(&t->keys, key, n);
	if (n > t->longest)
		t->longest = n;
	page_end(&t->leaf, 0);
	rc = page_file_put(t->f, t->leaf.p, &page, e);
	if (!rc && (t->keys.failed || !vec_push(&t->children, page)))
		rc = err_nomem(e);
	page_begin(&t->leaf, PAGE_INDEX);
	return rc;
}

int index_tree_add(struct index_tree *t, const uint8_t *record, unsigned n, struct err *e)
{
	uint8_t *cell = page_cell(&t->leaf, 1 + n); /* lengths below 128 take one byte */
	int rc = 0;

	if (!cell) {
		rc = next_leaf(t, e);
		cell = page_cell(&t->leaf, 1 + n);
	}
	cell[0] = (uint8_t)n;
	memcpy(cell + 1, record, n);
	return rc;
}

/* One level of inner pages over the children, which become those pages; true in *is_root: the page
 * is the whole level. */
static int inner_level(struct index_tree *t, struct page *root, struct err *e)
{
	const size_t most = (ARCHIVE_PAGE - 12) / (4 + t->longest + 2) + 1;
	size_t n = t->children.n, pages = (n + most - 1) / most, at = 0, left = 0;
	int rc = 0;

	for (size_t i = 0; i < pages && !rc; i++) {
		size_t mine = children_in_page(n, pages, i);
		uint32_t page = 0;

		page_begin(root, PAGE_INDEX_INNER);
		for (size_t k = at; k + 1 < at + mine; k++) {
			size_t from = t->key_at.v[k],
			       to = k + 1 < t->key_at.n ? t->key_at.v[k + 1] : t->keys.n;
			uint8_t *cell = page_cell(root, (unsigned)(4 + to - from));

			put_u32(cell, t->children.v[k]);
			memcpy(cell + 4, t->keys.p + from, to - from);
		}
		page_end(root, t->children.v[at + mine - 1]);
		at += mine;
		if (pages == 1)
			break;
		rc = page_file_put(t->f, root->p, &page, e);
		t->children.v[i] = page;
		/* What stood between this page and the next goes further up. */
		if (i + 1 < pages) {
			size_t from = t->key_at.v[at - 1],
			       to = at < t->key_at.n ? t->key_at.v[at] : t->keys.n;

			memmove(t->keys.p + left, t->keys.p + from, to - from);
			t->key_at.v[i] = left;
			left += to - from;
		}
	}
	t->children.n = pages;
	t->key_at.n = pages - 1;
	t->keys.n = left;
	return rc;
}

int index_tree_end(struct index_tree *t, struct page *root, struct err *e)
{
	uint32_t page;
	int rc;

	page_end(&t->leaf, 0);
	if (!t->children.n) {
		*root = t->leaf;
		return 0;
	}
	rc = page_file_put(t->f, t->leaf.p, &page, e);
	if (!rc && !vec_push(&t->children, page))
		rc = err_nomem(e);
	while (!rc && t->children.n > 1)
		rc = inner_level(t, root, e);
	return rc;
}

void index_tree_free(struct index_tree *t)
{
	vec_free(&t->children);
	vec_free(&t->key_at);
	buf_free(&t->keys);
}

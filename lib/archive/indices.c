/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the b-tree of events above its leaves, and its four indices. Each index is made from an
 * order of the rows, with keys that are small numbers (formats/archive.sql says of what).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/archive/archive_internal.h"
#include "lib/base/io.h"

/* ---- one order, one index ---- */

struct index_rows {
	struct archive_writer *a;
	struct page_file *f;
	struct row row;
	struct index_tree tree;
};

static int add_key(struct index_rows *x, uint64_t row, struct err *e)
{
	uint8_t record[ARCHIVE_KEY_MAX];

	row_int(&x->row, (int64_t)row);
	row_put(&x->row, record);
	return index_tree_add(&x->tree, record, row_bytes(&x->row), e);
}

static int index_by_time(struct index_rows *x, struct err *e)
{
	struct archive_writer *a = x->a;
	struct keys order = { .each = sizeof(struct timed) };
	int rc = keys_by_time(&a->times, a->left_out_rows, &order, e);

	for (size_t i = 0; i < order.n && !rc; i++) {
		const struct timed *t = (const struct timed *)order.v + i;

		row_begin(&x->row);
		row_int(&x->row, t->time);
		rc = add_key(x, a->left_out_rows + t->row, e);
	}
	keys_free(&order);
	return rc;
}

/* An id and the index columns of the thing it names, to rank ids by their columns; rank 0: not in
 * the index. */
struct ranked {
	int64_t v[3];
	uint32_t id;
};

static int compare_by_values(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	for (unsigned i = 0; i < 3; i++) {
		if (a->v[i] != b->v[i])
			return a->v[i] < b->v[i] ? -1 : 1;
	}
	return 0;
}

/* things[0..n): one for each id that is to be found, columns of each; ids below limit. */
static int index_by_rank(struct index_rows *x, const struct keys *ids, struct ranked *things,
			 uint32_t n, unsigned columns, uint32_t limit, struct err *e)
{
	struct keys order = { .each = sizeof(uint32_t) };
	uint32_t *rank = calloc((size_t)limit + 1, sizeof(*rank)),
		 *first = calloc((size_t)n + 1, sizeof(*first)), ranks = 0;
	int rc = rank && first ? 0 : err_nomem(e);

	qsort(things, n, sizeof(*things), compare_by_values);
	for (uint32_t i = 0; i < n && !rc; i++) {
		/* Things with equal columns share a rank. */
		if (!i || compare_by_values(&things[i - 1], &things[i]))
			first[++ranks] = i;
		rank[things[i].id] = ranks;
	}
	rc = rc ? rc : keys_by_rank(ids, x->a->left_out_rows, rank, ranks, &order, e);
	for (size_t i = 0; i < order.n && !rc; i++) {
		uint64_t row = ((const uint32_t *)order.v)[i];
		uint32_t id = ((const uint32_t *)ids->v)[x->a->left_out_rows + row - 1];
		const struct ranked *thing = &things[first[rank[id]]];

		row_begin(&x->row);
		for (unsigned k = 0; k < columns; k++)
			row_int(&x->row, thing->v[k]);
		rc = add_key(x, x->a->left_out_rows + row, e);
	}
	keys_free(&order);
	free(rank);
	free(first);
	return rc;
}

static int index_by_ctx(struct index_rows *x, bool cgroup, struct err *e)
{
	struct archive_writer *a = x->a;
	uint32_t n = 0, limit = (uint32_t)a->ctxs.n;
	struct ranked *things = calloc((size_t)limit + 1, sizeof(*things));
	int rc;

	if (!things)
		return err_nomem(e);
	for (uint32_t id = 0; id < limit; id++) {
		const struct ctx_row *c = &a->ctxs.v[id];

		if (!cgroup || c->cgroup)
			things[n++] = (struct ranked){ { cgroup ? c->cgroup : c->pid, 0, 0 }, id };
	}
	rc = index_by_rank(x, &a->ctx_ids, things, n, 1, limit, e);
	free(things);
	return rc;
}

static int by_pid(struct index_rows *x, struct err *e)
{
	return index_by_ctx(x, false, e);
}

static int by_cgroup(struct index_rows *x, struct err *e)
{
	return index_by_ctx(x, true, e);
}

static int by_site(struct index_rows *x, struct err *e)
{
	struct archive_writer *a = x->a;
	uint32_t n = (uint32_t)a->site.n;
	struct ranked *things = calloc((size_t)n + 1, sizeof(*things));
	int rc;

	if (!things)
		return err_nomem(e);
	for (uint32_t id = 0; id < n; id++) {
		const struct archive_site *s = &a->site.v[id];

		things[id] = (struct ranked){
			{ s->code.source, s->code.op, archive_stack_hash(a, s->stack) }, id
		};
	}
	rc = index_by_rank(x, &a->sites, things, n, 3, n, e);
	free(things);
	return rc;
}

/* ---- the tree of events ---- */

/* Of a leaf that only begins in what is left out, the cells that stay. */
static int rest_of_leaf(struct page_file *f, const uint8_t *old, uint64_t cells, uint32_t *number,
			struct page *rest, struct err *e)
{
	unsigned n = (unsigned)(old[3] << 8 | old[4]);

	page_begin(rest, PAGE_TABLE);
	for (unsigned i = n - (unsigned)cells; i < n; i++) {
		unsigned at = (unsigned)(old[8 + 2 * i] << 8 | old[9 + 2 * i]);
		unsigned end = i ? (unsigned)(old[6 + 2 * i] << 8 | old[7 + 2 * i]) : ARCHIVE_PAGE;

		memcpy(page_cell(rest, end - at), old + at, end - at);
	}
	page_end(rest, 0);
	return number ? page_file_put(f, rest->p, number, e) : 0;
}

/* Appends the leaves to the file; root becomes the only leaf, or the root page above them. */
static int copy_leaves(struct archive_writer *a, struct page_file *f, struct page *root,
		       struct err *e)
{
	struct table_leaves leaves = { { 0 } };
	uint64_t left_out = a->left_out_rows, before = 0;
	bool alone = a->leaves.v.n &&
		     (a->leaves.v.n == 1 || a->leaves.v.v[a->leaves.v.n - 2].last <= left_out);
	uint8_t page[ARCHIVE_PAGE];
	int rc = 0;

	for (size_t i = 0; i < a->leaves.v.n && !rc; before = a->leaves.v.v[i++].last) {
		struct table_leaf leaf = a->leaves.v.v[i];

		if (leaf.last <= left_out)
			continue;
		if (read_at(a->spool.fd, page, sizeof(page),
			    (off_t)(leaf.page - 1) * ARCHIVE_PAGE) != sizeof(page)) {
			rc = err_sys(e, "cannot read scratch");
		} else if (alone) {
			rc = rest_of_leaf(f, page,
					  leaf.last - (before > left_out ? before : left_out), NULL,
					  root, e);
			goto out;
		} else if (before < left_out) {
			rc = rest_of_leaf(f, page, leaf.last - left_out, &leaf.page, root, e);
		} else {
			rc = page_file_put(f, page, &leaf.page, e);
		}
		if (!rc && !vec_push(&leaves.v, leaf))
			rc = err_nomem(e);
	}
	rc = rc ? rc : page_table_tree(f, &leaves, root, e);
out:
	vec_free(&leaves.v);
	return rc;
}

static int root_page(struct archive_writer *a, const char *name, uint32_t *page, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s, "SELECT rootpage FROM sqlite_master WHERE name = ?", e);

	if (!rc) {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		*page = 0;
		if (sqlite3_step(s) == SQLITE_ROW)
			*page = (uint32_t)sqlite3_column_int64(s, 0);
		else if (sqlite3_errcode(a->db) != SQLITE_DONE)
			rc = archive_failed(a, e);
		if (!rc && !*page)
			rc = err_set(e, ERR_CANNOT, "no %s in the schema", name);
	}
	sqlite3_finalize(s);
	return rc;
}

int archive_trees_write(struct archive_writer *a, struct page_file *f, uint8_t *small,
			struct err *e)
{
	static const struct {
		const char *name;
		int (*write)(struct index_rows *x, struct err *e);
	} indices[] = {
		{ "idx_events_timestamp", index_by_time },
		{ "idx_events_pid", by_pid },
		{ "idx_events_source_op_stack", by_site },
		{ "idx_events_cgroup", by_cgroup },
	};
	struct index_rows *x = calloc(1, sizeof(*x));
	struct page *root = calloc(1, sizeof(*root));
	uint32_t at = 0;
	int rc = x && root ? root_page(a, "events", &at, e) : err_nomem(e);

	rc = rc ? rc : copy_leaves(a, f, root, e);
	if (!rc)
		memcpy(small + (size_t)(at - 1) * ARCHIVE_PAGE, root->p, ARCHIVE_PAGE);
	for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]) && !rc; i++) {
		x->a = a;
		x->f = f;
		index_tree_begin(&x->tree, f);
		rc = root_page(a, indices[i].name, &at, e);
		rc = rc ? rc : indices[i].write(x, e);
		rc = rc ? rc : index_tree_end(&x->tree, root, e);
		if (!rc)
			memcpy(small + (size_t)(at - 1) * ARCHIVE_PAGE, root->p, ARCHIVE_PAGE);
		index_tree_free(&x->tree);
	}
	free(x);
	free(root);
	return rc;
}

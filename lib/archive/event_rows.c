/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events as rows of the SQLite archive. What is the same for all events of an op or of a
 * context is worked out once; the rest is a few numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/archive/event_columns.h"
#include "lib/archive/archive_internal.h"
#include "lib/base/io.h"
#include "lib/base/utf8.h"

#define FIXED_COLUMNS 25 /* id ... stack, formats/archive.sql */

/* ---- the table's columns ---- */

int archive_rows_open(struct archive_writer *a, struct err *e)
{
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(
		a, &s,
		"SELECT cid - ?1 + 1 FROM pragma_table_info('events') WHERE name = ?2 "
		"AND cid >= ?1",
		e);

	for (unsigned id = 1; id < 65536 && !rc; id++) {
		const struct column_def *def = column_builtin((uint16_t)id);
		int step;

		if (!def)
			continue;
		sqlite3_bind_int(s, 1, FIXED_COLUMNS);
		sqlite3_bind_text(s, 2, archive_column_name(def), -1, SQLITE_STATIC);
		step = sqlite3_step(s);
		if (step == SQLITE_ROW)
			a->column_at[id] = (uint8_t)sqlite3_column_int(s, 0);
		else if (step != SQLITE_DONE)
			rc = archive_failed(a, e);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	if (!rc)
		rc = archive_prepare(a, &a->more_to,
				     "INSERT OR IGNORE INTO event_values VALUES (?,?,?)", e);
	a->times.each = sizeof(int64_t);
	a->ctx_ids.each = a->sites.each = sizeof(uint32_t);
	page_begin(&a->leaf, PAGE_TABLE);
	a->spool.fd = rc ? -1 : io_nameless(e);
	return rc || a->spool.fd >= 0 ? rc : ERR_CANNOT;
}

static struct op_plan *plan_of(struct archive_writer *a, const struct event *ev, struct err *e)
{
	const struct op_def *def = world_op(a->w, ev->op);
	struct op_plan *p = calloc(1, sizeof(*p));
	unsigned at[OP_COLUMNS_MAX], before = 0;

	if (!p || !def) {
		free(p);
		if (def)
			err_nomem(e);
		else
			err_set(e, ERR_DAMAGED, "event of an op that nobody defined");
		return NULL;
	}
	p->def = def;
	p->code = archive_code_of(ev, def);
	p->by_write = ev->op == OP_IO_BLOCK || ev->op == OP_NET_SOCKET;
	p->starts = def->flags & OP_CALL;
	p->adds = archive_arg0_adds(def);
	for (unsigned i = 0; i < def->ncols; i++) {
		unsigned is = a->column_at[def->cols[i]], k;

		if (!is) {
			p->more[p->nmore++] = (uint8_t)i;
			continue;
		}
		for (k = p->n++; k && at[k - 1] > is; k--) {
			at[k] = at[k - 1];
			p->cols[k].x = p->cols[k - 1].x;
		}
		at[k] = is;
		p->cols[k].x = (uint8_t)i;
	}
	for (unsigned k = 0; k < p->n; k++) {
		p->cols[k].nulls = (uint8_t)(at[k] - before - 1);
		before = at[k];
	}
	return a->plans[ev->op] = p;
}

/* ---- contexts ---- */

/* Valid UTF-8 of at most ROW_TEXT_MAX bytes. */
static void add_clean(struct row *r, struct bytes text)
{
	struct buf clean = { 0 };
	size_t i = 0;

	while (i < text.n && clean.n + 3 < ROW_TEXT_MAX) {
		size_t len = utf8_length((const unsigned char *)text.p + i, text.n - i);

		if (len && clean.n + len > ROW_TEXT_MAX)
			break;
		if (len)
			buf_add(&clean, text.p + i, len);
		else
			utf8_put(&clean, 0xfffd);
		i += len ? len : 1;
	}
	row_text(r, buf_bytes(&clean));
	buf_free(&clean);
}

static int make_ctx(struct archive_writer *a, uint32_t id, struct ctx_row *c, struct err *e)
{
	static const struct world_ctx nobody;
	const struct world_ctx *ctx = world_get_ctx(a->w, id);
	const struct world_node *node;
	const struct world_image *image;
	const struct world_thread *thread;
	const struct world_process *process;
	const struct world_cgroup *cgroup;
	const struct world_gpu *gpu;
	struct archive_place where = { 0 };
	struct row *r = &a->row;
	struct row_part *kept;
	uint32_t whose;
	uint64_t at;

	ctx = ctx ? ctx : &nobody;
	node = world_get_node(a->w, ctx->node);
	image = world_get_image(a->w, ctx->image);
	thread = world_get_thread(a->w, ctx->thread);
	whose = image ? image->process : thread ? thread->process : 0;
	process = world_get_process(a->w, whose);
	cgroup = world_get_cgroup(a->w, ctx->cgroup);
	gpu = world_get_gpu(a->w, ctx->gpu);
	c->pid = process ? process->tgid : 0;
	c->tid = thread ? thread->tid : 0;
	c->gpu = gpu ? gpu->index : 0;
	c->cgroup = cgroup ? (int64_t)cgroup->id : 0;
	c->node_name = node ? node->name : 0;
	if (process && map_get(&a->places, whose, &at))
		where = a->place.v[at - 1];
	row_begin(r);
	add_clean(r, world_text(a->w, c->node_name));
	for (unsigned i = 0; i < 3; i++) {
		uint32_t v = i == 0 ? where.rank : i == 1 ? where.local_rank : where.world_size;

		if (where.present >> i & 1)
			row_int(r, v);
		else
			row_null(r);
	}
	add_clean(r, world_text(a->w, thread && thread->comm ? thread->comm
				      : image		     ? image->comm
							     : 0));
	row_text(r, bytes_of(""));
	row_int(r, c->cgroup);
	kept = arena_alloc(&a->parts, sizeof(*kept) + r->head_n + r->body_n);
	if (!kept)
		return err_nomem(e);
	kept->head_n = r->head_n;
	kept->body_n = r->body_n;
	memcpy(kept->bytes, r->head, r->head_n);
	memcpy(kept->bytes + r->head_n, r->body, r->body_n);
	c->part = kept;
	return 0;
}

const struct ctx_row *archive_ctx(struct archive_writer *a, uint32_t ctx, struct err *e)
{
	if (ctx >= a->ctxs.n) {
		size_t more = ctx + 1 - a->ctxs.n;

		if (!vec_reserve(&a->ctxs, more)) {
			err_nomem(e);
			return NULL;
		}
		memset(a->ctxs.v + a->ctxs.n, 0, more * sizeof(*a->ctxs.v));
		a->ctxs.n += more;
	}
	if (!a->ctxs.v[ctx].part && make_ctx(a, ctx, &a->ctxs.v[ctx], e))
		return NULL;
	return &a->ctxs.v[ctx];
}

void archive_rows_place(struct archive_writer *a, const struct record *r)
{
	struct archive_place p = { r->u.PLACE.rank, r->u.PLACE.local_rank, r->u.PLACE.world_size,
				   0 };

	p.present = (uint32_t)(REC_HAS(r, PLACE, rank) | REC_HAS(r, PLACE, local_rank) << 1 |
			       REC_HAS(r, PLACE, world_size) << 2);
	if (!p.present || !vec_push(&a->place, p))
		return;
	map_put(&a->places, r->u.PLACE.process, a->place.n);
	/* Rows from here on say it. */
	for (size_t i = 0; i < a->ctxs.n; i++)
		a->ctxs.v[i].part = NULL;
}

/* ---- rows ---- */

static int end_leaf(struct archive_writer *a, struct err *e)
{
	struct table_leaf leaf = { 0, a->events };
	int rc;

	page_end(&a->leaf, 0);
	rc = page_file_put(&a->spool, a->leaf.p, &leaf.page, e);
	if (!rc && !vec_push(&a->leaves.v, leaf))
		rc = err_nomem(e);
	page_begin(&a->leaf, PAGE_TABLE);
	return rc;
}

int archive_rows_end(struct archive_writer *a, struct err *e)
{
	int rc = a->leaf.cells ? end_leaf(a, e) : 0;

	return rc ? rc : page_file_flush(&a->spool, e);
}

/* "{node}:{number}" */
static int add_id(struct archive_writer *a, const struct ctx_row *c, struct err *e)
{
	struct bytes name = world_text(a->w, c->node_name);
	char text[ROW_TEXT_MAX + 32], digits[24];
	size_t n;
	int len;

	if (c->node_name >= a->numbers.n) {
		size_t more = c->node_name + 1 - a->numbers.n;

		if (!vec_reserve(&a->numbers, more))
			return err_nomem(e);
		memset(a->numbers.v + a->numbers.n, 0, more * sizeof(uint64_t));
		a->numbers.n += more;
	}
	if (!name.n)
		name = bytes_of("unknown");
	len = snprintf(digits, sizeof(digits), ":%llu",
		       (unsigned long long)++a->numbers.v[c->node_name]);
	/* What is cut or no UTF-8 there is so here: an id is short. */
	n = name.n < 64 ? name.n : 64;
	for (size_t i = 0; i < n; i++)
		text[i] = (unsigned char)name.p[i] < 0x80 && name.p[i] ? name.p[i] : '?';
	memcpy(text + n, digits, (size_t)len);
	row_text(&a->row, (struct bytes){ text, n + (size_t)len });
	return 0;
}

static int add_site(struct archive_writer *a, struct archive_code code, uint32_t stack,
		    struct err *e)
{
	uint64_t key = (uint64_t)stack << 32 | (uint64_t)code.source << 16 | (uint64_t)code.op, at;

	if (!map_get(&a->site_by, key, &at)) {
		at = a->site.n;
		if (!vec_push(&a->site, (struct archive_site){ code, stack }) ||
		    !map_put(&a->site_by, key, at))
			return err_nomem(e);
	}
	return keys_add_u32(&a->sites, (uint32_t)at, e);
}

static int add_more(struct archive_writer *a, const struct op_plan *p, const struct event *ev,
		    struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < p->nmore && !rc; i++) {
		unsigned x = p->more[i];

		if (!(ev->present >> x & 1))
			continue;
		sqlite3_bind_int64(a->more_to, 1, (int64_t)a->events);
		sqlite3_bind_int(a->more_to, 2, p->def->cols[x]);
		sqlite3_bind_int64(a->more_to, 3, (int64_t)ev->x[x]);
		rc = archive_step(a, a->more_to, e);
	}
	return rc;
}

static uint32_t child_of(struct archive_writer *a, const struct op_plan *p, const struct event *ev)
{
	const struct world_thread *child;
	uint64_t id;

	if (ev->op != OP_PROC_FORK || !event_get(ev, p->def, COL_CHILD, &id))
		return 0;
	child = world_get_thread(a->w, (uint32_t)id);
	return child ? child->tid : 0;
}

static int put_row(struct archive_writer *a, struct err *e)
{
	uint8_t head[18], *cell;
	unsigned bytes = row_bytes(&a->row), n = archive_varint_put(head, bytes);

	n += archive_varint_put(head + n, a->events);
	cell = page_cell(&a->leaf, n + bytes);
	if (!cell) {
		int rc;

		a->events--; /* the leaf ends before this one */
		rc = end_leaf(a, e);
		a->events++;
		if (rc)
			return rc;
		cell = page_cell(&a->leaf, n + bytes);
	}
	memcpy(cell, head, n);
	row_put(&a->row, cell + n);
	return 0;
}

int archive_rows_add(struct archive_writer *a, const struct event *ev, struct err *e)
{
	struct op_plan *p = a->plans[ev->op] ? a->plans[ev->op] : plan_of(a, ev, e);
	const struct ctx_row *c = p ? archive_ctx(a, ev->ctx, e) : NULL;
	int64_t start_ns = event_start(ev), utc, end_utc, minute, hash;
	struct archive_code code;
	struct archive_args args;
	struct row *r = &a->row;
	int rc;

	if (!c)
		return e->code;
	if (a->events >= UINT32_MAX - 1)
		return err_set(e, ERR_LIMIT, "an archive holds at most 4 billion events");
	code = p->by_write ? archive_code_of(ev, p->def) : p->code;
	args = archive_args_of(ev, p->def, child_of(a, p, ev));
	end_utc = archive_utc(a, ev->end_ns);
	utc = p->starts ? archive_utc(a, start_ns) : end_utc;
	hash = archive_stack_hash(a, ev->stack);
	a->first_ns = a->events == 0 || ev->end_ns < a->first_ns ? ev->end_ns : a->first_ns;
	a->last_ns = a->events == 0 || ev->end_ns > a->last_ns ? ev->end_ns : a->last_ns;
	a->events++;
	row_begin(r);
	rc = add_id(a, c, e);
	row_int(r, utc);
	row_int(r, c->pid);
	row_int(r, c->tid);
	row_int(r, code.source);
	row_int(r, code.op);
	row_int(r, (int64_t)ev->dur_ns);
	row_int(r, c->gpu);
	row_int(r, (int64_t)args.v[0]);
	row_int(r, (int64_t)args.v[1]);
	row_int(r, ev->ret);
	row_int(r, hash);
	row_add(r, c->part);
	row_null(r); /* seq is the row's own number */
	row_int(r, start_ns);
	row_int(r, ev->end_ns);
	row_int(r, ev->depth);
	row_int(r, ev->ctx);
	row_int(r, ev->stack);
	for (unsigned i = 0; i < p->n; i++) {
		row_nulls(r, p->cols[i].nulls);
		if (ev->present >> p->cols[i].x & 1)
			row_int(r, (int64_t)ev->x[p->cols[i].x]);
		else
			row_null(r);
	}
	minute = end_utc / MINUTE_NS;
	if ((!a->minutes.n || minute > a->minutes.v[a->minutes.n - 1].minute) &&
	    !vec_push(&a->minutes, (struct archive_minute){ minute, a->events }))
		rc = err_nomem(e);
	if (!rc)
		rc = put_row(a, e);
	if (!rc)
		rc = keys_add_i64(&a->times, utc, e);
	if (!rc)
		rc = keys_add_u32(&a->ctx_ids, ev->ctx, e);
	if (!rc)
		rc = add_site(a, code, ev->stack, e);
	if (!rc && p->nmore)
		rc = add_more(a, p, ev, e);
	return rc ? rc
		  : archive_sums_add(a, utc, end_utc, code, c->pid, ev->dur_ns,
				     p->adds ? args.v[0] : 0, e);
}

void archive_rows_free(struct archive_writer *a)
{
	for (size_t i = 0; i < 65536; i++)
		free(a->plans[i]);
	sqlite3_finalize(a->more_to);
	vec_free(&a->ctxs);
	map_free(&a->places);
	vec_free(&a->place);
	arena_free(&a->parts);
	vec_free(&a->numbers);
	vec_free(&a->hashes);
	vec_free(&a->hashed);
	if (a->spool.fd > 0)
		close(a->spool.fd);
	page_file_free(&a->spool);
	vec_free(&a->leaves.v);
	keys_free(&a->times);
	keys_free(&a->ctx_ids);
	keys_free(&a->sites);
	map_free(&a->site_by);
	vec_free(&a->site);
	vec_free(&a->minutes);
}

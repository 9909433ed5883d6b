/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes stacks into the archive in two forms: ours, from which the recording can be restored, and
 * the Go agent's, which is text. A stack's hash is that of its text, so that it is the same in all
 * recordings; only stacks that something refers to are written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/archive/archive_internal.h"
#include "lib/base/jsonw.h"

#define FNV_BASIS 0xcbf29ce484222325
#define FNV_PRIME 0x100000001b3

static void fnv_bytes(uint64_t *h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*h = (*h ^ ((const uint8_t *)p)[i]) * FNV_PRIME;
}

/* Hashes a text and a zero byte, which separates it from the next. */
static void fnv_text(uint64_t *h, struct bytes text)
{
	fnv_bytes(h, text.p, text.n);
	fnv_bytes(h, "", 1);
}

/* As the Go agent makes it: of what a reader sees, so that it is the same in all recordings. */
static uint64_t hash_stack(const struct archive_writer *a, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(a->w, stack, &n);
	uint64_t named = FNV_BASIS, raw = FNV_BASIS;
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(a->w, frames[i]);
		const struct world_symbol *s = world_get_symbol(a->w, frames[i]);
		const struct world_module *m = f ? world_get_module(a->w, f->module) : NULL;
		bool python = f && f->kind == FRAME_PYTHON;
		struct bytes none = { NULL, 0 };
		uint32_t line = 0;
		char text[32] = "";

		if (!f)
			continue;
		if (python)
			line = (uint32_t)f->offset;
		fnv_bytes(&raw, &f->offset, 8);
		if (!s && !python && !f->name && !(m && m->path))
			continue;
		any = true;
		if (s) {
			struct bytes name = world_text(a->w, s->name);

			fnv_bytes(&named, name.p, name.n);
			snprintf(text, sizeof(text), "+0x%llx", (unsigned long long)s->delta);
		}
		fnv_text(&named, bytes_of(text));
		fnv_text(&named, m ? bytes_file_name(world_text(a->w, m->path)) : none);
		fnv_text(&named, world_text(a->w, f->file));
		fnv_text(&named, world_text(a->w, f->name));
		fnv_bytes(&named, &line, 4);
	}
	raw = any ? named : raw;
	return raw ? raw : 1; /* 0 is no stack */
}

int64_t archive_stack_hash(struct archive_writer *a, uint32_t stack)
{
	if (!stack)
		return 0;
	if (stack >= a->hashes.n) {
		size_t more = stack + 1 - a->hashes.n;

		if (!vec_reserve(&a->hashes, more) || !vec_reserve(&a->hashed, more))
			return (int64_t)hash_stack(a, stack);
		memset(a->hashed.v + a->hashed.n, 0, more);
		a->hashes.n = a->hashed.n = stack + 1;
	}
	/* Names may arrive later, but a stack keeps the hash it first had. */
	if (!a->hashed.v[stack]) {
		a->hashes.v[stack] = (int64_t)hash_stack(a, stack);
		a->hashed.v[stack] = 1;
	}
	return a->hashes.v[stack];
}

/* The Go agent's texts of a stack. Frames without any name are left out of `frames`; ips is empty
 * if others have one. */
static void texts_of_stack(const struct archive_writer *a, uint32_t stack, struct buf *ips,
			   struct buf *frames)
{
	unsigned n, said = 0;
	const uint32_t *of = world_get_stack(a->w, stack, &n);
	struct jsonw wi, wf;
	struct buf symbol = { 0 };

	jsonw_init(&wi, ips, false);
	jsonw_init(&wf, frames, false);
	jsonw_array_begin(&wi);
	jsonw_array_begin(&wf);
	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(a->w, of[i]);
		const struct world_symbol *s = world_get_symbol(a->w, of[i]);
		const struct world_module *m = f ? world_get_module(a->w, f->module) : NULL;

		if (!f)
			continue;
		jsonw_hex(&wi, f->offset);
		if (!s && !f->name && !(m && m->path))
			continue;
		said++;
		jsonw_object_begin(&wf);
		if (!s && !f->name) {
			jsonw_key(&wf, "i");
			jsonw_hex(&wf, f->offset);
		}
		if (s) {
			buf_reset(&symbol);
			buf_add(&symbol, world_text(a->w, s->name).p, world_text(a->w, s->name).n);
			buf_printf(&symbol, "+0x%llx", (unsigned long long)s->delta);
			jsonw_key_bytes(&wf, "s", buf_bytes(&symbol));
		}
		if (m && m->path)
			jsonw_key_bytes(&wf, "f", bytes_file_name(world_text(a->w, m->path)));
		if (f->name)
			jsonw_key_bytes(&wf, "pfn", world_text(a->w, f->name));
		if (f->file)
			jsonw_key_bytes(&wf, "pf", world_text(a->w, f->file));
		if (f->kind == FRAME_PYTHON && f->offset)
			jsonw_key_u64(&wf, "pl", f->offset);
		jsonw_object_end(&wf);
	}
	jsonw_array_end(&wi);
	jsonw_array_end(&wf);
	if (said)
		buf_reset(ips);
	else
		buf_reset(frames);
	buf_free(&symbol);
}

static int write_stack(struct archive_writer *a, sqlite3_stmt *one, sqlite3_stmt *text,
		       uint32_t stack, struct err *e)
{
	unsigned n;
	const uint32_t *of = world_get_stack(a->w, stack, &n);
	struct buf ids = { 0 }, ips = { 0 }, frames = { 0 };
	int rc;

	for (unsigned i = 0; i < n; i++)
		buf_printf(&ids, "%c%u", i ? ',' : '[', of[i]);
	buf_puts(&ids, n ? "]" : "[]");
	texts_of_stack(a, stack, &ips, &frames);
	sqlite3_bind_int64(one, 1, stack);
	sqlite3_bind_int64(one, 2, archive_stack_hash(a, stack));
	archive_bind_text(one, 3, buf_bytes(&ids));
	sqlite3_bind_int64(one, 4, world_stack_end(a->w, stack));
	rc = ids.failed || ips.failed || frames.failed ? err_nomem(e) : archive_step(a, one, e);
	sqlite3_bind_int64(text, 1, archive_stack_hash(a, stack));
	archive_bind_text(text, 2, buf_bytes(&ips));
	archive_bind_text(text, 3, buf_bytes(&frames));
	if (!rc)
		rc = archive_step(a, text, e);
	buf_free(&ids);
	buf_free(&ips);
	buf_free(&frames);
	return rc;
}

/* Those of the rows that stay, and of records. */
static int mark_stacks(struct archive_writer *a, uint8_t *used, uint32_t n, struct err *e)
{
	const uint32_t *site = a->sites.v;
	sqlite3_stmt *s = NULL;
	int rc = archive_prepare(a, &s,
				 "SELECT stack FROM open_records WHERE stack > 0 UNION "
				 "SELECT stack FROM asleep_records WHERE stack > 0",
				 e),
	    step = SQLITE_DONE;

	for (size_t i = a->left_out_rows; i < a->sites.n; i++) {
		uint32_t stack = a->site.v[site[i]].stack;

		if (stack <= n)
			used[stack] = 1;
	}
	while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t stack = sqlite3_column_int64(s, 0);

		if (stack <= n)
			used[stack] = 1;
	}
	if (step != SQLITE_DONE)
		rc = archive_failed(a, e);
	sqlite3_finalize(s);
	return rc;
}

int archive_stacks_write(struct archive_writer *a, struct err *e)
{
	uint32_t n = world_count(a->w, WORLD_STACK);
	uint8_t *used = calloc((size_t)n + 1, 1);
	sqlite3_stmt *one = NULL, *text = NULL;
	int rc = used ? mark_stacks(a, used, n, e) : err_nomem(e);

	rc = rc ? rc : archive_prepare(a, &one, "INSERT INTO stacks VALUES (?,?,?,?)", e);
	rc = rc ? rc
		: archive_prepare(a, &text, "INSERT OR IGNORE INTO stack_traces VALUES (?,?,?)", e);
	for (uint32_t id = 1; !rc && id <= n; id++) {
		if (used[id])
			rc = write_stack(a, one, text, id, e);
	}
	sqlite3_finalize(one);
	sqlite3_finalize(text);
	free(used);
	return rc;
}

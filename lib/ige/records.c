/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts records to columns and back by the field table of formats/records.def: no kind is named
 * here, so a new kind needs a row of that table and nothing else.
 */
#include "lib/ige/records.h"

#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/writer.h"

#define RECORDS_MAX 4096       /* records of one block */
#define BLOCK_BYTES (1u << 20) /* and about so many bytes of them */

static const void *field_value(const struct record *r, const struct record_field *f)
{
	return (const char *)&r->u + f->offset;
}

static uint64_t get_number(const struct record *r, const struct record_field *f)
{
	int64_t i;
	uint64_t u;
	uint32_t u32;

	switch (f->type) {
	case REC_I64:
		memcpy(&i, field_value(r, f), sizeof(i));
		return zigzag(i);
	case REC_U32:
		memcpy(&u32, field_value(r, f), sizeof(u32));
		return u32;
	default: /* a double's bits travel as a number */
		memcpy(&u, field_value(r, f), sizeof(u));
		return u;
	}
}

static void set_number(struct record *r, const struct record_field *f, uint64_t v)
{
	char *at = (char *)&r->u + f->offset;
	int64_t i = unzigzag(v);
	uint32_t u32 = (uint32_t)v;

	switch (f->type) {
	case REC_I64:
		memcpy(at, &i, sizeof(i));
		break;
	case REC_U32:
		memcpy(at, &u32, sizeof(u32));
		break;
	default:
		memcpy(at, &v, sizeof(v));
	}
}

static int seal_text(struct ige_builder *b, uint16_t id, const struct record *r, size_t n,
		     const struct record_field *f, struct err *e)
{
	struct ige_directory d = { .id = id, .encoding = IGE_TEXT, .width = 1 };
	struct buf lengths = { 0 }, bytes = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		struct bytes text;
		unsigned char len[4];

		if (!record_has(&r[i], f->number))
			continue;
		memcpy(&text, field_value(&r[i], f), sizeof(text));
		le_put(len, 4, text.n);
		buf_add(&lengths, len, 4);
		buf_add(&bytes, text.p, text.n);
		d.count++;
	}
	buf_add(&lengths, bytes.p, bytes.n);
	if (lengths.failed || bytes.failed)
		rc = err_nomem(e);
	else
		ige_builder_column(b, d, lengths.p, lengths.n);
	buf_free(&lengths);
	buf_free(&bytes);
	return rc;
}

static int seal_field(struct ige_builder *b, uint16_t id, const struct record *r, size_t n,
		      const struct record_field *f, struct ige_dict_writer *dict, struct err *e)
{
	struct ige_directory presence = { .id = id | IGE_PRESENCE,
					  .encoding = IGE_RAW,
					  .width = 1 };
	int kind = ige_record_role_kind(f->role), rc = 0;
	unsigned char *bits = calloc(1, n / 8 + 1);
	VEC(uint64_t) values = { 0 };
	size_t there = 0;

	if (!bits || !vec_reserve(&values, n)) {
		rc = err_nomem(e);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		if (!record_has(&r[i], f->number))
			continue;
		bits[i / 8] |= (unsigned char)(1u << i % 8);
		there++;
		if (f->type == REC_TEXT)
			continue;
		values.v[values.n] = get_number(&r[i], f);
		if (kind >= 0) {
			if (!dict) {
				rc = err_set(e, ERR_USAGE, "record field %s refers to a subject",
					     f->name);
				goto out;
			}
			values.v[values.n] = ige_dict_id(dict, (enum world_kind)kind,
							 (uint32_t)values.v[values.n]);
		}
		values.n++;
	}
	if (!there)
		goto out;
	if (there < n) {
		presence.count = (uint32_t)((n + 7) / 8);
		ige_builder_column(b, presence, bits, (n + 7) / 8);
	}
	if (f->type == REC_TEXT)
		rc = seal_text(b, id, r, n, f, e);
	else
		ige_builder_integers(b, id, values.v, values.n);
out:
	free(bits);
	vec_free(&values);
	return rc;
}

int ige_records_seal(const struct record *r, size_t n, struct ige_dict_writer *dict,
		     struct ige_builder *b, struct ige_header *h, struct buf *out, struct err *e)
{
	const struct record_def *def = record_builtin(r[0].kind);
	int rc = 0;

	if (!def)
		return err_set(e, ERR_USAGE, "record kind %u is not known", r[0].kind);
	for (unsigned i = 0; i < def->nfields && !rc; i++)
		rc = seal_field(b, (uint16_t)(def->kind << 8 | def->fields[i].number), r, n,
				&def->fields[i], dict, e);
	if (!rc && !b->ncol)
		rc = err_set(e, ERR_USAGE, "a %s record without fields", def->name);
	h->type = IGE_RECORDS;
	h->n = (uint32_t)n;
	if (def->critical)
		h->flags |= IGE_CRITICAL;
	if (!rc)
		rc = ige_builder_seal(b, h, out, e);
	ige_builder_reset(b);
	return rc;
}

uint16_t ige_records_kind(const struct ige_view *v)
{
	struct ige_columns columns;
	struct ige_directory d;
	const unsigned char *data;

	ige_columns_begin(&columns, v);
	if (!ige_columns_next(&columns, &d, &data))
		return 0;
	return (d.id & ~IGE_PRESENCE) >> 8;
}

void ige_record_list_free(struct ige_record_list *l)
{
	vec_free(&l->list);
	vec_free(&l->values);
	arena_free(&l->texts);
}

/* The next row from *at on whose bit is set; n when there is none. bits NULL: every row. */
static uint32_t next_row(const unsigned char *bits, uint32_t nbits, uint32_t at, uint32_t n)
{
	while (at < n && bits && (at >= nbits || !(bits[at / 8] >> at % 8 & 1)))
		at++;
	return at;
}

static int decode_text(struct ige_record_list *l, const struct ige_directory *d,
		       const unsigned char *data, const struct record_field *f,
		       const unsigned char *bits, uint32_t nbits, struct err *e)
{
	struct buf scratch = { 0 };
	const unsigned char *p;
	size_t n, at;
	uint32_t row = 0, rows = (uint32_t)l->list.n;
	int rc = ige_column_bytes(d, data, &scratch, &p, &n, e);

	if (!rc &&
	    (d->encoding != IGE_TEXT || d->count > IGE_EVENTS_MAX || (size_t)d->count * 4 > n))
		rc = err_set(e, ERR_DAMAGED, "column %u: %u texts in %zu bytes", d->id, d->count,
			     n);
	at = (size_t)d->count * 4;
	for (uint32_t i = 0; !rc && i < d->count; i++, row++) {
		size_t len = le_get(p + (size_t)i * 4, 4);
		struct bytes text = { (const char *)p + at, len };

		if (len > n - at) {
			rc = err_set(e, ERR_DAMAGED, "column %u: text %u leaves it", d->id, i);
			break;
		}
		at += len;
		row = next_row(bits, nbits, row, rows);
		if (row == rows)
			break;
		text.p = arena_copy(&l->texts, text.p, len);
		if (!text.p) {
			rc = err_nomem(e);
			break;
		}
		memcpy((char *)&l->list.v[row].u + f->offset, &text, sizeof(text));
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): fields are
		 * numbered from 1 */
		l->list.v[row].present |= 1u << (f->number - 1);
	}
	buf_free(&scratch);
	return rc;
}

static int decode_numbers(struct ige_record_list *l, const struct ige_directory *d,
			  const unsigned char *data, const struct record_field *f,
			  const unsigned char *bits, uint32_t nbits, struct ige_dict_reader *dict,
			  struct err *e)
{
	int kind = ige_record_role_kind(f->role), rc;
	uint32_t row = 0, rows = (uint32_t)l->list.n;

	if (d->count > rows)
		return err_set(e, ERR_DAMAGED, "column %u: %u values for %u records", d->id,
			       d->count, rows);
	l->values.n = 0;
	if (!vec_reserve(&l->values, d->count + IGE_ROOM))
		return err_nomem(e);
	rc = ige_column_integers(d, data, l->values.v, e);
	for (uint32_t i = 0; !rc && i < d->count; i++, row++) {
		uint64_t v = l->values.v[i];

		row = next_row(bits, nbits, row, rows);
		if (row == rows)
			break;
		if (kind >= 0)
			v = ige_dict_world_id(dict, (enum world_kind)kind, v);
		set_number(&l->list.v[row], f, v);
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): fields are
		 * numbered from 1 */
		l->list.v[row].present |= 1u << (f->number - 1);
	}
	return rc;
}

int ige_records_decode(struct ige_record_list *l, const struct ige_view *v,
		       struct ige_dict_reader *dict, bool *partial, struct err *e)
{
	uint16_t kind = ige_records_kind(v);
	const struct record_def *def = record_builtin(kind);
	struct ige_columns columns;
	struct ige_directory d;
	const unsigned char *bits = NULL, *data;
	uint32_t nbits = 0;
	uint16_t bits_of = 0;

	l->list.n = 0;
	*partial = false;
	arena_free(&l->texts);
	if (!def)
		return err_set(e, v->header.flags & IGE_CRITICAL ? ERR_TOO_NEW : ERR_CANNOT,
			       "record kind %u", kind);
	if (!vec_reserve(&l->list, v->header.n))
		return err_nomem(e);
	for (; l->list.n < v->header.n; l->list.n++)
		l->list.v[l->list.n] = (struct record){ .kind = kind };
	ige_columns_begin(&columns, v);
	while (ige_columns_next(&columns, &d, &data)) {
		unsigned number;
		const struct record_field *f = NULL;
		int rc;

		if (d.id & IGE_PRESENCE) {
			struct buf none = { 0 };
			size_t n = 0;

			bits_of = d.id & (uint16_t)~IGE_PRESENCE;
			rc = d.compressor == IGE_STORED && d.encoding == IGE_RAW
				     ? ige_column_bytes(&d, data, &none, &bits, &n, e)
				     : ERR_TOO_NEW;
			buf_free(&none);
			nbits = (uint32_t)n * 8;
			if (rc) {
				*partial |= rc != ERR_TOO_NEW;
				bits = (const unsigned char *)"";
				nbits = 0;
			}
			if (rc == ERR_TOO_NEW && d.critical)
				return rc;
			continue;
		}
		number = d.id & 0xff;
		for (unsigned k = 0; k < def->nfields; k++)
			if (def->fields[k].number == number && d.id >> 8 == kind)
				f = &def->fields[k];
		if (!f) {
			if (d.critical)
				return err_set(e, ERR_TOO_NEW, "field %u of record %s", number,
					       def->name);
			continue;
		}
		if (bits_of != d.id)
			bits = NULL;
		if (f->type == REC_TEXT)
			rc = decode_text(l, &d, data, f, bits, nbits, e);
		else
			rc = decode_numbers(l, &d, data, f, bits, nbits, dict, e);
		if (rc == ERR_NOMEM || (rc == ERR_TOO_NEW && d.critical))
			return rc;
		if (rc && rc != ERR_TOO_NEW)
			*partial = true;
	}
	return 0;
}

size_t ige_record_bytes(const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	size_t n = 9 * 32;

	for (unsigned i = 0; def && i < def->nfields; i++) {
		struct bytes text;

		if (def->fields[i].type != REC_TEXT || !record_has(r, def->fields[i].number))
			continue;
		memcpy(&text, field_value(r, &def->fields[i]), sizeof(text));
		n += text.n;
	}
	return n;
}

size_t ige_records_fit(const struct record *r, size_t n)
{
	size_t bytes = 0, i;

	for (i = 0; i < n && i < RECORDS_MAX && r[i].kind == r[0].kind; i++) {
		bytes += ige_record_bytes(&r[i]);
		if (i && bytes > BLOCK_BYTES)
			break;
	}
	return i;
}

int ige_encode_records(struct buf *out, const struct record *r, size_t n, uint64_t seq,
		       int64_t time_ns, struct err *e)
{
	struct ige_builder b = { 0 };
	int rc = 0;

	for (size_t many; n && !rc; r += many, n -= many) {
		struct ige_header h = { .flags = IGE_FOREIGN,
					.seq = seq,
					.end_min = time_ns,
					.end_max = time_ns,
					.start_min = time_ns,
					.start_floor_us = IGE_FLOOR_UNKNOWN };

		many = ige_records_fit(r, n);
		rc = ige_record_bytes(r) > IGE_RECORD_BYTES_MAX
			     ? err_set(e, ERR_LIMIT, "a record of %zu bytes", ige_record_bytes(r))
			     : ige_records_seal(r, many, NULL, &b, &h, out, e);
	}
	ige_builder_free(&b);
	return rc;
}

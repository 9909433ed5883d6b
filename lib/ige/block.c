/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and unpacks the headers and directories of blocks. Everything read is checked: limits,
 * checksum, values. */
#include "lib/ige/block.h"

#include <string.h>

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"

void ige_segment_pack(const struct ige_segment *s, unsigned char out[IGE_SEGMENT_BYTES])
{
	memset(out, 0, IGE_SEGMENT_BYTES);
	memcpy(out, IGE_SEGMENT_MAGIC, 8);
	le_put(out + 8, 2, s->major);
	le_put(out + 10, 2, s->minor);
	le_put(out + 12, 4, IGE_SEGMENT_BYTES);
	le_put(out + 16, 4, s->flags);
	le_put(out + 20, 4, s->time_unit_ns);
	memcpy(out + 24, s->node_uuid, 16);
	le_put(out + 40, 8, s->boot);
	le_put(out + 48, 8, (uint64_t)s->real_minus_mono_ns);
	le_put(out + 56, 4, s->clock_id);
	memcpy(out + 64, s->id, 16);
	/* The checksum covers the whole header with its own four bytes as zero. */
	le_put(out + 60, 4, crc_bytes(0, out, IGE_SEGMENT_BYTES));
}

int ige_segment_unpack(struct ige_segment *s, const unsigned char in[IGE_SEGMENT_BYTES],
		       struct err *e)
{
	unsigned char copy[IGE_SEGMENT_BYTES];

	memcpy(copy, in, sizeof(copy));
	le_put(copy + 60, 4, 0);
	if (memcmp(in, IGE_SEGMENT_MAGIC, 8) != 0 ||
	    crc_bytes(0, copy, sizeof(copy)) != (uint32_t)le_get(in + 60, 4))
		return err_set(e, ERR_DAMAGED, "segment header: checksum does not match");
	s->major = (uint16_t)le_get(in + 8, 2);
	s->minor = (uint16_t)le_get(in + 10, 2);
	if (s->major == 0)
		return err_set(e, ERR_DAMAGED, "segment header: version 0");
	if (s->major > IGE_MAJOR)
		return err_set(e, ERR_TOO_NEW, "format version %u.%u, this program reads up to %u",
			       s->major, s->minor, IGE_MAJOR);
	if (le_get(in + 12, 4) != IGE_SEGMENT_BYTES)
		return err_set(e, ERR_DAMAGED, "segment header: length is not %u",
			       IGE_SEGMENT_BYTES);
	s->flags = (uint32_t)le_get(in + 16, 4);
	s->time_unit_ns = (uint32_t)le_get(in + 20, 4);
	memcpy(s->node_uuid, in + 24, 16);
	s->boot = le_get(in + 40, 8);
	s->real_minus_mono_ns = (int64_t)le_get(in + 48, 8);
	s->clock_id = (uint32_t)le_get(in + 56, 4);
	memcpy(s->id, in + 64, 16);
	if (s->flags & IGE_SEGMENT_CRITICAL)
		return err_set(e, ERR_TOO_NEW, "segment flags %x", s->flags);
	if (s->time_unit_ns != 1)
		return err_set(e, ERR_TOO_NEW, "time unit of %u ns, this program reads 1",
			       s->time_unit_ns);
	return 0;
}

uint32_t ige_segment_tag(const struct ige_segment *s)
{
	return (uint32_t)le_get(s->id, 4);
}

void ige_header_pack(const struct ige_header *h, unsigned char out[IGE_BLOCK_BYTES])
{
	le_put(out, 4, IGE_BLOCK_MAGIC);
	out[4] = h->type;
	out[5] = h->flags;
	le_put(out + 6, 2, h->ncol);
	le_put(out + 8, 4, h->length);
	le_put(out + 12, 4, h->n);
	le_put(out + 16, 8, h->seq);
	le_put(out + 24, 8, (uint64_t)h->end_min);
	le_put(out + 32, 8, (uint64_t)h->end_max);
	le_put(out + 40, 8, (uint64_t)h->start_min);
	le_put(out + 48, 4, h->lost);
	le_put(out + 52, 4, h->start_floor_us);
	le_put(out + 56, 4, h->directory_crc);
	le_put(out + 60, 4, crc_bytes(0, out, 60));
}

/* INT64_MIN stands for a time that is not known. */
static bool time_fits(int64_t t)
{
	return t == INT64_MIN || (t > -IGE_TIME_MAX && t < IGE_TIME_MAX);
}

int ige_header_unpack(struct ige_header *h, const unsigned char in[IGE_BLOCK_BYTES], struct err *e)
{
	if (le_get(in, 4) != IGE_BLOCK_MAGIC ||
	    crc_bytes(0, in, 60) != (uint32_t)le_get(in + 60, 4))
		return err_set(e, ERR_DAMAGED, "block header: checksum does not match");
	h->type = in[4];
	h->flags = in[5];
	h->ncol = (uint16_t)le_get(in + 6, 2);
	h->length = (uint32_t)le_get(in + 8, 4);
	h->n = (uint32_t)le_get(in + 12, 4);
	h->seq = le_get(in + 16, 8);
	h->end_min = (int64_t)le_get(in + 24, 8);
	h->end_max = (int64_t)le_get(in + 32, 8);
	h->start_min = (int64_t)le_get(in + 40, 8);
	h->lost = (uint32_t)le_get(in + 48, 4);
	h->start_floor_us = (uint32_t)le_get(in + 52, 4);
	h->directory_crc = (uint32_t)le_get(in + 56, 4);
	if (h->length < IGE_BLOCK_BYTES || h->length > IGE_LENGTH_MAX || h->length % 8 != 0)
		return err_set(e, ERR_DAMAGED, "block header: length %u", h->length);
	if (h->n > IGE_EVENTS_MAX)
		return err_set(e, ERR_DAMAGED, "block header: %u rows", h->n);
	if (h->ncol > IGE_COLUMNS_MAX ||
	    IGE_BLOCK_BYTES + (uint32_t)h->ncol * IGE_DIRECTORY_BYTES > h->length)
		return err_set(e, ERR_DAMAGED, "block header: %u columns", h->ncol);
	if (!time_fits(h->end_min) || !time_fits(h->end_max) || !time_fits(h->start_min) ||
	    h->end_min > h->end_max || (h->end_min == INT64_MIN) != (h->end_max == INT64_MIN))
		return err_set(e, ERR_DAMAGED, "block header: times");
	return 0;
}

static size_t round_up_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static void directory_unpack(struct ige_directory *d, const unsigned char *in)
{
	d->id = (uint16_t)le_get(in, 2);
	d->encoding = in[2] & 0xf;
	d->compressor = in[2] >> 4;
	d->width = in[3] & 0xf;
	d->reserved = in[3] >> 4 & 7;
	d->critical = in[3] >> 7;
	d->count = (uint32_t)le_get(in + 4, 4);
	d->length = (uint32_t)le_get(in + 8, 4);
	d->crc = (uint32_t)le_get(in + 12, 4);
}

int ige_view_check(const struct ige_view *v, struct err *e)
{
	size_t directory = (size_t)v->header.ncol * IGE_DIRECTORY_BYTES,
	       at = IGE_BLOCK_BYTES + directory;

	if (crc_bytes(0, v->bytes + IGE_BLOCK_BYTES, directory) != v->header.directory_crc)
		return err_set(e, ERR_DAMAGED, "column directory: checksum does not match");
	for (unsigned i = 0; i < v->header.ncol; i++) {
		struct ige_directory d;

		directory_unpack(&d, v->bytes + IGE_BLOCK_BYTES + i * IGE_DIRECTORY_BYTES);
		if (d.length > v->header.length || round_up_8(d.length) > v->header.length - at)
			return err_set(e, ERR_DAMAGED, "column %u leaves its block", d.id);
		/* Padding has no checksum; were it not looked at, the first bytes of what follows a
		 * torn block could stand in its place. */
		for (size_t pad = at + d.length; pad < at + round_up_8(d.length); pad++)
			if (v->bytes[pad])
				return err_set(e, ERR_DAMAGED, "padding of column %u", d.id);
		at += round_up_8(d.length);
	}
	if (at != v->header.length)
		return err_set(e, ERR_DAMAGED, "columns do not fill their block");
	return 0;
}

void ige_columns_begin(struct ige_columns *c, const struct ige_view *v)
{
	c->entry = v->bytes + IGE_BLOCK_BYTES;
	c->entries_end = c->data = c->entry + (size_t)v->header.ncol * IGE_DIRECTORY_BYTES;
}

bool ige_columns_next(struct ige_columns *c, struct ige_directory *d, const unsigned char **data)
{
	if (c->entry == c->entries_end)
		return false;
	directory_unpack(d, c->entry);
	c->entry += IGE_DIRECTORY_BYTES;
	*data = c->data;
	c->data += round_up_8(d->length);
	return true;
}

void ige_builder_reset(struct ige_builder *b)
{
	buf_reset(&b->data);
	buf_reset(&b->directory);
	b->ncol = 0;
}

void ige_builder_free(struct ige_builder *b)
{
	buf_free(&b->data);
	buf_free(&b->directory);
	buf_free(&b->packed);
	buf_free(&b->raw);
	buf_free(&b->deflated);
	vec_free(&b->deltas);
}

void ige_builder_column(struct ige_builder *b, struct ige_directory d, const void *p, size_t n)
{
	unsigned char entry[IGE_DIRECTORY_BYTES];

	le_put(entry, 2, d.id);
	entry[2] = (unsigned char)(d.encoding | d.compressor << 4);
	entry[3] = (unsigned char)(d.width | (d.critical ? 0x80 : 0));
	le_put(entry + 4, 4, d.count);
	le_put(entry + 8, 4, n);
	le_put(entry + 12, 4, crc_bytes(0, p, n));
	buf_add(&b->directory, entry, sizeof(entry));
	buf_add(&b->data, p, n);
	buf_add(&b->data, "\0\0\0\0\0\0\0", round_up_8(n) - n);
	b->ncol++;
}

void ige_builder_add(struct ige_builder *b, const struct ige_builder *other)
{
	buf_add(&b->directory, other->directory.p, other->directory.n);
	buf_add(&b->data, other->data.p, other->data.n);
	b->data.failed |= other->data.failed || other->directory.failed;
	b->ncol += other->ncol;
}

int ige_builder_seal(struct ige_builder *b, struct ige_header *h, struct buf *out, struct err *e)
{
	unsigned char header[IGE_BLOCK_BYTES];
	size_t length = IGE_BLOCK_BYTES + b->directory.n + b->data.n;

	if (b->data.failed || b->directory.failed)
		return err_nomem(e);
	if (length > IGE_LENGTH_MAX)
		return err_set(e, ERR_LIMIT, "block of %zu bytes is over the format's limit",
			       length);
	h->ncol = (uint16_t)b->ncol;
	h->length = (uint32_t)length;
	h->directory_crc = crc_bytes(0, b->directory.p, b->directory.n);
	ige_header_pack(h, header);
	buf_add(out, header, sizeof(header));
	buf_add(out, b->directory.p, b->directory.n);
	buf_add(out, b->data.p, b->data.n);
	return out->failed ? err_nomem(e) : 0;
}

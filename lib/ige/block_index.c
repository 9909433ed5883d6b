/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the place of every block in a file: from its end, segment by segment, as long as valid
 * indexes are found; the part in front of them is walked from header to header.
 */
#include "lib/ige/block_index.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/ige/index.h"

#define PLACES_MAX (64u << 20)

/* ---- reading places ---- */

static int read_bytes(struct ige_block_index *s, uint64_t offset, void *p, size_t n, struct err *e)
{
	ssize_t got = read_at(s->fd, p, n, (off_t)offset);

	if (got < 0)
		return err_sys(e, "cannot read %s", s->name);
	return (size_t)got == n
		       ? 0
		       : err_set(e, ERR_CANNOT, "%s became shorter while it was read", s->name);
}

static int read_header(struct ige_block_index *s, uint64_t offset, struct ige_header *h,
		       struct err *e)
{
	unsigned char header[IGE_BLOCK_BYTES];
	int rc = read_bytes(s, offset, header, sizeof(header), e);

	if (rc)
		return rc;
	return ige_header_unpack(h, header, NULL) ? err_set(e, ERR_CANNOT, "a header") : 0;
}

int ige_block_index_read(struct ige_block_index *s, uint64_t offset, uint32_t length,
			 struct ige_view *v, struct err *e)
{
	int rc;

	buf_reset(&s->bytes);
	if (!buf_reserve(&s->bytes, length))
		return err_nomem(e);
	rc = read_bytes(s, offset, s->bytes.p, length, e);
	if (rc)
		return rc;
	v->bytes = (const unsigned char *)s->bytes.p;
	if (ige_header_unpack(&v->header, v->bytes, NULL) || v->header.length != length)
		return err_set(e, ERR_DAMAGED, "block header: changed while it was read");
	return 0;
}

/* ---- where the blocks lie ---- */

/* Blocks in the order of the file, and what they share. */
static int add_block(struct ige_block_index *s, const struct ige_place *add, struct err *e)
{
	struct ige_place b = *add;
	struct ige_section *section = s->sections.n ? &s->sections.v[s->sections.n - 1] : NULL;

	/* A second schema begins anew, too; that no producer writes. Reading from the beginning
	 * knows how. */
	if (b.type == IGE_SCHEMA && section && s->list.n != section->first + 1)
		return err_set(e, ERR_CANNOT, "a schema inside a segment");
	if (s->list.n >= PLACES_MAX)
		return err_set(e, ERR_CANNOT, "too many blocks");
	if (!section || b.type == IGE_PLACE_SEGMENT) {
		if (!vec_push(&s->sections, (struct ige_section){ .first = s->list.n }))
			return err_nomem(e);
		section = &s->sections.v[s->sections.n - 1];
	}
	b.section = (uint32_t)s->sections.n - 1;
	section->end = s->list.n + 1;
	return vec_push(&s->list, b) ? 0 : err_nomem(e);
}

static struct ige_place of_header(const struct ige_header *h, uint64_t offset)
{
	return (struct ige_place){ .offset = offset,
				   .ops = UINT64_MAX,
				   .end_min = h->end_min,
				   .end_max = h->end_max,
				   .start_min = h->start_min,
				   .length = h->length,
				   .n = h->n,
				   .lost = h->lost,
				   .type = h->type,
				   .flags = h->flags };
}

/* Whether the header is that of an ordinary block of this segment. Anything else is left to the
 * sequential reader. */
static bool is_plain_block(const struct ige_header *h, uint32_t tag)
{
	if (h->type == IGE_PLACE_SEGMENT || h->type > IGE_TRAILER ||
	    (h->flags & IGE_CRITICAL && h->flags & ~IGE_FLAGS_KNOWN))
		return false;
	if (h->type == IGE_EVENTS && h->n &&
	    (h->end_min == INT64_MIN || h->start_min == INT64_MIN || h->start_min > h->end_max))
		return false;
	return h->flags & IGE_FOREIGN || IGE_SEQ_TAG(h->seq) == tag;
}

/* A segment header at offset; its tag. */
static int read_segment(struct ige_block_index *s, uint64_t offset, uint32_t *tag, struct err *e)
{
	unsigned char header[IGE_SEGMENT_BYTES];
	struct ige_segment segment;
	int rc = s->size - offset < sizeof(header)
			 ? ERR_CANNOT
			 : read_bytes(s, offset, header, sizeof(header), e);

	if (rc)
		return rc;
	if (ige_segment_unpack(&segment, header, NULL))
		return err_set(e, ERR_CANNOT, "no segment header");
	*tag = ige_segment_tag(&segment);
	return 0;
}

static int add_segment(struct ige_block_index *s, uint64_t offset, struct err *e)
{
	struct ige_place b = { .offset = offset,
			       .length = IGE_SEGMENT_BYTES,
			       .type = IGE_PLACE_SEGMENT };

	return add_block(s, &b, e);
}

/* Is there a header in p[0..n) that a reader would go on at? */
static bool any_header(const unsigned char *p, size_t n)
{
	for (size_t at = 1; at + IGE_BLOCK_BYTES <= n; at++) {
		struct ige_header h;

		if (p[at] == 'I' && ige_header_unpack(&h, p + at, NULL) == 0)
			return true;
		if (p[at] == (unsigned char)IGE_SEGMENT_MAGIC[0] && n - at >= 8 &&
		    !memcmp(p + at, IGE_SEGMENT_MAGIC, 8))
			return true;
	}
	return false;
}

/* What stands at the end of the file may be a block that was cut, or one that is being written. */
static int cut_block(struct ige_block_index *s, uint64_t at, struct err *e)
{
	size_t n = (size_t)(s->size - at);
	struct ige_header h;
	bool header;
	int rc;

	if (n >= IGE_LENGTH_MAX)
		return err_set(e, ERR_CANNOT, "not a block header");
	buf_reset(&s->bytes);
	if (!buf_reserve(&s->bytes, n))
		return err_nomem(e);
	rc = read_bytes(s, at, s->bytes.p, n, e);
	if (rc)
		return rc;
	header = n >= IGE_BLOCK_BYTES &&
		 ige_header_unpack(&h, (const unsigned char *)s->bytes.p, NULL) == 0;
	if ((n >= IGE_BLOCK_BYTES && !header) || (header && h.length <= n) ||
	    any_header((const unsigned char *)s->bytes.p, n))
		return err_set(e, ERR_CANNOT, "bytes that have to be looked at");
	s->ending.truncated = true;
	s->ending.skipped_bytes = n;
	s->ending.first_damage = at;
	snprintf(s->ending.first_reason, sizeof(s->ending.first_reason),
		 "the input ends inside a %s", header ? "block" : "header");
	return 0;
}

/* Whether the recording ended cleanly, and if not, whether it is still being written. */
static void look_at_end(struct ige_block_index *s)
{
	for (size_t i = 0; i < s->list.n; i++) {
		const struct ige_place *b = &s->list.v[i];

		if (b->type == IGE_PLACE_SEGMENT)
			s->ending.unterminated = true;
		if (b->type == IGE_EVENTS && b->flags & IGE_LAST)
			s->ending.unterminated = false;
	}
	if (!s->ending.unterminated)
		return;
	if (flock(s->fd, LOCK_SH | LOCK_NB) == 0)
		flock(s->fd, LOCK_UN);
	else if (errno == EWOULDBLOCK)
		s->ending = (struct ige_report){ .unterminated = true, .growing = true };
}

/* From header to header up to end. */
static int walk_blocks(struct ige_block_index *s, uint64_t at, uint64_t end, struct err *e)
{
	uint32_t tag = 0;
	bool inside = false;

	while (at < end) {
		struct ige_header h;
		struct ige_place b;
		int rc = inside && end - at >= IGE_BLOCK_BYTES ? read_header(s, at, &h, e)
							       : ERR_CANNOT;

		if (rc == ERR_CANNOT) {
			rc = read_segment(s, at, &tag, e);
			if (rc == ERR_CANNOT && inside && end == s->size)
				return cut_block(s, at, e);
			if (!rc)
				rc = add_segment(s, at, e);
			if (rc)
				return rc;
			inside = true;
			at += IGE_SEGMENT_BYTES;
			continue;
		}
		if (rc)
			return rc;
		if (is_plain_block(&h, tag) && h.length > end - at && end == s->size)
			return cut_block(s, at, e);
		if (!is_plain_block(&h, tag) || h.length > end - at)
			return err_set(e, ERR_CANNOT, "a block that has to be looked at");
		b = of_header(&h, at);
		rc = add_block(s, &b, e);
		if (rc)
			return rc;
		at += h.length;
	}
	return at == end ? 0 : err_set(e, ERR_CANNOT, "a block across a segment header");
}

/* ---- indexes ---- */

struct part {
	uint64_t from, to;
	uint32_t tag;
	struct ige_index index;
	struct ige_header rest[3]; /* INDEX, TRAILER, and LAST where there is one */
	unsigned nrest;
};

/* The segment that ends at `end` and its index, when there is one and it holds. 1 yes, 0 no. */
static int read_part(struct ige_block_index *s, uint64_t end, struct part *p, struct err *e)
{
	unsigned char bytes[IGE_TRAILER_BYTES + IGE_BLOCK_BYTES];
	const unsigned char *trailer = bytes + IGE_BLOCK_BYTES;
	struct ige_header last;
	struct ige_trailer t;
	struct ige_view v;
	uint64_t at, index_at;
	int rc;

	*p = (struct part){ .to = end };
	if (end < sizeof(bytes) + IGE_SEGMENT_BYTES)
		return 0;
	rc = read_bytes(s, end - sizeof(bytes), bytes, sizeof(bytes), e);
	if (rc)
		return rc;
	at = end - IGE_TRAILER_BYTES;
	p->nrest = 2;
	if (!ige_header_unpack(&last, bytes + IGE_TRAILER_BYTES, NULL) && last.type == IGE_EVENTS &&
	    last.flags & IGE_LAST && last.length == IGE_BLOCK_BYTES) {
		at -= IGE_BLOCK_BYTES;
		trailer = bytes;
		p->rest[p->nrest++] = last;
	}
	if (!ige_trailer_take(&t, trailer) || ige_header_unpack(&p->rest[1], trailer, NULL) ||
	    t.to_segment > at)
		return 0;
	p->from = at - t.to_segment;
	index_at = at - t.to_index;
	if (read_segment(s, p->from, &p->tag, e) || p->tag != t.tag)
		return 0;
	rc = ige_block_index_read(s, index_at, (uint32_t)t.to_index, &v, e);
	if (rc)
		return rc == ERR_DAMAGED ? 0 : rc;
	p->rest[0] = v.header;
	for (unsigned i = 0; i < p->nrest; i++)
		if (!is_plain_block(&p->rest[i], p->tag) || p->rest[i].flags & IGE_FOREIGN)
			return 0;
	if (!ige_index_take(&p->index, &v) || p->index.rows.n != t.rows ||
	    p->from + p->index.offset != index_at)
		return 0;
	/* Every row is held against its block's header: an index that is wrong must cost time, not
	 * events. */
	for (size_t i = 0; i < p->index.rows.n; i++) {
		struct ige_index_row *row = &p->index.rows.v[i];
		struct ige_header h;

		rc = read_header(s, p->from + row->offset, &h, e);
		if (rc)
			return rc == ERR_CANNOT ? 0 : rc;
		if (!ige_index_agrees(row, &h) || !is_plain_block(&h, p->tag))
			return 0;
		row->start_min = h.start_min;
	}
	return 1;
}

static int add_part(struct ige_block_index *s, const struct part *p, struct err *e)
{
	uint64_t at = p->from + p->index.offset;
	int rc = add_segment(s, p->from, e);

	for (size_t i = 0; i < p->index.rows.n && !rc; i++) {
		const struct ige_index_row *row = &p->index.rows.v[i];
		struct ige_place b = { .offset = p->from + row->offset,
				       .ops = row->ops,
				       .end_min = row->end_min,
				       .end_max = row->end_max,
				       .start_min = row->start_min,
				       .length = row->length,
				       .n = row->n,
				       .lost = row->lost,
				       .type = row->type,
				       .flags = row->flags };

		rc = add_block(s, &b, e);
	}
	for (unsigned i = 0; i < p->nrest && !rc; i++) {
		struct ige_place b = of_header(&p->rest[i], at);

		at += p->rest[i].length;
		rc = add_block(s, &b, e);
	}
	s->indexed += p->index.rows.n;
	return rc;
}

int ige_block_index_find(struct ige_block_index *s, struct err *e)
{
	VEC(struct part) parts = { 0 };
	uint64_t end = s->size;
	int64_t reach = INT64_MAX, passed = INT64_MIN;
	int rc = 1;

	while (end && rc > 0) {
		struct part p;

		rc = read_part(s, end, &p, e);
		if (rc > 0 && !vec_push(&parts, p))
			rc = err_nomem(e);
		if (rc > 0)
			end = p.from;
		else
			ige_index_free(&p.index);
	}
	if (rc >= 0)
		rc = walk_blocks(s, 0, end, e);
	for (size_t i = parts.n; i-- > 0; ige_index_free(&parts.v[i].index))
		if (rc >= 0)
			rc = add_part(s, &parts.v[i], e);
	vec_free(&parts);
	if (rc < 0)
		return rc;
	for (size_t i = s->list.n; i-- > 0;) {
		struct ige_place *b = &s->list.v[i];

		if (b->type == IGE_EVENTS && b->n && b->start_min < reach)
			reach = b->start_min;
		b->reach = reach;
	}
	for (size_t i = 0; i < s->list.n; i++) {
		struct ige_place *b = &s->list.v[i];

		if (b->type == IGE_EVENTS && b->n && b->end_max > passed)
			passed = b->end_max;
		b->passed = passed;
	}
	look_at_end(s);
	return 0;
}

void ige_block_index_free(struct ige_block_index *s)
{
	vec_free(&s->list);
	vec_free(&s->sections);
	buf_free(&s->bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the end of the file, segment by segment, as long as indexes are found that hold; what lies in
 * front of the first that does not is walked from header to header. Definitions are read when a block that
 * needs them is, all of its section at once. A section is what shares definitions.
 */
#include "lib/ige/seek.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ige/events.h"
#include "lib/ige/index.h"
#include "lib/ige/records.h"

#define SEGMENT_HEADER 0 /* in the place of a block's type */
#define BLOCKS_MAX     (64u << 20)
#define BATCH	       8192

struct block {
	uint64_t offset; /* in the file */
	uint64_t ops;
	int64_t end_min, end_max, start_min;
	int64_t reach;	/* smallest start of this and all later events blocks */
	int64_t passed; /* greatest end of this and all earlier ones */
	uint32_t length, n, lost, section;
	uint8_t type, flags;
};

struct section {
	struct ige_dict_reader dict;
	size_t first, end; /* blocks */
	bool loaded;
};

struct ige_seek {
	struct world *world;
	int fd;
	char name[160];
	uint64_t size;
	VEC(struct block) blocks;
	VEC(struct section *) sections;
	uint64_t indexed;
	int64_t last_end;
	struct buf bytes; /* of the block being looked at */
	struct ige_decoder decoder;
	struct ige_record_list records;
	struct ige_report report,
		ending; /* of the stream; what is known about the end of the file */
	/* the stream */
	struct event_stream stream;
	size_t at;	   /* next block */
	int64_t window[2]; /* since, until */
	uint64_t ops;
	unsigned what;
	const struct block *events; /* whose events are being given */
	size_t next;		    /* of its events, or of records */
	bool has_records, last;
	struct stream_item skipped;
};

/* ---- reading places ---- */

static int read_at(struct ige_seek *s, uint64_t offset, void *p, size_t n, struct err *e)
{
	for (size_t got = 0; got < n;) {
		ssize_t k = pread(s->fd, (char *)p + got, n - got, (off_t)(offset + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_sys(e, "cannot read %s", s->name);
		if (k == 0)
			return err_set(e, ERR_CANNOT, "%s became shorter while it was read",
				       s->name);
		got += (size_t)k;
	}
	return 0;
}

static int read_header(struct ige_seek *s, uint64_t offset, struct ige_header *h, struct err *e)
{
	unsigned char header[IGE_BLOCK_BYTES];
	int rc = read_at(s, offset, header, sizeof(header), e);

	if (rc)
		return rc;
	return ige_header_unpack(h, header, NULL) ? err_set(e, ERR_CANNOT, "a header") : 0;
}

/* A whole block whose header is the one expected. */
static int read_block(struct ige_seek *s, uint64_t offset, uint32_t length, struct ige_view *v,
		      struct err *e)
{
	int rc;

	buf_reset(&s->bytes);
	if (!buf_reserve(&s->bytes, length))
		return err_nomem(e);
	rc = read_at(s, offset, s->bytes.p, length, e);
	if (rc)
		return rc;
	v->bytes = (const unsigned char *)s->bytes.p;
	if (ige_header_unpack(&v->header, v->bytes, NULL) || v->header.length != length)
		return err_set(e, ERR_DAMAGED, "block header: changed while it was read");
	return 0;
}

/* ---- where the blocks lie ---- */

/* Blocks in the order of the file, and what they share. */
static int add_block(struct ige_seek *s, const struct block *add, struct err *e)
{
	struct block b = *add;
	struct section *section = s->sections.n ? s->sections.v[s->sections.n - 1] : NULL;
	bool begins = !section || b.type == SEGMENT_HEADER;

	/* A second schema begins anew, too; that no producer writes. Reading from the beginning knows how. */
	if (b.type == IGE_SCHEMA && section && s->blocks.n != section->first + 1)
		return err_set(e, ERR_CANNOT, "a schema inside a segment");
	if (s->blocks.n >= BLOCKS_MAX)
		return err_set(e, ERR_CANNOT, "too many blocks");
	if (begins) {
		section = calloc(1, sizeof(*section));
		if (!section || !vec_push(&s->sections, section)) {
			free(section);
			return err_nomem(e);
		}
		ige_dict_reader_init(&section->dict, s->world);
		section->first = s->blocks.n;
	}
	b.section = (uint32_t)s->sections.n - 1;
	section->end = s->blocks.n + 1;
	return vec_push(&s->blocks, b) ? 0 : err_nomem(e);
}

static struct block of_header(const struct ige_header *h, uint64_t offset)
{
	return (struct block){ .offset = offset,
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

/* What a reader might have to stop at, or to piece together, is not for us. */
static bool plain(const struct ige_header *h, uint32_t tag)
{
	if (h->type == SEGMENT_HEADER || h->type > IGE_TRAILER ||
	    (h->flags & IGE_CRITICAL && h->flags & ~IGE_FLAGS_KNOWN))
		return false;
	if (h->type == IGE_EVENTS && h->n &&
	    (h->end_min == INT64_MIN || h->start_min == INT64_MIN || h->start_min > h->end_max))
		return false;
	return h->flags & IGE_FOREIGN || IGE_SEQ_TAG(h->seq) == tag;
}

/* A segment header at offset; its tag. */
static int read_segment(struct ige_seek *s, uint64_t offset, uint32_t *tag, struct err *e)
{
	unsigned char header[IGE_SEGMENT_BYTES];
	struct ige_segment segment;
	int rc = s->size - offset < sizeof(header) ? ERR_CANNOT
						   : read_at(s, offset, header, sizeof(header), e);

	if (rc)
		return rc;
	if (ige_segment_unpack(&segment, header, NULL))
		return err_set(e, ERR_CANNOT, "no segment header");
	*tag = ige_segment_tag(&segment);
	return 0;
}

static int add_segment(struct ige_seek *s, uint64_t offset, struct err *e)
{
	struct block b = { .offset = offset, .length = IGE_SEGMENT_BYTES, .type = SEGMENT_HEADER };

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
static int cut_block(struct ige_seek *s, uint64_t at, struct err *e)
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
	rc = read_at(s, at, s->bytes.p, n, e);
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
static void look_at_end(struct ige_seek *s)
{
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct block *b = &s->blocks.v[i];

		if (b->type == SEGMENT_HEADER)
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
static int walk(struct ige_seek *s, uint64_t at, uint64_t end, struct err *e)
{
	uint32_t tag = 0;
	bool inside = false;

	while (at < end) {
		struct ige_header h;
		struct block b;
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
		if (plain(&h, tag) && h.length > end - at && end == s->size)
			return cut_block(s, at, e);
		if (!plain(&h, tag) || h.length > end - at)
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
static int read_part(struct ige_seek *s, uint64_t end, struct part *p, struct err *e)
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
	rc = read_at(s, end - sizeof(bytes), bytes, sizeof(bytes), e);
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
	rc = read_block(s, index_at, (uint32_t)t.to_index, &v, e);
	if (rc)
		return rc == ERR_DAMAGED ? 0 : rc;
	p->rest[0] = v.header;
	for (unsigned i = 0; i < p->nrest; i++)
		if (!plain(&p->rest[i], p->tag) || p->rest[i].flags & IGE_FOREIGN)
			return 0;
	if (!ige_index_take(&p->index, &v) || p->index.rows.n != t.rows ||
	    p->from + p->index.offset != index_at)
		return 0;
	/* Every row is held against its block's header: an index that is wrong must cost time, not events. */
	for (size_t i = 0; i < p->index.rows.n; i++) {
		struct ige_index_row *row = &p->index.rows.v[i];
		struct ige_header h;

		rc = read_header(s, p->from + row->offset, &h, e);
		if (rc)
			return rc == ERR_CANNOT ? 0 : rc;
		if (!ige_index_agrees(row, &h) || !plain(&h, p->tag))
			return 0;
		row->start_min = h.start_min;
	}
	return 1;
}

static int add_part(struct ige_seek *s, const struct part *p, struct err *e)
{
	uint64_t at = p->from + p->index.offset;
	int rc = add_segment(s, p->from, e);

	for (size_t i = 0; i < p->index.rows.n && !rc; i++) {
		const struct ige_index_row *row = &p->index.rows.v[i];
		struct block b = { .offset = p->from + row->offset,
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
		struct block b = of_header(&p->rest[i], at);

		at += p->rest[i].length;
		rc = add_block(s, &b, e);
	}
	s->indexed += p->index.rows.n;
	return rc;
}

static int find_blocks(struct ige_seek *s, struct err *e)
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
		rc = walk(s, 0, end, e);
	for (size_t i = parts.n; i-- > 0; ige_index_free(&parts.v[i].index))
		if (rc >= 0)
			rc = add_part(s, &parts.v[i], e);
	vec_free(&parts);
	if (rc < 0)
		return rc;
	for (size_t i = s->blocks.n; i-- > 0;) {
		struct block *b = &s->blocks.v[i];

		if (b->type == IGE_EVENTS && b->n && b->start_min < reach)
			reach = b->start_min;
		b->reach = reach;
	}
	for (size_t i = 0; i < s->blocks.n; i++) {
		struct block *b = &s->blocks.v[i];

		if (b->type == IGE_EVENTS && b->n && b->end_max > passed)
			passed = b->end_max;
		b->passed = passed;
	}
	s->last_end = passed;
	return 0;
}

int ige_seek_open(struct ige_seek **out, struct world *w, int fd, const char *name, struct err *e)
{
	struct ige_seek *s = calloc(1, sizeof(*s));
	struct stat st;
	int rc;

	*out = NULL;
	if (!s)
		return err_nomem(e);
	s->world = w;
	s->fd = fd;
	snprintf(s->name, sizeof(s->name), "%s", name);
	if (fstat(fd, &st))
		rc = err_sys(e, "cannot read %s", name);
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		rc = err_set(e, ERR_CANNOT, "%s is not a file with something in it", name);
	else {
		s->size = (uint64_t)st.st_size;
		rc = find_blocks(s, e);
	}
	if (!rc)
		look_at_end(s);
	if (rc)
		ige_seek_free(s);
	else
		*out = s;
	return rc;
}

void ige_seek_free(struct ige_seek *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->sections.n; i++) {
		ige_dict_reader_free(&s->sections.v[i]->dict);
		free(s->sections.v[i]);
	}
	vec_free(&s->sections);
	vec_free(&s->blocks);
	buf_free(&s->bytes);
	ige_decoder_free(&s->decoder);
	ige_record_list_free(&s->records);
	free(s);
}

uint64_t ige_seek_indexed(const struct ige_seek *s)
{
	return s->indexed;
}

uint64_t ige_seek_blocks(const struct ige_seek *s)
{
	return s->blocks.n;
}

int64_t ige_seek_end(const struct ige_seek *s)
{
	return s->last_end;
}

const struct ige_report *ige_seek_report(const struct ige_seek *s)
{
	return &s->report;
}

/* ---- what of it is wanted ---- */

static bool overlaps(const struct block *b, int64_t since, int64_t until)
{
	return b->type == IGE_EVENTS && b->n && b->end_max >= since && b->start_min < until;
}

/* First block from which on something ends at or after since: `passed` never falls. */
static size_t first_block(const struct ige_seek *s, int64_t since)
{
	size_t from = 0, to = s->blocks.n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (s->blocks.v[middle].passed >= since && s->blocks.v[middle].passed != INT64_MIN)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

int64_t ige_seek_reach(const struct ige_seek *s, int64_t since_ns, int64_t until_ns)
{
	int64_t reach = since_ns;

	for (size_t i = first_block(s, since_ns); i < s->blocks.n; i++) {
		const struct block *b = &s->blocks.v[i];

		if (b->reach >= until_ns)
			break;
		if (overlaps(b, since_ns, until_ns) && b->start_min < reach)
			reach = b->start_min;
	}
	return reach;
}

/* ---- the stream ---- */

static void note(struct ige_seek *s, const struct block *b, const struct err *why)
{
	/* The cut at the end comes after everything else. */
	if (!s->report.damaged_blocks) {
		s->report.first_damage = b->offset;
		snprintf(s->report.first_reason, sizeof(s->report.first_reason), "%.*s",
			 (int)sizeof(s->report.first_reason) - 1,
			 why->text[0] ? why->text : "events whose definition is missing");
	}
	s->report.damaged_blocks++;
}

/* What went wrong in a block: counted, as a reader counts it; < 0 when reading stops. */
static int judge(struct ige_seek *s, const struct block *b, int rc, bool partial, struct err *why,
		 struct err *e)
{
	if (rc == ERR_NOMEM || rc == ERR_SYS)
		return err_set(e, rc, "%s", why->text);
	if (rc == ERR_TOO_NEW) {
		s->report.too_new = true;
		return err_set(e, rc, "%s needs a newer version of this program: %s", s->name,
			       why->text);
	}
	if (rc == ERR_CANNOT)
		s->report.unknown_blocks++;
	else if (rc || partial)
		note(s, b, why);
	return 0;
}

static int load(struct ige_seek *s, struct section *section, struct err *e)
{
	section->loaded = true;
	for (size_t i = section->first; i < section->end; i++) {
		const struct block *b = &s->blocks.v[i];
		struct err why = { 0 };
		struct ige_view v;
		int rc;

		if (b->type != IGE_DICT && b->type != IGE_SCHEMA)
			continue;
		rc = read_block(s, b->offset, b->length, &v, &why);
		if (!rc)
			rc = ige_view_check(&v, &why);
		if (!rc)
			rc = ige_dict_take(&section->dict, &v, &why);
		rc = judge(s, b, rc, false, &why, e);
		if (rc)
			return rc;
	}
	return 0;
}

/* n events of a block nobody asked for. */
static void skip(struct ige_seek *s, const struct block *b, uint32_t n)
{
	struct stream_item *skipped = &s->skipped;

	if (!n)
		return;
	if (!skipped->skipped || b->start_min < skipped->skipped_from_ns)
		skipped->skipped_from_ns = b->start_min;
	if (!skipped->skipped || b->end_max > skipped->skipped_to_ns)
		skipped->skipped_to_ns = b->end_max;
	skipped->skipped += n;
	s->report.events += n;
}

static int take(struct ige_seek *s, const struct block *b, struct err *e)
{
	struct section *section = s->sections.v[b->section];
	bool partial = false;
	struct err why = { 0 };
	struct ige_view v;
	int rc = section->loaded ? 0 : load(s, section, e);

	if (rc)
		return rc;
	rc = read_block(s, b->offset, b->length, &v, &why);
	if (!rc)
		rc = ige_view_check(&v, &why);
	s->next = 0;
	if (!rc && b->type == IGE_EVENTS) {
		s->decoder.dict = &section->dict;
		s->decoder.window = s->window;
		rc = ige_decode_events(&s->decoder, &v, &partial, &why);
		if (!rc) {
			s->events = b;
			s->report.events += s->decoder.events.n;
			skip(s, b, s->decoder.passed);
		}
	} else if (!rc) {
		rc = ige_records_decode(&s->records, &v, &section->dict, &partial, &why);
		s->has_records = !rc;
		if (!rc)
			s->report.records += s->records.list.n;
	}
	return judge(s, b, rc, partial, &why, e);
}

/* The next events of the block taken apart. */
static void give_events(struct ige_seek *s, struct stream_item *item)
{
	const struct block *b = s->events;
	size_t left = s->decoder.events.n - s->next;

	item->kind = STREAM_EVENTS;
	item->events = left ? s->decoder.events.v + s->next : NULL;
	item->n = left < BATCH ? left : BATCH;
	item->late = b->flags & IGE_LATE;
	item->lost = s->next ? 0 : b->lost;
	s->next += item->n;
	if (s->next < s->decoder.events.n)
		return;
	if (!item->late)
		item->watermark_ns = b->end_max;
	s->last = b->flags & IGE_LAST;
	s->events = NULL;
}

static void leave_out(struct ige_seek *s, const struct block *b)
{
	struct stream_item *skipped = &s->skipped;

	skipped->lost += b->lost;
	skip(s, b, b->n);
	if (b->n && !(b->flags & IGE_LATE) && b->end_max > skipped->watermark_ns)
		skipped->watermark_ns = b->end_max;
}

static const struct stream_item nothing = { .kind = STREAM_EVENTS,
					    .watermark_ns = INT64_MIN,
					    .floor_ns = INT64_MIN };

/* What was left out so far, before what follows it. */
static bool give_skipped(struct ige_seek *s, struct stream_item *item)
{
	if (!s->skipped.skipped && !s->skipped.lost)
		return false;
	*item = s->skipped;
	s->skipped = nothing;
	return true;
}

static bool wanted(const struct ige_seek *s, const struct block *b)
{
	return s->what & IGE_SEEK_EVENTS && overlaps(b, s->window[0], s->window[1]) &&
	       (!s->ops || b->ops & s->ops);
}

static int seek_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct ige_seek *s =
		(struct ige_seek *)((char *)stream - offsetof(struct ige_seek, stream));

	*item = nothing;
	for (;;) {
		const struct block *b;
		int rc = 0;

		if (s->events) {
			if (!s->next && s->what & IGE_SEEK_RECORDS && give_skipped(s, item))
				return 1;
			give_events(s, item);
			return 1;
		}
		if (s->has_records && s->next < s->records.list.n) {
			item->kind = STREAM_RECORD;
			item->record = &s->records.list.v[s->next++];
			return 1;
		}
		s->has_records = false;
		if (s->last) {
			item->kind = STREAM_LAST;
			s->last = false;
			return 1;
		}
		if (s->at == s->blocks.n)
			return give_skipped(s, item);
		b = &s->blocks.v[s->at];
		/* Nothing but events is wanted, and none follow. */
		if (s->what == IGE_SEEK_EVENTS && b->reach >= s->window[1])
			return 0;
		if ((b->type == SEGMENT_HEADER || b->type == IGE_RECORDS || wanted(s, b) ||
		     b->flags & IGE_LAST) &&
		    s->what & IGE_SEEK_RECORDS && give_skipped(s, item))
			return 1;
		s->at++;
		s->report.blocks += b->type != SEGMENT_HEADER;
		switch (b->type) {
		case SEGMENT_HEADER:
			s->report.segments++;
			item->kind = STREAM_SEGMENT;
			return 1;
		case IGE_RECORDS:
			if (s->what & IGE_SEEK_RECORDS)
				rc = take(s, b, e);
			break;
		case IGE_EVENTS:
			s->report.lost_events += b->lost;
			if (wanted(s, b))
				rc = take(s, b, e);
			else
				leave_out(s, b);
			if (!rc && !s->events)
				s->last = b->flags & IGE_LAST;
			break;
		default:
			break;
		}
		if (rc)
			return rc;
	}
}

static void seek_close(struct event_stream *stream)
{
	(void)stream;
}

struct event_stream *ige_seek_stream(struct ige_seek *s, int64_t since_ns, int64_t until_ns,
				     unsigned what, uint64_t ops)
{
	s->window[0] = since_ns;
	s->window[1] = until_ns;
	s->what = what;
	s->ops = ops;
	s->at = what == IGE_SEEK_EVENTS ? first_block(s, since_ns) : 0;
	s->events = NULL;
	s->has_records = s->last = false;
	s->skipped = nothing;
	s->report = s->ending;
	s->stream = (struct event_stream){ seek_next, seek_close };
	return &s->stream;
}

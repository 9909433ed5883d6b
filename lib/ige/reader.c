/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window slides over the input, one block in it at a time. Whatever is not a sound header is
 * passed over byte by byte to the next one that is. Damage inside a block costs that block, or a
 * column of it, and is accounted for; it never stops the reading.
 */
#include "lib/ige/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ige/columns.h"
#include "lib/ige/events.h"
#include "lib/ige/records.h"

#define READ_BYTES (256u << 10) /* one read(2) */
#define SNIFF_BYTES \
	(64u        \
	 << 10) /* how far a damaged beginning is searched before the input is called something else */
/* How many bytes may be looked at twice because a header stood inside a damaged block: an input full of
 * such headers would otherwise cost its size squared. */
#define REREAD_MAX (64u << 20)

struct ige_reader {
	struct world *world;
	int fd;
	bool own_fd, eof, began, in_segment;
	char name[160];
	unsigned char *window;
	size_t cap, from, to; /* window[from..to) is input not yet passed */
	uint64_t offset;      /* of window[from] in the input */
	uint64_t reread;      /* bytes, see REREAD_MAX */
	uint32_t tag;	      /* of the segment whose ids the dictionary holds */
	bool tagged;
	struct ige_report report;
	struct ige_dict_reader dict;
	struct ige_decoder decoder;
	uint32_t wanted; /* columns, instead of events; see ige/columns.h */
	bool have_arrays;
	struct ige_record_list records;
	struct ige_view view;	       /* the block last returned */
	struct ige_report before_tail; /* as it was before the unfinished block at the end of input */
	bool tail;
	enum {
		NOTHING,
		SEGMENT,
		EVENTS,
		RECORDS,
		LAST
	} ready;     /* what ige_reader_items gives next */
	size_t next; /* within the block's events or records */
	struct event_stream stream;
};

int ige_reader_open(struct ige_reader **out, struct world *w, int fd, bool own_fd, const char *name,
		    struct err *e)
{
	struct ige_reader *r = calloc(1, sizeof(*r));

	*out = r;
	if (!r) {
		if (own_fd)
			close(fd);
		return err_nomem(e);
	}
	r->world = w;
	r->fd = fd;
	r->own_fd = own_fd;
	snprintf(r->name, sizeof(r->name), "%s", name);
	/* A pipe of 64 KiB makes writer and reader take turns; who may not have a larger one does with what it is. */
	(void)fcntl(fd, F_SETPIPE_SZ, READ_BYTES);
	ige_dict_reader_init(&r->dict, w);
	r->decoder.dict = &r->dict;
	return 0;
}

void ige_reader_free(struct ige_reader *r)
{
	if (!r)
		return;
	if (r->own_fd)
		close(r->fd);
	ige_dict_reader_free(&r->dict);
	ige_decoder_free(&r->decoder);
	ige_record_list_free(&r->records);
	free(r->window);
	free(r);
}

const struct ige_report *ige_reader_report(const struct ige_reader *r)
{
	return &r->report;
}

/* ---- the window ---- */

static size_t held(const struct ige_reader *r)
{
	return r->to - r->from;
}

/* At least n bytes in the window, or all there are. */
static int fill(struct ige_reader *r, size_t n, struct err *e)
{
	while (held(r) < n && !r->eof) {
		ssize_t got;

		/* What was passed makes room before the window grows: it stays as large as a block or two. */
		if (r->from && r->cap - r->to < READ_BYTES) {
			memmove(r->window, r->window + r->from, held(r));
			r->to -= r->from;
			r->from = 0;
		}
		if (r->cap - r->to < READ_BYTES) {
			size_t cap = r->to + (n > READ_BYTES ? n : READ_BYTES) + READ_BYTES;
			unsigned char *window = realloc(r->window, cap);

			if (!window)
				return err_nomem(e);
			r->window = window;
			r->cap = cap;
		}
		do
			got = read(r->fd, r->window + r->to, r->cap - r->to);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return err_sys(e, "cannot read %s", r->name);
		if (got == 0)
			r->eof = true;
		r->to += (size_t)got;
	}
	return 0;
}

static void pass(struct ige_reader *r, size_t n)
{
	r->from += n;
	r->offset += n;
	if (r->from == r->to)
		r->from = r->to = 0;
}

/* What follows may be a block that is still being written. */
static void begin_tail(struct ige_reader *r)
{
	r->tail = true;
	r->before_tail = r->report;
}

static void note_damage(struct ige_reader *r, const char *reason)
{
	if (r->report.first_reason[0])
		return;
	r->report.first_damage = r->offset;
	snprintf(r->report.first_reason, sizeof(r->report.first_reason), "%.*s",
		 (int)sizeof(r->report.first_reason) - 1, reason);
}

/* Is there a sound header at p, with n bytes to look at? */
static bool sound(const unsigned char *p, size_t n)
{
	struct ige_header h;
	struct ige_segment s;
	int rc;

	if (n >= IGE_BLOCK_BYTES && ige_header_unpack(&h, p, NULL) == 0)
		return true;
	if (n < IGE_SEGMENT_BYTES)
		return false;
	rc = ige_segment_unpack(&s, p, NULL);
	return rc == 0 || rc == ERR_TOO_NEW;
}

/* Pass over bytes up to the next sound header. 1 found, 0 end of input. limit: give up (0) after that many. */
static int resync(struct ige_reader *r, size_t limit, struct err *e)
{
	size_t skipped = 0;

	while (skipped < limit) {
		int rc = fill(r, IGE_SEGMENT_BYTES, e);
		size_t n = held(r), at;

		if (rc)
			return rc;
		for (at = 0; at < n && at < limit - skipped; at++) {
			const unsigned char *p = r->window + r->from + at;

			if ((*p == 'I' || *p == 0x89) && n - at >= IGE_BLOCK_BYTES &&
			    sound(p, n - at)) {
				/* A segment header needs more bytes than a block header: it is looked at again whole. */
				r->report.skipped_bytes += at;
				pass(r, at);
				return 1;
			}
			/* What could still be the beginning of a header stays in the window. */
			if (!r->eof && n - at < IGE_SEGMENT_BYTES)
				break;
		}
		r->report.skipped_bytes += at;
		pass(r, at);
		skipped += at;
		if (r->eof && held(r) == 0)
			return 0;
	}
	return 0;
}

/* ---- blocks ---- */

static int end_of_input(struct ige_reader *r)
{
	struct stat st;

	if (r->report.unterminated && fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		/* Its recorder holds an exclusive lock for as long as it lives. */
		if (flock(r->fd, LOCK_SH | LOCK_NB) == 0)
			flock(r->fd, LOCK_UN);
		else if (errno == EWOULDBLOCK)
			r->report.growing = true;
	}
	/* A block that is being written is not a damaged one. */
	if (r->report.growing && r->tail) {
		r->report = r->before_tail;
		r->report.growing = true;
	}
	return 0;
}

/* The first bytes decide whether this is a recording at all. */
static int begin(struct ige_reader *r, struct err *e)
{
	int rc = fill(r, IGE_SEGMENT_BYTES, e);

	if (rc)
		return rc;
	r->began = true;
	if (held(r) == 0) {
		r->report.empty = true;
		return 0;
	}
	if (sound(r->window + r->from, held(r)))
		return 0;
	if (held(r) < IGE_SEGMENT_BYTES && held(r) >= 8 &&
	    !memcmp(r->window + r->from, IGE_SEGMENT_MAGIC, 8)) {
		r->report.unterminated = true;
		return 0;
	}
	if (held(r) < 8 && !memcmp(r->window + r->from, IGE_SEGMENT_MAGIC, held(r))) {
		r->report.unterminated = true;
		return 0;
	}
	note_damage(r, "segment header: checksum does not match");
	rc = resync(r, SNIFF_BYTES, e);
	if (rc == 0)
		return err_set(e, ERR_DAMAGED, "%s is not an .ige file", r->name);
	return rc < 0 ? rc : 0;
}

static void damaged_block(struct ige_reader *r, const struct err *e, bool *damaged)
{
	note_damage(r, e->text);
	r->report.damaged_blocks++;
	*damaged = true;
}

/* Ids hold for one segment. A block of another one without its header in between: that was lost. */
static void check_segment(struct ige_reader *r)
{
	uint32_t tag = IGE_SEQ_TAG(r->view.header.seq);

	if (r->view.header.flags & IGE_FOREIGN || (r->tagged && r->tag == tag))
		return;
	ige_dict_reader_reset(&r->dict);
	r->tag = tag;
	r->tagged = true;
	r->report.segments++;
	r->report.unterminated = true;
}

static int too_new(struct ige_reader *r, const struct err *why, struct err *e)
{
	r->report.too_new = true;
	return err_set(e, ERR_TOO_NEW, "%s needs a newer version of this program: %s", r->name,
		       why->text);
}

/* Take the block in the view apart as far as its type is known. < 0 only when reading must stop. */
static int take(struct ige_reader *r, bool *damaged, struct err *e)
{
	const struct ige_header *h = &r->view.header;
	struct err why = { 0 };
	bool partial = false, other;
	int rc = ige_view_check(&r->view, &why);

	check_segment(r);
	r->report.lost_events += h->type == IGE_EVENTS ? h->lost : 0;
	if (h->flags & IGE_CRITICAL && h->flags & ~IGE_FLAGS_KNOWN) {
		err_set(&why, ERR_TOO_NEW, "block flags %02x", h->flags);
		return too_new(r, &why, e);
	}
	if (rc) {
		damaged_block(r, &why, damaged);
		return 0;
	}
	switch (h->type) {
	case IGE_SCHEMA:
		/* Each segment starts with one: should its header be lost, ids still start afresh. */
		ige_dict_reader_reset(&r->dict);
		rc = ige_dict_take(&r->dict, &r->view, &why);
		break;
	case IGE_DICT:
		rc = ige_dict_take(&r->dict, &r->view, &why);
		break;
	case IGE_EVENTS:
		if (r->wanted) {
			rc = ige_arrays_decode(&r->decoder.own, &r->decoder.a, &r->dict, &r->view,
					       r->wanted, &why);
			if (!rc) {
				partial = r->decoder.a.dropped > 0 || r->decoder.a.damaged;
				r->have_arrays = true;
				r->report.events += r->decoder.a.n - r->decoder.a.dropped;
			}
			break;
		}
		rc = ige_decoder_begin(&r->decoder, &r->view, &partial, &why);
		if (!rc) {
			r->ready = EVENTS;
			r->report.events += r->decoder.total;
		}
		break;
	case IGE_RECORDS:
		rc = ige_records_decode(&r->records, &r->view, &r->dict, &partial, &why);
		if (!rc) {
			r->ready = RECORDS;
			r->report.records += r->records.list.n;
		}
		break;
	case IGE_INDEX:
	case IGE_TRAILER: /* help seekers, and say nothing that is not elsewhere */
		break;
	default:
		rc = err_set(&why, h->flags & IGE_CRITICAL ? ERR_TOO_NEW : ERR_CANNOT,
			     "block type %u", h->type);
	}
	if (h->type == IGE_EVENTS && h->flags & IGE_LAST) {
		r->report.unterminated = false;
		if (r->ready == NOTHING)
			r->ready = LAST;
	}
	if (rc == ERR_NOMEM)
		return err_nomem(e);
	if (rc == ERR_TOO_NEW)
		return too_new(r, &why, e);
	if (rc == ERR_CANNOT)
		r->report.unknown_blocks++;
	else if (rc)
		damaged_block(r, &why, damaged);
	else if (partial)
		/* Without a reason of its own the block is whole: definitions before it are missing. */
		damaged_block(
			r,
			why.text[0] ? &why
				    : &(struct err){ .text = "events whose definition is missing" },
			why.text[0] ? damaged : &other);
	return 0;
}

/* Where a damaged block ends: a sound header inside means that it was cut short there, as when the file of
 * a killed recorder was put in front of another. */
static int end_of_damaged(struct ige_reader *r, size_t *end, struct err *e)
{
	const unsigned char *p;
	size_t n = r->view.header.length;
	int rc = fill(r, n + IGE_SEGMENT_BYTES, e);

	if (rc)
		return rc;
	p = r->window + r->from;
	r->view.bytes = p;
	for (*end = 1; *end < n; ++*end)
		if ((p[*end] == 'I' || p[*end] == 0x89) && sound(p + *end, held(r) - *end)) {
			if (r->reread + (n - *end) > REREAD_MAX)
				break;
			r->reread += n - *end;
			return 0;
		}
	*end = n;
	return 0;
}

static int segment(struct ige_reader *r, struct ige_block *b, struct err *e)
{
	struct ige_segment s;
	struct err why = { 0 };
	int rc = ige_segment_unpack(&s, r->window + r->from, &why);

	if (rc == ERR_TOO_NEW)
		return too_new(r, &why, e);
	ige_dict_reader_reset(&r->dict);
	r->tail = false;
	r->tag = ige_segment_tag(&s);
	r->tagged = true;
	r->report.segments++;
	r->report.unterminated = true;
	r->ready = SEGMENT;
	*b = (struct ige_block){ .bytes = r->window + r->from, .n = IGE_SEGMENT_BYTES };
	pass(r, IGE_SEGMENT_BYTES);
	return 1;
}

int ige_reader_block(struct ige_reader *r, struct ige_block *b, struct err *e)
{
	bool damaged = false;
	size_t end;
	int rc;

	r->ready = NOTHING;
	r->have_arrays = false;
	r->next = 0;
	if (!r->began) {
		rc = begin(r, e);
		if (rc)
			return rc;
	}
	for (;;) {
		const unsigned char *p;

		rc = fill(r, IGE_SEGMENT_BYTES, e);
		if (rc)
			return rc;
		if (held(r) == 0)
			return end_of_input(r);
		p = r->window + r->from;
		if (held(r) >= IGE_SEGMENT_BYTES && !memcmp(p, IGE_SEGMENT_MAGIC, 8)) {
			struct ige_segment s;

			if (ige_segment_unpack(&s, p, NULL) != ERR_DAMAGED)
				return segment(r, b, e);
		} else if (held(r) >= IGE_BLOCK_BYTES &&
			   !ige_header_unpack(&r->view.header, p, NULL)) {
			rc = fill(r, r->view.header.length, e);
			if (rc)
				return rc;
			if (held(r) >= r->view.header.length)
				break;
			/* The input ends inside this block; a header in its rest would be another file's. */
			begin_tail(r);
			r->report.truncated = true;
			note_damage(r, "the input ends inside a block");
			pass(r, 1);
			r->report.skipped_bytes++;
			rc = resync(r, SIZE_MAX, e);
			if (rc <= 0)
				return rc < 0 ? rc : end_of_input(r);
			continue;
		}
		if (r->eof && (held(r) < IGE_BLOCK_BYTES ||
			       (held(r) < IGE_SEGMENT_BYTES && !memcmp(p, IGE_SEGMENT_MAGIC, 8)))) {
			begin_tail(r);
			r->report.truncated = true;
			note_damage(r, "the input ends inside a header");
			r->report.skipped_bytes += held(r);
			pass(r, held(r));
			return end_of_input(r);
		}
		note_damage(r, "not a block header");
		pass(r, 1);
		r->report.skipped_bytes++;
		rc = resync(r, SIZE_MAX, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return end_of_input(r);
	}
	r->tail = false;
	r->view.bytes = r->window + r->from;
	r->report.blocks++;
	rc = take(r, &damaged, e);
	if (rc < 0)
		return rc;
	end = r->view.header.length;
	if (damaged) {
		rc = end_of_damaged(r, &end, e);
		if (rc)
			return rc;
	}
	*b = (struct ige_block){ .bytes = r->view.bytes,
				 .n = end,
				 .type = r->view.header.type,
				 .last = r->view.header.type == IGE_EVENTS &&
					 r->view.header.flags & IGE_LAST,
				 .seq = r->view.header.seq,
				 .end_max = r->view.header.end_max };
	if (b->type == IGE_RECORDS && r->ready == RECORDS)
		b->record_kind = ige_records_kind(&r->view);
	pass(r, end);
	return 1;
}

int ige_reader_items(struct ige_reader *r, struct stream_item *item, struct err *e)
{
	const struct ige_header *h = &r->view.header;

	(void)e;
	*item = (struct stream_item){ .watermark_ns = INT64_MIN, .floor_ns = INT64_MIN };
	switch (r->ready) {
	case SEGMENT:
		item->kind = STREAM_SEGMENT;
		r->ready = NOTHING;
		return 1;
	case EVENTS:
		item->kind = STREAM_EVENTS;
		item->n = ige_decoder_next(&r->decoder, &item->events);
		item->late = h->flags & IGE_LATE;
		item->lost = r->next ? 0 : h->lost;
		r->next += item->n;
		if (r->next == r->decoder.total) {
			if (!item->late) {
				item->watermark_ns = h->end_max;
				if (h->start_floor_us != IGE_FLOOR_UNKNOWN &&
				    h->end_max != INT64_MIN)
					item->floor_ns =
						h->end_max - (int64_t)h->start_floor_us * 1000;
			}
			r->ready = h->flags & IGE_LAST ? LAST : NOTHING;
		}
		return 1;
	case RECORDS:
		if (r->next == r->records.list.n) {
			r->ready = NOTHING;
			return 0;
		}
		item->kind = STREAM_RECORD;
		item->record = &r->records.list.v[r->next++];
		return 1;
	case LAST:
		item->kind = STREAM_LAST;
		r->ready = NOTHING;
		return 1;
	default:
		return 0;
	}
}

void ige_reader_want(struct ige_reader *r, uint32_t wanted)
{
	r->wanted = wanted;
	r->dict.no_stacks = wanted & IGE_WANT_NO_STACKS;
}

const struct ige_arrays *ige_reader_arrays(const struct ige_reader *r)
{
	return r->have_arrays ? &r->decoder.a : NULL;
}

struct ige_dict_reader *ige_reader_dict(struct ige_reader *r)
{
	return &r->dict;
}

/* ---- as a stream ---- */

static int stream_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct ige_reader *r =
		(struct ige_reader *)((char *)s - offsetof(struct ige_reader, stream));

	for (;;) {
		struct ige_block b;
		int rc = ige_reader_items(r, item, e);

		if (rc)
			return rc;
		rc = ige_reader_block(r, &b, e);
		if (rc <= 0)
			return rc;
	}
}

static void stream_close(struct event_stream *s)
{
	(void)s;
}

struct event_stream *ige_reader_stream(struct ige_reader *r)
{
	r->stream = (struct event_stream){ stream_next, stream_close };
	return &r->stream;
}

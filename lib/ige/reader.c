/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a recording block by block through a window that slides over the input. Damage inside a
 * block costs that block, or a column of it, and is counted; it never stops the reading.
 */
#include "lib/ige/reader_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SNIFF_BYTES                                                                       \
	(64u << 10) /* how far a damaged beginning is searched before the input is called \
		       something else */
/* How many bytes may be looked at twice because a header stood inside a damaged block: an input
 * full of such headers would otherwise cost its size squared. */
#define REREAD_MAX (64u << 20)

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
	r->in.fd = fd;
	r->in.skipped = &r->report.skipped_bytes;
	r->own_fd = own_fd;
	snprintf(r->in.name, sizeof(r->in.name), "%s", name);
	/* A pipe of 64 KiB makes writer and reader take turns; who may not have a larger one does
	 * with what it is. */
	(void)fcntl(fd, F_SETPIPE_SZ, IGE_READ_BYTES);
	ige_dict_reader_init(&r->dict, w);
	r->decoder.dict = &r->dict;
	return 0;
}

void ige_reader_free(struct ige_reader *r)
{
	if (!r)
		return;
	if (r->own_fd && r->in.fd >= 0)
		close(r->in.fd);
	ige_dict_reader_free(&r->dict);
	ige_decoder_free(&r->decoder);
	ige_record_list_free(&r->records);
	free(r->in.bytes);
	free(r);
}

int ige_reader_let_go(struct ige_reader *r, const char *path, struct err *e)
{
	return ige_window_let_go(&r->in, path, e);
}

void ige_reader_follow(struct ige_reader *r)
{
	r->follow = true;
}

const struct ige_report *ige_reader_report(const struct ige_reader *r)
{
	return &r->report;
}

uint64_t ige_reader_read(const struct ige_reader *r)
{
	return r->in.offset + ige_window_held(&r->in);
}

/* ---- damage ---- */

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
	r->report.first_damage = r->in.offset;
	snprintf(r->report.first_reason, sizeof(r->report.first_reason), "%.*s",
		 (int)sizeof(r->report.first_reason) - 1, reason);
}

/* ---- blocks ---- */

/* Its recorder holds an exclusive lock for as long as it lives. */
static bool still_written(struct ige_reader *r)
{
	bool written = false;
	struct stat st;

	if (r->report.unterminated && ige_window_open(&r->in, NULL) == 0 &&
	    fstat(r->in.fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (flock(r->in.fd, LOCK_SH | LOCK_NB) == 0)
			flock(r->in.fd, LOCK_UN);
		else
			written = errno == EWOULDBLOCK;
	}
	ige_window_close(&r->in);
	return written;
}

static int end_of_input(struct ige_reader *r)
{
	r->report.growing = still_written(r);
	/* A block that is being written is not a damaged one. */
	if (r->report.growing && r->tail) {
		r->report = r->before_tail;
		r->report.growing = true;
	}
	return 0;
}

/* The first bytes decide whether this is a recording at all. */
static int begin_input(struct ige_reader *r, struct err *e)
{
	int rc = ige_window_fill(&r->in, IGE_SEGMENT_BYTES, e);

	if (rc)
		return rc;
	r->began = true;
	if (ige_window_held(&r->in) == 0) {
		r->report.empty = true;
		return 0;
	}
	if (ige_window_sound(ige_window_at(&r->in), ige_window_held(&r->in)))
		return 0;
	if (ige_window_held(&r->in) < IGE_SEGMENT_BYTES && ige_window_held(&r->in) >= 8 &&
	    !memcmp(ige_window_at(&r->in), IGE_SEGMENT_MAGIC, 8)) {
		r->report.unterminated = true;
		return 0;
	}
	if (ige_window_held(&r->in) < 8 &&
	    !memcmp(ige_window_at(&r->in), IGE_SEGMENT_MAGIC, ige_window_held(&r->in))) {
		r->report.unterminated = true;
		return 0;
	}
	note_damage(r, "segment header: checksum does not match");
	rc = ige_window_resync(&r->in, SNIFF_BYTES, e);
	if (rc == 0)
		return err_set(e, ERR_DAMAGED, "%s is not an .ige file", r->in.name);
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
	return err_set(e, ERR_TOO_NEW, "%s needs a newer version of this program: %s", r->in.name,
		       why->text);
}

/* Take the block in the view apart as far as its type is known. < 0 only when reading must stop. */
static int decode_block(struct ige_reader *r, bool *damaged, struct err *e)
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
		r->report.damaged_events += h->type == IGE_EVENTS ? h->n : 0;
		return 0;
	}
	switch (h->type) {
	case IGE_SCHEMA:
		/* Each segment starts with one: ids start afresh even if its header is lost. */
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
				r->report.damaged_events += r->decoder.a.dropped;
			}
			break;
		}
		rc = ige_decoder_begin(&r->decoder, &r->view, &partial, &why);
		if (!rc) {
			r->ready = EVENTS;
			r->report.events += r->decoder.total;
			r->report.damaged_events += h->n - r->decoder.total;
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
	else if (rc) {
		damaged_block(r, &why, damaged);
		r->report.damaged_events += h->type == IGE_EVENTS ? h->n : 0;
	} else if (partial)
		/* Without a reason of its own the block is whole: definitions before it are
		 * missing. */
		damaged_block(
			r,
			why.text[0] ? &why
				    : &(struct err){ .text = "events whose definition is missing" },
			why.text[0] ? damaged : &other);
	return 0;
}

/* Where a damaged block ends: a sound header inside means that it was cut short there, as when the
 * file of a killed recorder was put in front of another. */
static int end_of_damaged(struct ige_reader *r, size_t *end, struct err *e)
{
	const unsigned char *p;
	size_t n = r->view.header.length;
	int rc = ige_window_fill(&r->in, n + IGE_SEGMENT_BYTES, e);

	if (rc)
		return rc;
	p = ige_window_at(&r->in);
	r->view.bytes = p;
	for (*end = 1; *end < n; ++*end)
		if ((p[*end] == 'I' || p[*end] == 0x89) &&
		    ige_window_sound(p + *end, ige_window_held(&r->in) - *end)) {
			if (r->reread + (n - *end) > REREAD_MAX)
				break;
			r->reread += n - *end;
			return 0;
		}
	*end = n;
	return 0;
}

static int begin_segment(struct ige_reader *r, struct ige_block *b, struct err *e)
{
	struct ige_segment s;
	struct err why = { 0 };
	int rc = ige_segment_unpack(&s, ige_window_at(&r->in), &why);

	if (rc == ERR_TOO_NEW)
		return too_new(r, &why, e);
	ige_dict_reader_reset(&r->dict);
	r->tail = false;
	r->real_minus_mono_ns = s.real_minus_mono_ns;
	r->tag = ige_segment_tag(&s);
	r->tagged = true;
	r->report.segments++;
	r->report.unterminated = true;
	r->ready = SEGMENT;
	*b = (struct ige_block){ .bytes = ige_window_at(&r->in), .n = IGE_SEGMENT_BYTES };
	ige_window_pass(&r->in, IGE_SEGMENT_BYTES);
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
	if (r->follow)
		r->in.eof = false;
	if (!r->began) {
		rc = begin_input(r, e);
		if (rc)
			return rc;
	}
	for (;;) {
		const unsigned char *p;

		rc = ige_window_fill(&r->in, IGE_SEGMENT_BYTES, e);
		if (rc)
			return rc;
		if (ige_window_held(&r->in) == 0)
			return end_of_input(r);
		p = ige_window_at(&r->in);
		if (ige_window_held(&r->in) >= IGE_SEGMENT_BYTES &&
		    !memcmp(p, IGE_SEGMENT_MAGIC, 8)) {
			struct ige_segment s;

			if (ige_segment_unpack(&s, p, NULL) != ERR_DAMAGED)
				return begin_segment(r, b, e);
		} else if (ige_window_held(&r->in) >= IGE_BLOCK_BYTES &&
			   !ige_header_unpack(&r->view.header, p, NULL)) {
			rc = ige_window_fill(&r->in, r->view.header.length, e);
			if (rc)
				return rc;
			if (ige_window_held(&r->in) >= r->view.header.length)
				break;
			if (r->follow && still_written(r))
				return end_of_input(r);
			/* The input ends inside this block; a header in its rest would be another
			 * file's. */
			begin_tail(r);
			r->report.truncated = true;
			note_damage(r, "the input ends inside a block");
			ige_window_pass(&r->in, 1);
			r->report.skipped_bytes++;
			rc = ige_window_resync(&r->in, SIZE_MAX, e);
			if (rc <= 0)
				return rc < 0 ? rc : end_of_input(r);
			continue;
		}
		if (r->in.eof && (ige_window_held(&r->in) < IGE_BLOCK_BYTES ||
				  (ige_window_held(&r->in) < IGE_SEGMENT_BYTES &&
				   !memcmp(p, IGE_SEGMENT_MAGIC, 8)))) {
			if (r->follow && still_written(r))
				return end_of_input(r);
			begin_tail(r);
			r->report.truncated = true;
			note_damage(r, "the input ends inside a header");
			r->report.skipped_bytes += ige_window_held(&r->in);
			ige_window_pass(&r->in, ige_window_held(&r->in));
			return end_of_input(r);
		}
		note_damage(r, "not a block header");
		ige_window_pass(&r->in, 1);
		r->report.skipped_bytes++;
		rc = ige_window_resync(&r->in, SIZE_MAX, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return end_of_input(r);
	}
	r->tail = false;
	r->view.bytes = ige_window_at(&r->in);
	r->report.blocks++;
	rc = decode_block(r, &damaged, e);
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
	ige_window_pass(&r->in, end);
	return 1;
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the blocks of an interval from a recording in a regular file. Definitions are read with the
 * first block that needs them, all of its section at once; blocks one at a time, at their place.
 */
#include "lib/ige/seek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/bisect.h"
#include "lib/ige/events.h"
#include "lib/ige/block_index.h"
#include "lib/ige/records.h"

#define BATCH 8192
/* Bytes of definitions that are kept of other sections than the one read. */
#define DICTS_MAX (64u << 20)

struct ige_seek {
	struct world *world;
	char name[160];
	struct ige_block_index places;
	struct {
		struct ige_dict_reader reader;
		bool loaded;
	} * dicts;	     /* by section */
	uint64_t dict_bytes; /* of those that are loaded */
	struct ige_decoder decoder;
	struct ige_record_list records;
	struct ige_report report; /* of the stream */
	struct event_stream stream;
	size_t at;	   /* next block */
	int64_t window[2]; /* since, until */
	uint64_t ops;
	unsigned what;
	const struct ige_place *events; /* whose events are being given */
	int64_t floor_ns;		/* as that block says it */
	size_t next;			/* of its events, or of records */
	bool has_records, last;
	struct stream_item skipped;
};

int ige_seek_open(struct ige_seek **out, struct world *w, int fd, const char *name, struct err *e)
{
	struct ige_seek *s = calloc(1, sizeof(*s));
	struct stat st;
	int rc;

	*out = NULL;
	if (!s)
		return err_nomem(e);
	s->world = w;
	s->places.fd = fd;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->places.name = s->name;
	if (fstat(fd, &st))
		rc = err_sys(e, "cannot read %s", name);
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		rc = err_set(e, ERR_CANNOT, "%s is not a file with something in it", name);
	else {
		s->places.size = (uint64_t)st.st_size;
		rc = ige_block_index_find(&s->places, e);
	}
	if (!rc && !(s->dicts = calloc(s->places.sections.n, sizeof(*s->dicts))))
		rc = err_nomem(e);
	for (size_t i = 0; !rc && i < s->places.sections.n; i++)
		ige_dict_reader_init(&s->dicts[i].reader, w);
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
	for (size_t i = 0; s->dicts && i < s->places.sections.n; i++)
		ige_dict_reader_free(&s->dicts[i].reader);
	free(s->dicts);
	ige_block_index_free(&s->places);
	ige_decoder_free(&s->decoder);
	ige_record_list_free(&s->records);
	free(s);
}

uint64_t ige_seek_indexed(const struct ige_seek *s)
{
	return s->places.indexed;
}

int64_t ige_seek_end(const struct ige_seek *s)
{
	size_t n = s->places.list.n;

	return n ? s->places.list.v[n - 1].passed : INT64_MIN;
}

const struct ige_report *ige_seek_report(const struct ige_seek *s)
{
	return &s->report;
}

/* ---- what of it is wanted ---- */

static bool is_overlapping(const struct ige_place *b, int64_t since, int64_t until)
{
	return b->type == IGE_EVENTS && b->n && b->end_max >= since && b->start_min < until;
}

/* First block from which on something ends at or after since: `passed` never falls. */
static size_t first_block(const struct ige_seek *s, int64_t since)
{
	size_t from = 0, to = s->places.list.n;

	bisect(i, from, to,
	       s->places.list.v[i].passed < since || s->places.list.v[i].passed == INT64_MIN);
	return from;
}

int64_t ige_seek_reach(const struct ige_seek *s, int64_t since_ns, int64_t until_ns)
{
	int64_t reach = since_ns;

	for (size_t i = first_block(s, since_ns); i < s->places.list.n; i++) {
		const struct ige_place *b = &s->places.list.v[i];

		if (b->reach >= until_ns)
			break;
		if (is_overlapping(b, since_ns, until_ns) && b->start_min < reach)
			reach = b->start_min;
	}
	return reach;
}

/* ---- the stream ---- */

static void note_damage(struct ige_seek *s, const struct ige_place *b, const struct err *why)
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

/* Counts an error in a block as the sequential reader counts it; < 0 when reading must stop. */
static int handle_result(struct ige_seek *s, const struct ige_place *b, int rc, bool partial,
			 struct err *why, struct err *e)
{
	if (rc == ERR_NOMEM || rc == ERR_SYS)
		return err_set(e, rc, "%s", why->text);
	if (rc == ERR_TOO_NEW) {
		s->report.too_new = true;
		return err_set(e, rc, "%s needs a newer version of this program: %s",
			       s->places.name, why->text);
	}
	if (rc == ERR_CANNOT)
		s->report.unknown_blocks++;
	else if (rc || partial)
		note_damage(s, b, why);
	if (rc && rc != ERR_CANNOT && b->type == IGE_EVENTS)
		s->report.damaged_events += b->n;
	return 0;
}

static uint64_t definition_bytes(const struct ige_dict_reader *d)
{
	uint64_t bytes = d->sites.cap * sizeof(*d->sites.v) + d->args.cap * sizeof(*d->args.v) +
			 d->ops.cap * sizeof(*d->ops.v);

	for (int k = 0; k < IGE_D_KINDS; k++)
		bytes += d->kind[k].ids.cap * sizeof(*d->kind[k].ids.v);
	return bytes;
}

/* Frees other sections' definitions if they take too much memory together: a long recording has
 * many sections. They are read again when needed. */
static void limit_dictionaries(struct ige_seek *s, uint32_t at)
{
	uint64_t bytes = definition_bytes(&s->dicts[at].reader);

	s->dict_bytes += bytes;
	if (s->dict_bytes - bytes <= DICTS_MAX)
		return;
	for (size_t i = 0; i < s->places.sections.n; i++) {
		if (i == at || !s->dicts[i].loaded)
			continue;
		ige_dict_reader_free(&s->dicts[i].reader);
		ige_dict_reader_init(&s->dicts[i].reader, s->world);
		s->dicts[i].loaded = false;
	}
	s->dict_bytes = bytes;
}

/* All definitions of a section. */
static int load_definitions(struct ige_seek *s, uint32_t at, struct err *e)
{
	const struct ige_section *section = &s->places.sections.v[at];

	s->dicts[at].loaded = true;
	for (size_t i = section->first; i < section->end; i++) {
		const struct ige_place *b = &s->places.list.v[i];
		struct err why = { 0 };
		struct ige_view v;
		int rc;

		if (b->type != IGE_DICT && b->type != IGE_SCHEMA)
			continue;
		rc = ige_block_index_read(&s->places, b->offset, b->length, &v, &why);
		if (!rc)
			rc = ige_view_check(&v, &why);
		if (!rc)
			rc = ige_dict_take(&s->dicts[at].reader, &v, &why);
		rc = handle_result(s, b, rc, false, &why, e);
		if (rc)
			return rc;
	}
	limit_dictionaries(s, at);
	return 0;
}

/* Counts n events of a block that are outside the selection. */
static void skip_events(struct ige_seek *s, const struct ige_place *b, uint32_t n)
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

static int decode_block(struct ige_seek *s, const struct ige_place *b, struct err *e)
{
	struct ige_dict_reader *dict = &s->dicts[b->section].reader;
	bool partial = false;
	struct err why = { 0 };
	struct ige_view v;
	int rc = s->dicts[b->section].loaded ? 0 : load_definitions(s, b->section, e);

	if (rc)
		return rc;
	rc = ige_block_index_read(&s->places, b->offset, b->length, &v, &why);
	if (!rc)
		rc = ige_view_check(&v, &why);
	s->next = 0;
	if (!rc && b->type == IGE_EVENTS) {
		s->decoder.dict = dict;
		s->decoder.window = s->window;
		rc = ige_decode_events(&s->decoder, &v, &partial, &why);
		if (!rc) {
			s->events = b;
			s->floor_ns = ige_header_floor(&v.header);
			s->report.events += s->decoder.events.n;
			skip_events(s, b, s->decoder.passed);
			s->report.damaged_events +=
				v.header.n - s->decoder.passed - s->decoder.events.n;
		}
	} else if (!rc) {
		rc = ige_records_decode(&s->records, &v, dict, &partial, &why);
		s->has_records = !rc;
		if (!rc)
			s->report.records += s->records.list.n;
	}
	return handle_result(s, b, rc, partial, &why, e);
}

/* The next batch of the decoded block's events. */
static void emit_events(struct ige_seek *s, struct stream_item *item)
{
	const struct ige_place *b = s->events;
	size_t left = s->decoder.events.n - s->next;

	item->kind = STREAM_EVENTS;
	item->events = left ? s->decoder.events.v + s->next : NULL;
	item->n = left < BATCH ? left : BATCH;
	item->late = b->flags & IGE_LATE;
	item->lost = s->next ? 0 : b->lost;
	s->next += item->n;
	if (s->next < s->decoder.events.n)
		return;
	if (!item->late) {
		item->watermark_ns = b->end_max;
		item->floor_ns = s->floor_ns;
	}
	s->last = b->flags & IGE_LAST;
	s->events = NULL;
}

static void leave_out(struct ige_seek *s, const struct ige_place *b)
{
	struct stream_item *skipped = &s->skipped;

	skipped->lost += b->lost;
	skip_events(s, b, b->n);
	if (b->n && !(b->flags & IGE_LATE) && b->end_max > skipped->watermark_ns)
		skipped->watermark_ns = b->end_max;
}

static const struct stream_item nothing = { .kind = STREAM_EVENTS,
					    .watermark_ns = INT64_MIN,
					    .floor_ns = INT64_MIN };

/* Emits the count of events left out so far, before the next item. */
static bool emit_skipped(struct ige_seek *s, struct stream_item *item)
{
	if (!s->skipped.skipped && !s->skipped.lost)
		return false;
	*item = s->skipped;
	s->skipped = nothing;
	return true;
}

static bool is_wanted(const struct ige_seek *s, const struct ige_place *b)
{
	return s->what & IGE_SEEK_EVENTS && is_overlapping(b, s->window[0], s->window[1]) &&
	       (!s->ops || b->ops & s->ops);
}

/* The offset to UTC in a segment header. */
static int64_t real_minus_mono(const struct ige_seek *s, const struct ige_place *b)
{
	unsigned char bytes[IGE_SEGMENT_BYTES];
	struct ige_segment segment;

	if (pread(s->places.fd, bytes, sizeof(bytes), (off_t)b->offset) != sizeof(bytes) ||
	    ige_segment_unpack(&segment, bytes, NULL))
		return 0;
	return segment.real_minus_mono_ns;
}

static int seek_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct ige_seek *s =
		(struct ige_seek *)((char *)stream - offsetof(struct ige_seek, stream));

	*item = nothing;
	for (;;) {
		const struct ige_place *b;
		bool taken;
		int rc = 0;

		if (s->events) {
			if (!s->next && s->what & IGE_SEEK_RECORDS && emit_skipped(s, item))
				return 1;
			emit_events(s, item);
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
		if (s->at == s->places.list.n)
			return emit_skipped(s, item);
		b = &s->places.list.v[s->at];
		/* Nothing but events is wanted, and none follow. */
		if (s->what == IGE_SEEK_EVENTS && b->reach >= s->window[1])
			return 0;
		if ((b->type == IGE_PLACE_SEGMENT || b->type == IGE_RECORDS || is_wanted(s, b) ||
		     b->flags & IGE_LAST) &&
		    s->what & IGE_SEEK_RECORDS && emit_skipped(s, item))
			return 1;
		s->at++;
		s->report.blocks += b->type != IGE_PLACE_SEGMENT;
		switch (b->type) {
		case IGE_PLACE_SEGMENT:
			s->report.segments++;
			item->kind = STREAM_SEGMENT;
			item->real_minus_mono_ns = real_minus_mono(s, b);
			return 1;
		case IGE_RECORDS:
			if (s->what & IGE_SEEK_RECORDS)
				rc = decode_block(s, b, e);
			break;
		case IGE_EVENTS:
			s->report.lost_events += b->lost;
			taken = is_wanted(s, b);
			/* Without an index its segment's definitions may still say that it holds
			 * none. */
			if (taken && s->ops && !s->dicts[b->section].loaded)
				rc = load_definitions(s, b->section, e);
			taken &= !s->ops || s->dicts[b->section].reader.site_ops & s->ops;
			if (!rc && taken)
				rc = decode_block(s, b, e);
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
	s->report = s->places.ending;
	s->stream = (struct event_stream){ seek_next, seek_close };
	return &s->stream;
}

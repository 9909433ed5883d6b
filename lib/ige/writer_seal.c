/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seals a writer's open block: writes, in this order, definitions that were not in the file yet,
 * records, events. A segment ends between blocks; the next one starts with empty dictionaries.
 */
#include "lib/ige/writer_internal.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/ige/records.h"

#define DICT_SHARE 50 /* a segment may end once events outweigh dictionaries this many times */

static int put_block(struct ige_writer *wr, enum ige_put_kind kind, uint32_t events, struct err *e)
{
	return ige_writer_put(wr, kind, events, 0, e);
}

int ige_writer_put_index(struct ige_writer *wr, struct err *e)
{
	int rc = ige_writer_settle(wr, e);

	if (rc)
		return rc;
	/* A segment of that many blocks cannot be (one flush with tens of thousands of records);
	 * seekers walk it. */
	if (!wr->opt.index || wr->index.rows.n > IGE_EVENTS_MAX)
		return 0;
	rc = ige_index_seal(&wr->index, &wr->builder, &wr->seq, &wr->out, e);
	return rc ? rc : put_block(wr, IGE_PUT_FRAME, 0, e);
}

static int begin_segment(struct ige_writer *wr, struct err *e)
{
	struct ige_segment s = { .major = IGE_MAJOR,
				 .minor = IGE_MINOR,
				 .flags = wr->opt.archive ? IGE_SEGMENT_ARCHIVE : 0,
				 .time_unit_ns = 1,
				 .boot = wr->opt.boot,
				 .real_minus_mono_ns = wr->opt.real_minus_mono_ns,
				 .clock_id = wr->opt.clock_id };
	uint64_t id[2];
	unsigned char *header;
	int rc = ige_writer_settle(wr, e);

	if (rc)
		return rc;
	memcpy(s.node_uuid, wr->opt.node_uuid, sizeof(s.node_uuid));
	/* Unlike every other segment's: its node, boot, wall time and place in the recording. */
	id[0] = hash_bytes(wr->opt.node_uuid, 16,
			   wr->opt.boot ^ (uint64_t)wr->opt.real_minus_mono_ns ^ wr->opt.salt);
	id[1] = hash_u64(id[0] ^ (uint64_t)wr->watermark ^ ++wr->segment << 40);
	memcpy(s.id, id, sizeof(s.id));
	/* Every block says which segment it belongs to, so that a lost header cannot mix up ids. */
	wr->seq = (uint64_t)ige_segment_tag(&s) << 32;
	wr->segment_bytes = wr->event_bytes = 0;
	wr->segment_start = INT64_MIN;
	wr->open = true;
	wr->dict.foreign = world_foreign(wr->world);
	wr->dict.stale = false;
	header = (unsigned char *)buf_reserve(&wr->out, IGE_SEGMENT_BYTES);
	if (!header)
		return err_nomem(e);
	ige_segment_pack(&s, header);
	buf_added(&wr->out, IGE_SEGMENT_BYTES);
	rc = put_block(wr, IGE_PUT_FRAME, 0, e);
	if (!rc)
		rc = ige_schema_seal(wr->world, &wr->builder, &wr->seq, &wr->out, e);
	return rc ? rc : put_block(wr, IGE_PUT_DEFINITIONS, 0, e);
}

static uint32_t floor_us(const struct ige_writer *wr, int64_t end_max)
{
	uint64_t before;

	if (wr->floor == INT64_MIN)
		return IGE_FLOOR_UNKNOWN;
	if (wr->floor >= end_max)
		return 0;
	before = ((uint64_t)end_max - (uint64_t)wr->floor + 999) / 1000;
	return before < IGE_FLOOR_UNKNOWN ? (uint32_t)before : IGE_FLOOR_UNKNOWN;
}

static uint32_t take_lost(struct ige_writer *wr)
{
	uint32_t lost = wr->lost < UINT32_MAX ? (uint32_t)wr->lost : UINT32_MAX;

	wr->lost -= lost;
	return lost;
}

/* Ids of the subjects waiting records refer to, so that their definitions go first. */
static void mint_records(struct ige_writer *wr)
{
	for (size_t i = 0; i < wr->records.n; i++) {
		const struct record *r = &wr->records.v[i];
		const struct record_def *def = record_builtin(r->kind);

		for (unsigned k = 0; def && k < def->nfields; k++) {
			int kind = ige_record_role_kind(def->fields[k].role);
			uint32_t id;

			if (kind < 0 || !record_has(r, def->fields[k].number))
				continue;
			memcpy(&id, (const char *)&r->u + def->fields[k].offset, sizeof(id));
			ige_dict_id(&wr->dict, (enum world_kind)kind, id);
		}
	}
}

/* Runs of one kind become blocks; their order is the order of arrival. */
static int write_records(struct ige_writer *wr, struct err *e)
{
	int rc = 0;

	for (size_t i = 0, n; i < wr->records.n && !rc; i += n) {
		int64_t now = wr->watermark != INT64_MIN  ? wr->watermark
			      : wr->last_end != INT64_MIN ? wr->last_end
							  : 0;
		struct ige_header h = { .seq = wr->seq,
					.end_min = now,
					.end_max = now,
					.start_min = now,
					.start_floor_us = IGE_FLOOR_UNKNOWN };

		n = ige_records_fit(&wr->records.v[i], wr->records.n - i);
		wr->seq++;
		rc = ige_records_seal(&wr->records.v[i], n, &wr->dict, &wr->builder, &h, &wr->out,
				      e);
		if (!rc)
			rc = put_block(wr, IGE_PUT_RECORDS, 0, e);
	}
	wr->records.n = 0;
	arena_free(&wr->texts);
	return rc;
}

int ige_writer_put_rows(struct ige_writer *wr, struct ige_rows *rows, uint8_t flags, struct err *e)
{
	uint32_t n = (uint32_t)rows->n;
	struct ige_header h = {
		.type = IGE_EVENTS, .flags = flags, .seq = wr->seq++, .lost = take_lost(wr)
	};
	int rc;

	if (!n) {
		/* From here on nothing ends earlier, or it is late. */
		if (wr->due > wr->last_end)
			wr->last_end = wr->due;
		h.end_min = h.end_max = h.start_min = wr->last_end;
	}
	h.start_floor_us = floor_us(wr, n ? rows->end_max : h.end_max);
	if (wr->segment_start == INT64_MIN)
		wr->segment_start = n ? rows->end_min : h.end_min;
	rc = rows == &wr->rows ? ige_writer_make_later(wr, &h, n, e) : 0;
	if (!rc)
		rc = ige_rows_seal(rows, &wr->builder, wr->opt.team, &h, &wr->out, e);
	if (!rc)
		rc = ige_writer_put(wr, flags & IGE_LAST ? IGE_PUT_FRAME : IGE_PUT_EVENTS, n,
				    rows == &wr->rows ? wr->row_ops : wr->late_ops, e);
	*(rows == &wr->rows ? &wr->row_ops : &wr->late_ops) = 0;
	return rc < 0 ? rc : 0;
}

bool ige_writer_full(const struct ige_writer *wr, const struct ige_rows *rows)
{
	return rows->n >= wr->opt.block_events || rows->bytes > IGE_ROWS_BYTES_MAX ||
	       ige_dict_due(&wr->dict);
}

void ige_writer_set_times(struct ige_writer *wr, int64_t watermark_ns, int64_t floor_ns)
{
	wr->watermark = watermark_ns;
	wr->floor = floor_ns;
	wr->due = watermark_ns < INT64_MIN + (int64_t)wr->opt.window_ns
			  ? INT64_MIN
			  : watermark_ns - (int64_t)wr->opt.window_ns;
}

static bool is_enough(const struct ige_writer *wr, uint64_t bytes, uint64_t event_bytes)
{
	return bytes > wr->opt.segment_bytes ||
	       (wr->segment_start != INT64_MIN && event_bytes > wr->dict.bytes * DICT_SHARE &&
		(uint64_t)(wr->last_end - wr->segment_start) > wr->opt.segment_ns);
}

/* Whether the segment ends here. What waits is looked at only where it matters how many bytes it
 * is. */
static int is_full(struct ige_writer *wr, bool *full, struct err *e)
{
	uint64_t waiting, events;
	int rc = 0;

	/* Each of its blocks has a number and a row. */
	*full = wr->dict.full || wr->dict.stale ||
		(wr->opt.index && (uint32_t)wr->seq > IGE_INDEX_MAX);
	while (!*full && !rc) {
		*full = is_enough(wr, wr->segment_bytes, wr->event_bytes);
		waiting = ige_writer_waiting(wr, &events);
		if (*full || !wr->nlater ||
		    !is_enough(wr, wr->segment_bytes + waiting, wr->event_bytes + events))
			break;
		rc = ige_writer_put_oldest(wr, e);
	}
	return rc;
}

int ige_writer_seal(struct ige_writer *wr, struct err *e)
{
	int rc = wr->open ? 0 : begin_segment(wr, e);
	bool full = false;

	if (rc)
		return rc;
	if (wr->archive.held.n && !ige_archive_rows(&wr->archive, &wr->rows))
		return err_nomem(e);
	mint_records(wr);
	ige_dict_symbols(&wr->dict);
	rc = ige_dict_seal(&wr->dict, &wr->builder, &wr->seq, &wr->out, e);
	if (!rc)
		rc = put_block(wr, IGE_PUT_DEFINITIONS, 0, e);
	if (!rc)
		rc = write_records(wr, e);
	if (!rc && wr->rows.n)
		rc = ige_writer_put_rows(wr, &wr->rows, 0, e);
	if (!rc && wr->late.n)
		rc = ige_writer_put_rows(wr, &wr->late, IGE_LATE, e);
	if (!rc && !wr->cutting)
		rc = is_full(wr, &full, e);
	if (!rc && full) {
		rc = ige_writer_put_index(wr, e);
		ige_dict_writer_reset(&wr->dict);
		wr->open = false;
	}
	return rc;
}

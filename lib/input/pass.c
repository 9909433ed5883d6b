/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a recording block by block, and writes its index anew where asked. The index is complete
 * at the end of a segment: it goes before the LAST block, which has no events then, or after
 * everything. A LAST block with events becomes one without the flag and an empty one with it.
 */
#include "lib/input/pass.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/ige/columns.h"
#include "lib/ige/index.h"

struct pass {
	struct ige_sink *sink;
	struct ige_reader *reader;
	struct pass_result *result;
	struct ige_index index;
	struct ige_builder builder;
	struct buf block;
	struct map chains;
	bool reindex, in_segment;
	uint64_t seq;	 /* of the next block of ours */
	uint64_t damage; /* of the report, when the segment began */
};

static uint64_t damage_of(const struct pass *p)
{
	const struct ige_report *r = ige_reader_report(p->reader);

	return r->damaged_blocks + r->skipped_bytes;
}

static int put_block(struct pass *p, const void *bytes, size_t n, uint64_t ops, uint32_t events,
		     struct err *e)
{
	if (p->reindex && !ige_index_add(&p->index, bytes, n, ops))
		return err_nomem(e);
	return p->sink->put(p->sink, IGE_PUT_FRAME, bytes, n, events, e);
}

/* INDEX and TRAILER of the segment that ends here; a segment of too many blocks is left without. */
static int end_segment(struct pass *p, struct err *e)
{
	int rc = 0;

	if (p->reindex && p->in_segment && p->index.rows.n && p->index.rows.n <= IGE_EVENTS_MAX) {
		buf_reset(&p->block);
		rc = ige_index_seal(&p->index, &p->builder, &p->seq, &p->block, e);
		if (!rc)
			rc = p->sink->put(p->sink, IGE_PUT_FRAME, p->block.p, p->block.n, 0, e);
	}
	p->in_segment = false;
	return rc;
}

/* Which ops a block's events are of, as an index says it. */
static uint64_t ops_of(const struct pass *p)
{
	const struct ige_arrays *a = ige_reader_arrays(p->reader);
	const struct ige_dict_reader *dict = ige_reader_dict(p->reader);
	uint64_t ops = 0;

	if (!a)
		return UINT64_MAX;
	for (uint32_t i = 0; i < a->n; i++) {
		uint16_t op = dict->sites.v[a->column[IGE_SITE][i]].op;

		ops |= op ? ige_op_bit(op) : UINT64_MAX;
	}
	return ops;
}

/* Writes a block with the header h, which has another sequence number and other flags. */
static int put_changed(struct pass *p, const struct ige_block *b, struct ige_header h,
		       struct err *e)
{
	unsigned char head[IGE_BLOCK_BYTES];

	ige_header_pack(&h, head);
	buf_reset(&p->block);
	buf_add(&p->block, head, sizeof(head));
	buf_add(&p->block, (const char *)b->bytes + sizeof(head), b->n - sizeof(head));
	if (p->block.failed)
		return err_nomem(e);
	return put_block(p, p->block.p, p->block.n, ops_of(p), h.n, e);
}

static int last_block(struct pass *p, const struct ige_block *b, struct err *e)
{
	struct ige_header h;
	struct ige_header empty;
	int rc = ige_header_unpack(&h, b->bytes, e);

	if (rc)
		return rc;
	if (h.n || h.ncol) {
		h.flags &= (uint8_t)~IGE_LAST;
		h.seq = p->seq++;
		rc = put_changed(p, b, h, e);
		/* What it said of time and losses was said. */
		h.end_min = h.start_min = h.end_max;
		h.n = h.lost = 0;
	}
	if (!rc)
		rc = end_segment(p, e);
	empty = (struct ige_header){ .type = IGE_EVENTS,
				     .flags = IGE_LAST,
				     .seq = p->seq,
				     .end_min = h.end_min,
				     .end_max = h.end_max,
				     .start_min = h.start_min,
				     .lost = h.lost,
				     .start_floor_us = h.start_floor_us };
	buf_reset(&p->block);
	ige_builder_reset(&p->builder);
	if (!rc)
		rc = ige_builder_seal(&p->builder, &empty, &p->block, e);
	return rc ? rc : p->sink->put(p->sink, IGE_PUT_FRAME, p->block.p, p->block.n, 0, e);
}

static int pass_block(struct pass *p, const struct ige_block *b, struct err *e)
{
	int rc = 0;

	if (b->n == IGE_SEGMENT_BYTES && !memcmp(b->bytes, IGE_SEGMENT_MAGIC, 8)) {
		struct ige_segment s;

		rc = end_segment(p, e);
		if (!rc && !ige_segment_unpack(&s, b->bytes, NULL))
			p->seq = (uint64_t)ige_segment_tag(&s) << 32;
		p->in_segment = true;
		p->damage = damage_of(p);
		return rc ? rc : put_block(p, b->bytes, b->n, 0, 0, e);
	}
	if (b->type == IGE_INDEX || b->type == IGE_TRAILER) {
		/* Where something was left out it would lie. */
		if (p->reindex || p->damage != damage_of(p))
			return 0;
	} else if (p->reindex && b->last) {
		return last_block(p, b, e);
	}
	p->seq = b->seq + 1;
	return put_block(p, b->bytes, b->n, b->type == IGE_EVENTS ? ops_of(p) : 0, 0, e);
}

static int collect_findings(struct pass *p, struct err *e)
{
	struct stream_item item;
	int rc;

	while ((rc = ige_reader_items(p->reader, &item, e)) > 0) {
		const struct bytes *id;

		if (item.kind != STREAM_RECORD || item.record->kind != RECORD_CHAIN)
			continue;
		id = &item.record->u.CHAIN.id;
		if (!map_put(&p->chains, hash_bytes(id->p ? id->p : "", id->n, 0), 1))
			return err_nomem(e);
	}
	return rc;
}

int pass_run(struct input *in, bool reindex, struct ige_sink *sink, bool (*interrupted)(void),
	     struct pass_result *result, struct err *e)
{
	struct pass p = {
		.sink = sink, .reader = input_reader(in), .result = result, .reindex = reindex
	};
	struct input_told told;
	struct ige_block b;
	int rc = 0;

	*result = (struct pass_result){ 0 };
	ige_reader_want(p.reader, IGE_WANT_OWN);
	/* The beginning was read to see whose it is. */
	if (input_told(in, 0, &told) && told.head->known) {
		b = (struct ige_block){ .bytes = told.head->bytes, .n = IGE_SEGMENT_BYTES };
		rc = pass_block(&p, &b, e);
	}
	while (!rc && (rc = ige_reader_block(p.reader, &b, e)) > 0) {
		rc = pass_block(&p, &b, e);
		if (!rc)
			rc = collect_findings(&p, e);
		if (!rc && interrupted && interrupted())
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	if (!rc)
		rc = end_segment(&p, e);
	result->events = ige_reader_report(p.reader)->events;
	result->chains = p.chains.n;
	ige_index_free(&p.index);
	ige_builder_free(&p.builder);
	buf_free(&p.block);
	map_free(&p.chains);
	return rc;
}

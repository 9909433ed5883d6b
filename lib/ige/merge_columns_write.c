/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges rows of inputs into the open block column by column, without making events of them. The
 * ids that an input's sites and contexts have in the segment being written are cached. First all
 * rows are written as far as their ids are known. Then those that need more are visited in order:
 * rows with values of their own, and rows whose site or context is new; the latter are written as
 * events, so that the same ids are minted in the same order.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/ige/merge_columns_internal.h"

/* The earliest start of rows, or what was before. */
static inline __attribute__((always_inline)) int64_t start(const uint64_t *end, const uint64_t *dur,
							   size_t n, int64_t before)
{
	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)(end[i] - dur[i]);

		before = at < before ? at : before;
	}
	return before;
}

static int64_t start_plain(const uint64_t *end, const uint64_t *dur, size_t n, int64_t before)
{
	return start(end, dur, n, before);
}

#if CPU_X86
static CPU_AVX2 int64_t start_avx2(const uint64_t *end, const uint64_t *dur, size_t n,
				   int64_t before)
{
	return start(end, dur, n, before);
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

/* For classes that have some of these slots: adds the pending entries of rows without values to
 * their extras. False: out of memory. */
static bool flush_plain(struct ige_writer *wr, uint64_t slots)
{
	struct ige_rows *rows = &wr->rows;

	for (size_t k = 0; k < wr->weaver.classes.n; k++) {
		struct ige_woven_class *class = &wr->weaver.classes.v[k];

		if (!class->plain || !(class->slots & slots))
			continue;
		wr->row_ops |= class->bit;
		for (unsigned i = 0; i < class->n; i++) {
			struct ige_extra *x = &rows->extras.v[class->slot[i]];

			if (!vec_reserve(&x->eligible, class->plain))
				return false;
			memset(x->eligible.v + x->eligible.n, 0, class->plain);
			x->eligible.n += class->plain;
			x->gaps = true;
			rows->bytes += class->plain;
		}
		class->plain = 0;
	}
	return true;
}

static bool flush_all_plain(struct ige_writer *wr)
{
	bool told = flush_plain(wr, UINT64_MAX);

	for (size_t k = 0; k < wr->weaver.classes.n; k++) {
		struct ige_woven_class *class = &wr->weaver.classes.v[k];

		if (class->plain)
			wr->row_ops |= class->bit;
		class->plain = 0;
	}
	return told;
}

/* Values of the columns that do not stand in the site; false: out of memory. */
static bool put_left(struct ige_writer *wr, const struct ige_woven *in, uint32_t layout)
{
	struct ige_rows *rows = &wr->rows;
	struct ige_dict_reader *dict = in->sheet->decoder->dict;
	struct ige_woven_op *op = &in->ops.v[layout];

	wr->row_ops |= wr->weaver.classes.v[op->class].bit;
	if (!flush_plain(wr, op->slots))
		return false;
	if (op->block != in->sparse->block)
		ige_column_merger_queues(in, op, layout, dict);
	for (unsigned i = 0; i < op->n; i++) {
		const struct ige_woven_left *left = &op->left[i];
		struct ige_extra *x = &rows->extras.v[left->slot];
		uint64_t value;
		bool there = left->queue >= 0 &&
			     ige_sparse_take(in->sparse, (unsigned)left->queue, &value);

		if (there && left->kind >= 0)
			value = ige_dict_world_id(dict, (enum world_kind)left->kind, value);
		if (there && left->to >= 0)
			value = ige_dict_id(&wr->dict, (enum world_kind)left->to, (uint32_t)value);
		if (!vec_push(&x->eligible, there) || (there && !vec_push(&x->values, value)))
			return false;
		x->gaps |= !there;
		rows->bytes += there ? 9 : 1;
	}
	return !wr->dict.failed;
}

/* The way of events. */
static int put_event(struct ige_writer *wr, struct ige_woven *in, uint32_t row, struct err *e)
{
	const struct ige_block_view *s = in->sheet;
	uint64_t site = s->decoder->a.column[IGE_SITE][row];
	const struct ige_written_op *op;
	struct event ev;
	uint32_t id;

	ige_block_view_event(s, row, &ev);
	if (ige_event_nowhere(&ev)) {
		wr->lost++;
		return 0;
	}
	op = ige_dict_op(&wr->dict, ev.op);
	if (!op)
		return err_set(e, ERR_USAGE, "event of unknown op %u", ev.op);
	if (!ige_rows_add(&wr->rows, &ev, op))
		return err_nomem(e);
	wr->row_ops |= ige_op_bit(ev.op);
	wr->last_end = ev.end_ns;
	id = (uint32_t)wr->rows.column[IGE_SITE][wr->rows.n - 1];
	ige_column_merger_learn(wr, in, site, id, op->def);
	return 0;
}

/* Rows as far as they are known, behind those of the open block. An input at a time: the columns of
 * all of them together are more streams than a processor sees by itself. False: out of memory. */
static bool put_down(struct ige_column_merger *weaver, struct ige_rows *rows, const uint32_t *refs,
		     size_t n)
{
	uint64_t *const durs = rows->column[IGE_DUR] + rows->n,
			*const ctxs = rows->column[IGE_CTX] + rows->n,
			*const sites = rows->column[IGE_SITE] + rows->n,
			*const depths = rows->column[IGE_DEPTH] + rows->n;
	struct ige_stand *const all = weaver->stands.v;
	uint32_t at = 0;

	weaver->places.n = 0;
	if (!vec_reserve(&weaver->places, n))
		return false;
	for (size_t i = 0; i < n; i++)
		all[refs[i] >> 16].count++;
	for (size_t k = 0; k < weaver->stands.n; k++) {
		all[k].at = at;
		at += all[k].count;
	}
	for (size_t i = 0; i < n; i++)
		weaver->places.v[all[refs[i] >> 16].at++] = (uint16_t)i;
	for (size_t k = 0; k < weaver->stands.n; k++) {
		const struct ige_stand in = all[k];
		const uint16_t *place = weaver->places.v + in.at - in.count;
		uint64_t row = in.count ? refs[*place] & 0xffff : 0;

		for (uint32_t i = 0; i < in.count; i++, row++) {
			durs[place[i]] = in.dur[row];
			ctxs[place[i]] = in.here[in.ctx[row]];
			sites[place[i]] = in.known[in.site[row]];
			depths[place[i]] = (uint16_t)in.depth[row & in.depths];
		}
		all[k].count = 0;
	}
	return true;
}

/* n rows of the open block from `from` on are whole: what is known of them together. */
static void count_in(struct ige_writer *wr, size_t from, size_t n)
{
	struct ige_rows *rows = &wr->rows;
	const uint64_t *end = rows->column[IGE_END] + from, *dur = rows->column[IGE_DUR] + from;

	rows->start_min = BEST(start)(end, dur, n, rows->start_min);
	rows->n = from + n;
	rows->end_max = wr->last_end = (int64_t)end[n - 1];
}

/* Completes a row that put_down could not; *events is incremented if it was written as an event. */
static int put_special(struct ige_writer *wr, uint32_t ref, size_t at, size_t *events,
		       struct err *e)
{
	struct ige_woven *in = &wr->weaver.inputs.v[ref >> 16];
	const struct ige_stand *stand = &wr->weaver.stands.v[ref >> 16];
	struct ige_rows *rows = &wr->rows;
	const uint32_t row = ref & 0xffff;
	uint64_t site = stand->known[stand->site[row]], ctx = stand->here[stand->ctx[row]];

	/* Rows completed since then may have defined them. */
	if (site & ID_MASK && !ctx) {
		ige_column_merger_contexts(wr, in);
		ctx = stand->here[stand->ctx[row]];
	}
	if (!(site & ID_MASK) || !ctx) {
		rows->n = at;
		++*events;
		return flush_plain(wr, UINT64_MAX) ? put_event(wr, in, row, e) : err_nomem(e);
	}
	rows->column[IGE_CTX][at] = ctx;
	rows->column[IGE_SITE][at] = site;
	if (site & PLAIN)
		wr->weaver.classes.v[site >> CLASS_SHIFT].plain++;
	else if (!put_left(wr, in, (uint16_t)(site >> LAYOUT_SHIFT)))
		return err_nomem(e);
	return 0;
}

/* Completes rows that need only their counts; returns how many of n, up to the first other one. */
static size_t put_plain(struct ige_woven_class *classes, uint64_t *sites, uint64_t *ctxs, size_t n)
{
	size_t i;

	for (i = 0; i < n && sites[i] & ctxs[i] & PLAIN & KNOWN; i++) {
		classes[sites[i] >> CLASS_SHIFT].plain++;
		sites[i] &= ID_MASK;
		ctxs[i] &= KNOWN - 1;
	}
	return i;
}

/* Writes rows into the open block until it is full; *done: how many. */
static int put_rows(struct ige_writer *wr, const struct ige_merge_columns *v, size_t n,
		    size_t *done, struct err *e)
{
	struct ige_rows *rows = &wr->rows;
	const size_t from = rows->n;
	uint64_t *sites = rows->column[IGE_SITE] + from, *ctxs = rows->column[IGE_CTX] + from;
	size_t i, events = 0;
	bool full = false;

	if (!from) {
		rows->end_min = v->ends[0];
		rows->start_min = INT64_MAX;
	}
	if (!put_down(&wr->weaver, rows, v->refs, n))
		return err_nomem(e);
	memcpy(rows->column[IGE_END] + from, v->ends, n * sizeof(*v->ends));
	for (i = 0; i < n && !full; i++) {
		int rc;

		i += put_plain(wr->weaver.classes.v, sites + i, ctxs + i, n - i);
		if (i == n)
			break;
		rc = put_special(wr, v->refs[i], from + i, &events, e);
		if (rc)
			return rc;
		sites[i] &= ID_MASK;
		ctxs[i] &= KNOWN - 1;
		full = ige_dict_due(&wr->dict);
	}
	rows->bytes += (i - events) * IGE_ROW_BYTES;
	count_in(wr, from, i);
	*done = i;
	return flush_all_plain(wr) ? 0 : err_nomem(e);
}

int ige_writer_weave(struct ige_writer *wr, const struct ige_merge_columns *v, size_t n,
		     int64_t watermark_ns, int64_t floor_ns, struct err *e)
{
	int rc;

	if (!n || !v->refs || !v->ordered || wr->opt.archive || wr->opt.window_ns ||
	    ige_pending_count(&wr->pending) || v->ends[0] < wr->last_end ||
	    v->ends[n - 1] > watermark_ns)
		return 0;
	/* Rows may have ops that were defined after the segment's schema was written. */
	if (wr->open && wr->dict.foreign != world_foreign(wr->world)) {
		wr->dict.stale = true;
		rc = ige_writer_seal(wr, e);
		if (rc)
			return rc;
	}
	rc = ige_column_merger_ready(wr, v);
	if (rc <= 0)
		return rc ? err_nomem(e) : 0;
	if (!ige_rows_room(&wr->rows, wr->opt.block_events))
		return err_nomem(e);
	ige_writer_set_times(wr, watermark_ns, floor_ns);
	for (size_t i = 0, more = 0; i < n; i += more) {
		struct ige_merge_columns rest = { v->sheets, v->nsheets, v->refs + i, v->ends + i,
						  true };
		size_t room = wr->opt.block_events - wr->rows.n;

		rc = put_rows(wr, &rest, room < n - i ? room : n - i, &more, e);
		if (rc)
			return rc;
		if (!ige_writer_full(wr, &wr->rows))
			continue;
		rc = ige_writer_seal(wr, e);
		if (rc)
			return rc;
		/* In a new segment they have other ids. */
		if (ige_column_merger_ready(wr, v) < 0)
			return err_nomem(e);
	}
	return 1;
}

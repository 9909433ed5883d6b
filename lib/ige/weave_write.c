/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows into the open block without events in between. The id that a site of an input's segment has in the segment being
 * written is remembered where all of its events stand in the site; a row whose site or context is not known yet, or that
 * has values of its own, goes the way of events, which mints the same ids in the same order.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/ige/weave.h"
#include "lib/ige/writer_state.h"

/* What a site of an input is here; id 0: not known. */
struct ige_woven_site {
	uint32_t id;
	uint16_t layout; /* of the input's ops */
	uint8_t op_bit;
	uint8_t nleft; /* columns that do not stand in it */
};

/* Where the columns come from that do not stand in sites of an op, and which of the block's they go to. */
struct ige_woven_op {
	uint64_t block; /* of the input: queues are those of one */
	unsigned n;
	struct ige_woven_left {
		uint16_t slot; /* in the rows' extras */
		uint8_t column;
		int8_t queue; /* -1: no event of this block has it */
	} left[OP_COLUMNS_MAX];
};

/* Where one input stands, next to what the loop over rows needs. */
struct ige_woven {
	uint64_t turn; /* of the call this was made ready for */
	const uint64_t *dur, *ctx, *site, *depth;
	const uint32_t *ctxs;
	const struct ige_woven_site *known;
	uint32_t nctxs, nknown;
	uint32_t depths;	      /* and-ed with a row: where its depth stands */
	uint64_t generation, written; /* what `known` holds for: segments read and written */
	VEC(struct ige_woven_site) sites;
	VEC(struct ige_woven_op) ops; /* by layout */
	struct ige_sparse *sparse;
};

void ige_weaver_free(struct ige_weaver *v)
{
	for (size_t i = 0; i < v->inputs.n; i++) {
		vec_free(&v->inputs.v[i].sites);
		vec_free(&v->inputs.v[i].ops);
	}
	vec_free(&v->inputs);
}

static bool sane(int64_t t)
{
	return t > -IGE_TIME_MAX / 2 && t < IGE_TIME_MAX / 2;
}

#define MAKE_ROOM(vec, room)                                                          \
	((vec)->n >= (room) ||                                                        \
	 (vec_reserve((vec), (room) - (vec)->n) &&                                    \
	  (memset((vec)->v + (vec)->n, 0, ((room) - (vec)->n) * sizeof((vec)->v[0])), \
	   (vec)->n = (room), true)))

static bool make_ready(struct ige_writer *wr, struct ige_woven *in, const struct ige_sheet *s)
{
	static const uint64_t no_depth[1];
	static const uint32_t no_ctx[1];
	const struct ige_arrays *a = &s->decoder->a;
	const struct ige_dict_reader *dict = s->decoder->dict;

	if (in->generation != dict->generation || in->written != wr->dict.generation) {
		in->generation = dict->generation;
		in->written = wr->dict.generation;
		in->sites.n = in->ops.n = 0;
	}
	if (!MAKE_ROOM(&in->sites, dict->sites.n) || !MAKE_ROOM(&in->ops, dict->ops.n))
		return false;
	in->turn = wr->weaver.turn;
	in->sparse = &s->decoder->sparse;
	in->dur = a->column[IGE_DUR];
	in->ctx = a->column[IGE_CTX];
	in->site = a->column[IGE_SITE];
	in->depth = a->column[IGE_DEPTH] ? a->column[IGE_DEPTH] : no_depth;
	in->depths = a->column[IGE_DEPTH] ? UINT32_MAX : 0;
	in->nctxs = (uint32_t)dict->kind[IGE_D_CTX].ids.n;
	in->ctxs = in->nctxs ? dict->kind[IGE_D_CTX].ids.v : no_ctx;
	in->known = in->sites.v;
	/* Times from nowhere are looked at one by one. */
	in->nknown = sane(a->header.start_min + s->by_ns) && sane(ige_sheet_base(s)) &&
				     sane(a->header.end_max + s->by_ns) &&
				     a->header.end_max - a->header.start_min < IGE_TIME_MAX / 2
			     ? (uint32_t)in->sites.n
			     : 0;
	return true;
}

/* Columns of the op as the world has it that stand in this site; false: what else its events have is not simply values
 * of the others. */
static bool stands(const struct ige_dict_reader *dict, const struct ige_read_site *site,
		   const struct op_def *def, unsigned *args)
{
	const struct ige_file_op *op = &dict->ops.v[site->layout];
	unsigned all = 0;

	*args = 0;
	for (unsigned i = 0; i < op->ncols; i++) {
		bool in_site = site->args >> i & 1;

		if (op->to[i] < 0 || all >> op->to[i] & 1 || (!in_site && op->kind[i] >= 0))
			return false;
		all |= 1u << op->to[i];
		*args |= (unsigned)in_site << op->to[i];
	}
	return def->ncols <= OP_COLUMNS_MAX;
}

/* The event just added was of this site, which is `id` here: its next ones need not be looked at. */
static void learn(struct ige_writer *wr, struct ige_woven *in, const struct ige_sheet *s,
		  uint64_t site, uint32_t id, const struct op_def *def)
{
	const struct ige_dict_reader *dict = s->decoder->dict;
	const struct ige_read_site *from = &dict->sites.v[site];
	struct ige_woven_op *op = &in->ops.v[from->layout];
	unsigned args, left;

	if (site >= in->nknown || from->layout > UINT16_MAX || !stands(dict, from, def, &args) ||
	    args != wr->dict.sites.list.v[id - 1].site.args)
		return;
	left = ((1u << def->ncols) - 1) & ~args;
	/* Those sites of an op that are learned are all alike. */
	op->block = 0;
	op->n = 0;
	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		size_t slot = 0;

		while (slot < wr->rows.extras.n && wr->rows.extras.v[slot].id != def->cols[i])
			slot++;
		if (slot == wr->rows.extras.n || slot > UINT16_MAX)
			return;
		op->left[op->n++] = (struct ige_woven_left){ (uint16_t)slot, (uint8_t)i, -1 };
	}
	in->sites.v[site] = (struct ige_woven_site){ id, (uint16_t)from->layout,
						     (uint8_t)__builtin_ctzll(ige_op_bit(def->id)),
						     (uint8_t)op->n };
}

static void find_queues(const struct ige_woven *in, struct ige_woven_op *op, uint32_t layout,
			const struct ige_dict_reader *dict)
{
	const struct ige_plan *plan = ige_sparse_plan(in->sparse, dict, layout);

	op->block = in->sparse->block;
	for (unsigned i = 0; i < op->n; i++) {
		op->left[i].queue = -1;
		for (unsigned k = 0; k < plan->n; k++)
			if (plan->take[k].to == op->left[i].column)
				op->left[i].queue = (int8_t)plan->take[k].queue;
	}
}

/* Values of the columns that do not stand in the site; false: out of memory. */
static bool put_left(struct ige_rows *rows, const struct ige_woven *in, uint32_t layout,
		     const struct ige_dict_reader *dict)
{
	struct ige_woven_op *op = &in->ops.v[layout];

	if (op->block != in->sparse->block)
		find_queues(in, op, layout, dict);
	for (unsigned i = 0; i < op->n; i++) {
		struct ige_extra *x = &rows->extras.v[op->left[i].slot];
		int queue = op->left[i].queue;
		uint64_t value;
		bool there = queue >= 0 && ige_sparse_take(in->sparse, (unsigned)queue, &value);

		if (!vec_push(&x->eligible, there) || (there && !vec_push(&x->values, value)))
			return false;
		x->gaps |= !there;
		rows->bytes += there ? 9 : 1;
	}
	return true;
}

/* The way of events. */
static int put_event(struct ige_writer *wr, struct ige_woven *in, const struct ige_sheet *s,
		     uint32_t row, struct err *e)
{
	uint64_t site = in->site[row];
	const struct ige_written_op *op;
	struct event ev;
	uint32_t id;

	ige_sheet_event(s, row, &ev);
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
	learn(wr, in, s, site, id, op->def);
	return 0;
}

/* So many columns of so many inputs are more streams than a processor sees by itself. */
#define AHEAD 16
static inline __attribute__((always_inline)) void fetch_ahead(const struct ige_woven *in,
							      uint32_t row)
{
	/* A few rows behind the block's last there is room, whatever stands there. */
	__builtin_prefetch(in->known + in->site[row + AHEAD / 2]);
	__builtin_prefetch(in->site + row + AHEAD);
	__builtin_prefetch(in->ctx + row + AHEAD);
	__builtin_prefetch(in->dur + row + AHEAD);
	__builtin_prefetch(in->depth + (row & in->depths) + AHEAD);
}

/* Rows that need nothing but ids, of at most n; *done: how many they were. False: out of memory. */
static bool put_known(struct ige_writer *wr, const struct ige_weave *v, size_t n, size_t *done)
{
	struct ige_rows *rows = &wr->rows;
	uint64_t *const end_ns = rows->column[IGE_END] + rows->n,
			*const dur_ns = rows->column[IGE_DUR] + rows->n,
			*const ctxs = rows->column[IGE_CTX] + rows->n,
			*const sites = rows->column[IGE_SITE] + rows->n,
			*const depths = rows->column[IGE_DEPTH] + rows->n;
	const uint32_t *ids = wr->dict.kind[WORLD_CTX].ids.v;
	const size_t nids = wr->dict.kind[WORLD_CTX].ids.n;
	const struct ige_woven *const all = wr->weaver.inputs.v;
	const uint64_t turn = wr->weaver.turn;
	int64_t start_min = INT64_MAX;
	uint64_t ops = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct ige_woven *in = &all[v->refs[i] >> 16];
		const struct ige_woven_site *known;
		const uint32_t row = v->refs[i] & 0xffff;
		uint64_t site, ctx;
		uint32_t world;
		int64_t start;

		if (in->turn != turn)
			break;
		fetch_ahead(in, row);
		site = in->site[row];
		ctx = in->ctx[row];
		known = in->known + site;
		if (site >= in->nknown || !known->id)
			break;
		world = in->ctxs[ctx < in->nctxs ? ctx : 0];
		if (world >= nids || (world && !ids[world]))
			break;
		if (known->nleft &&
		    !put_left(rows, in, known->layout, v->sheets[v->refs[i] >> 16]->decoder->dict))
			return false;
		ops |= UINT64_C(1) << known->op_bit;
		start = v->ends[i] - (int64_t)in->dur[row];
		start_min = start < start_min ? start : start_min;
		end_ns[i] = (uint64_t)v->ends[i];
		dur_ns[i] = in->dur[row];
		ctxs[i] = world ? ids[world] : 0;
		sites[i] = known->id;
		depths[i] = (uint16_t)in->depth[row & in->depths];
	}
	*done = i;
	if (!i)
		return true;
	if (!rows->n) {
		rows->end_min = v->ends[0];
		rows->start_min = start_min;
	}
	if (start_min < rows->start_min)
		rows->start_min = start_min;
	rows->end_max = wr->last_end = v->ends[i - 1];
	rows->bytes += i * IGE_ROW_BYTES;
	rows->n += i;
	wr->row_ops |= ops;
	return true;
}

int ige_writer_weave(struct ige_writer *wr, const struct ige_weave *v, size_t n,
		     int64_t watermark_ns, int64_t floor_ns, struct err *e)
{
	struct ige_weaver *weaver = &wr->weaver;
	int rc = 0;

	if (!n || !v->refs || !v->ordered || wr->opt.archive || wr->opt.window_ns ||
	    ige_pending_count(&wr->pending) || v->ends[0] < wr->last_end ||
	    v->ends[n - 1] > watermark_ns)
		return 0;
	ige_writer_set_times(wr, watermark_ns, floor_ns);
	weaver->turn++;
	for (size_t i = 0, more; i < n && !rc; i += more) {
		const uint32_t from = v->refs[i] >> 16, row = v->refs[i] & 0xffff;
		struct ige_weave rest = { v->sheets, v->refs + i, v->ends + i, true };
		size_t room = wr->opt.block_events - wr->rows.n;

		if (!ige_rows_room(&wr->rows, wr->opt.block_events))
			return err_nomem(e);
		while (weaver->inputs.n <= from)
			if (!vec_push(&weaver->inputs, (struct ige_woven){ 0 }))
				return err_nomem(e);
		if (weaver->inputs.v[from].turn != weaver->turn &&
		    !make_ready(wr, &weaver->inputs.v[from], v->sheets[from]))
			return err_nomem(e);
		if (!put_known(wr, &rest, room < n - i ? room : n - i, &more))
			return err_nomem(e);
		if (!more) {
			more = 1;
			rc = put_event(wr, &weaver->inputs.v[from], v->sheets[from], row, e);
		}
		if (!rc && ige_writer_full(wr, &wr->rows)) {
			rc = ige_writer_seal(wr, e);
			/* In a new segment they have other ids. */
			weaver->turn++;
		}
	}
	return rc ? rc : 1;
}

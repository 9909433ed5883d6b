/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps sites and contexts of inputs to their ids in the segment being written. A site's id is known
 * once one of its events was written as an event; for columns that are not part of a site it is
 * known whether an input's block has values at all.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/ige/merge_columns_internal.h"

void ige_column_merger_free(struct ige_column_merger *v)
{
	for (size_t i = 0; i < v->inputs.n; i++) {
		vec_free(&v->inputs.v[i].sites);
		vec_free(&v->inputs.v[i].ctxs);
		vec_free(&v->inputs.v[i].ops);
	}
	vec_free(&v->inputs);
	vec_free(&v->stands);
	vec_free(&v->classes);
	vec_free(&v->places);
}

static bool is_sane_time(int64_t t)
{
	return t > -IGE_TIME_MAX / 2 && t < IGE_TIME_MAX / 2;
}

#define MAKE_ROOM(vec, room)                                                          \
	((vec)->n >= (room) ||                                                        \
	 (vec_reserve((vec), (room) - (vec)->n) &&                                    \
	  (memset((vec)->v + (vec)->n, 0, ((room) - (vec)->n) * sizeof((vec)->v[0])), \
	   (vec)->n = (room), true)))

/* Whether a file can hold all times of a block view; other views are written event by event. */
static bool sane_times(const struct ige_block_view *s)
{
	const struct ige_header *h = &s->decoder->a.header;

	return is_sane_time(h->start_min + s->by_ns) && is_sane_time(ige_block_view_base(s)) &&
	       is_sane_time(h->end_max + s->by_ns) && h->end_max - h->start_min < IGE_TIME_MAX / 2;
}

#define EACH static inline __attribute__((always_inline))

/* Not below any of them. */
EACH uint64_t bound(const uint64_t *v, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= v[i];
	return all;
}

static uint64_t bound_plain(const uint64_t *v, uint32_t n)
{
	return bound(v, n);
}

#if CPU_X86
static CPU_AVX2 uint64_t bound_avx2(const uint64_t *v, uint32_t n)
{
	return bound(v, n);
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

void ige_column_merger_contexts(const struct ige_writer *wr, struct ige_woven *in)
{
	const struct ige_dict_reader *dict = in->sheet->decoder->dict;
	const uint32_t *ids = wr->dict.kind[WORLD_CTX].ids.v;
	const size_t nids = wr->dict.kind[WORLD_CTX].ids.n, nread = dict->kind[IGE_D_CTX].ids.n;

	if (in->nread == nread && in->nwritten == wr->dict.kind[WORLD_CTX].n)
		return;
	in->nread = nread;
	in->nwritten = wr->dict.kind[WORLD_CTX].n;
	for (size_t i = 0; i < in->ctxs.n; i++) {
		/* 0, and what was never defined: nobody's. */
		uint32_t world = i < nread ? dict->kind[IGE_D_CTX].ids.v[i] : 0;

		if (!in->ctxs.v[i] && !world)
			in->ctxs.v[i] = KNOWN;
		else if (!in->ctxs.v[i] && world < nids && ids[world])
			in->ctxs.v[i] = KNOWN | ids[world];
	}
}

void ige_column_merger_queues(const struct ige_woven *in, struct ige_woven_op *op, uint32_t layout,
			      const struct ige_dict_reader *dict)
{
	const struct ige_plan *plan = ige_sparse_plan(in->sparse, dict, layout);

	op->block = in->sparse->block;
	for (unsigned i = 0; i < op->n; i++) {
		op->left[i].queue = -1;
		for (unsigned k = 0; k < plan->n; k++)
			if (plan->take[k].to == op->left[i].column) {
				op->left[i].queue = (int8_t)plan->take[k].queue;
				op->left[i].kind = plan->take[k].kind;
			}
	}
}

/* An op of an input had no values so far. */
static void find_busy(struct ige_woven *in, struct ige_dict_reader *dict)
{
	for (size_t k = 0; k < in->ops.n; k++) {
		struct ige_woven_op *op = &in->ops.v[k];

		if (!op->learned || op->busy)
			continue;
		ige_column_merger_queues(in, op, (uint32_t)k, dict);
		for (unsigned i = 0; i < op->n; i++)
			op->busy |= op->left[i].queue >= 0;
		for (size_t i = 0; i < in->sites.n && op->busy; i++)
			if ((uint16_t)(in->sites.v[i] >> LAYOUT_SHIFT) == k)
				in->sites.v[i] &= ~PLAIN;
	}
}

/* 1: rows of this sheet can be put down; 0: its contexts are no numbers that definitions have;
 * below 0: out of memory. */
static int make_ready(struct ige_writer *wr, struct ige_woven *in, struct ige_stand *stand,
		      const struct ige_block_view *s)
{
	static const uint64_t no_depth[1];
	const struct ige_arrays *a = &s->decoder->a;
	struct ige_dict_reader *dict = s->decoder->dict;
	uint64_t most;

	if (in->generation != dict->generation || in->written != wr->dict.generation) {
		in->generation = dict->generation;
		in->written = wr->dict.generation;
		in->sites.n = in->ctxs.n = in->ops.n = 0;
		in->block = 0;
	}
	in->sheet = s;
	in->sparse = &s->decoder->sparse;
	if (in->block != in->sparse->block) {
		most = BEST(bound)(a->column[IGE_CTX], a->n);
		if (most > 2 * dict->kind[IGE_D_CTX].ids.n + 64)
			return 0;
		if (!MAKE_ROOM(&in->sites, dict->sites.n) || !MAKE_ROOM(&in->ops, dict->ops.n) ||
		    !MAKE_ROOM(&in->ctxs, most + 1))
			return -1;
		in->block = in->sparse->block;
		in->nread = SIZE_MAX;
		find_busy(in, dict);
	}
	ige_column_merger_contexts(wr, in);
	*stand =
		(struct ige_stand){ .dur = a->column[IGE_DUR],
				    .ctx = a->column[IGE_CTX],
				    .site = a->column[IGE_SITE],
				    .depth = a->column[IGE_DEPTH] ? a->column[IGE_DEPTH] : no_depth,
				    .depths = a->column[IGE_DEPTH] ? UINT64_MAX : 0,
				    .known = in->sites.v,
				    .here = in->ctxs.v };
	return 1;
}

/* *args: columns of the world's definition of the op whose values are in this site. False: the
 * site's events do not have exactly one value for each of the other columns. */
static bool find_site_args(const struct ige_dict_reader *dict, const struct ige_read_site *site,
			   const struct op_def *def, unsigned *args)
{
	const struct ige_file_op *op = &dict->ops.v[site->layout];
	unsigned all = 0;

	*args = 0;
	for (unsigned i = 0; i < op->ncols; i++) {
		bool in_site = site->args >> i & 1;

		if (op->to[i] < 0 || all >> op->to[i] & 1)
			return false;
		all |= 1u << op->to[i];
		*args |= (unsigned)in_site << op->to[i];
	}
	return def->ncols <= OP_COLUMNS_MAX;
}

/* The class of a written op's events; NUMBERS: there is none. */
static size_t class_of(struct ige_writer *wr, const struct op_def *def, unsigned args)
{
	struct ige_column_merger *weaver = &wr->weaver;
	unsigned left = ((1u << def->ncols) - 1) & ~args;
	struct ige_woven_class new = { .op = def->id, .args = args, .bit = ige_op_bit(def->id) };

	for (size_t i = 0; i < weaver->classes.n; i++)
		if (weaver->classes.v[i].op == def->id && weaver->classes.v[i].args == args)
			return i;
	for (; left; left &= left - 1) {
		uint16_t id = def->cols[__builtin_ctz(left)];
		size_t slot = 0;

		while (slot < wr->rows.extras.n && wr->rows.extras.v[slot].id != id)
			slot++;
		if (slot == wr->rows.extras.n || slot > UINT16_MAX)
			return NUMBERS;
		new.slots |= UINT64_C(1) << (slot < 63 ? slot : 63);
		new.slot[new.n++] = (uint16_t)slot;
	}
	if (weaver->classes.n == NUMBERS || !vec_push(&weaver->classes, new))
		return NUMBERS;
	return weaver->classes.n - 1;
}

void ige_column_merger_learn(struct ige_writer *wr, struct ige_woven *in, uint64_t site,
			     uint32_t id, const struct op_def *def)
{
	struct ige_dict_reader *dict = in->sheet->decoder->dict;
	const struct ige_read_site *from = &dict->sites.v[site];
	struct ige_woven_op *op = &in->ops.v[from->layout];
	unsigned args, left;
	size_t class;

	if (from->layout >= NUMBERS || !find_site_args(dict, from, def, &args) ||
	    args != wr->dict.sites.list.v[id - 1].site.args)
		return;
	if (!op->learned) {
		class = class_of(wr, def, args);
		if (class == NUMBERS)
			return;
		*op = (struct ige_woven_op){ .learned = true,
					     .args = args,
					     .class = (uint16_t) class,
					     .slots = wr->weaver.classes.v[class].slots };
		left = ((1u << def->ncols) - 1) & ~args;
		for (; left; left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctz(left);
			const struct column_def *column = world_column(wr->world, def->cols[i]);

			op->left[op->n] = (struct ige_woven_left){
				.slot = wr->weaver.classes.v[class].slot[op->n],
				.column = (uint8_t)i,
				.to = (int8_t)(column ? world_kind_of_role(column->role) : -1),
			};
			op->n++;
		}
		ige_column_merger_queues(in, op, from->layout, dict);
		for (unsigned i = 0; i < op->n; i++)
			op->busy |= op->left[i].queue >= 0;
	}
	/* Those of an op that are learned are all alike. */
	if (op->args == args)
		in->sites.v[site] = id | (op->busy ? 0 : PLAIN) |
				    (uint64_t)from->layout << LAYOUT_SHIFT |
				    (uint64_t)op->class << CLASS_SHIFT;
}

int ige_column_merger_ready(struct ige_writer *wr, const struct ige_merge_columns *v)
{
	struct ige_column_merger *weaver = &wr->weaver;
	int rc = 1;

	for (unsigned i = 0; i < v->nsheets && rc > 0; i++) {
		if (i == weaver->inputs.n && (!vec_push(&weaver->inputs, (struct ige_woven){ 0 }) ||
					      !vec_push(&weaver->stands, (struct ige_stand){ 0 })))
			return -1;
		if (v->sheets[i])
			rc = sane_times(v->sheets[i])
				     ? make_ready(wr, &weaver->inputs.v[i], &weaver->stands.v[i],
						  v->sheets[i])
				     : 0;
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per op a flat array of counts with the sketch's own buckets. A site says which op it is of and
 * whether it failed, so that counting an event is one look at a small table and one increment.
 */
#include "lib/query/brief.h"

#include <stdlib.h>
#include <string.h>

#include "lib/query/exact.h"
#include "lib/base/cpu.h"

#define FAILED	   0x8000u /* in a site's slot: its calls return an error */
#define SLOT	   (FAILED - 1)
#define COUNTS_MAX (1u << 31)

#define LANES 4

struct slot {
	const struct op_def *op;
	/* Events in turn go to different sums: one of an op that fills the recording need not wait
	 * for the one before. */
	uint64_t sum[LANES], min, max;
	uint32_t *counts;	/* SKETCH_SUB * SKETCH_OCTAVES, see sketch_bucket */
	struct exact_op *exact; /* NULL: exact quantiles were not requested */
	uint32_t *fine;		/* NULL where exact is; short durations, not yet in counts */
};

struct brief {
	const struct world *world;
	struct query_ops_run *run;
	VEC(struct slot) slots;		    /* [0]: what is of no known op */
	VEC(uint16_t) of_site;		    /* slot of each site of the segment, worked out once */
	const struct ige_dict_reader *dict; /* those sites are of its segment `generation` */
	uint64_t generation;
	uint64_t since; /* events since brief_flush handed the counts on */
	uint16_t *of_op;
};

static bool open_slot(struct slot *s, struct exact *x)
{
	s->min = UINT64_MAX;
	s->counts = calloc(SKETCH_BUCKETS, sizeof(*s->counts));
	s->fine = x ? calloc(EXACT_FINE, sizeof(*s->fine)) : NULL;
	s->exact = x && s->op ? exact_op(x, s->op->id) : NULL;
	return s->counts && (!x || (s->fine && (s->exact || !s->op)));
}

static void free_slot(struct slot *s)
{
	free(s->counts);
	free(s->fine);
}

struct brief *brief_new(const struct world *w, struct query_ops_run *run)
{
	struct brief *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->world = w;
	b->run = run;
	b->of_op = calloc(UINT16_MAX + 1u, sizeof(*b->of_op));
	if (!b->of_op || !vec_push(&b->slots, (struct slot){ 0 }) ||
	    !open_slot(&b->slots.v[0], query_ops_get_exact(run))) {
		brief_free(b);
		return NULL;
	}
	return b;
}

void brief_free(struct brief *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->slots.n; i++)
		free_slot(&b->slots.v[i]);
	vec_free(&b->slots);
	vec_free(&b->of_site);
	free(b->of_op);
	free(b);
}

/* 0: of no known op, or no room for one more. */
static uint16_t slot_of(struct brief *b, uint16_t op, struct err *e, int *rc)
{
	const struct op_def *def = world_op(b->world, op);

	if (!def || b->of_op[op] || b->slots.n == FAILED)
		return def ? b->of_op[op] : 0;
	if (!vec_push(&b->slots, (struct slot){ .op = def }))
		return (uint16_t)(*rc = err_nomem(e), 0);
	if (!open_slot(&b->slots.v[b->slots.n - 1], query_ops_get_exact(b->run))) {
		free_slot(&b->slots.v[--b->slots.n]);
		return (uint16_t)(*rc = err_nomem(e), 0);
	}
	return b->of_op[op] = (uint16_t)(b->slots.n - 1);
}

static int learn_sites(struct brief *b, const struct ige_dict_reader *dict, struct err *e)
{
	size_t n = dict->sites.n;
	int rc = 0;

	/* Sites never change once defined; those that were not yet are asked again with each
	 * segment only. */
	if (b->dict != dict || b->generation != dict->generation)
		b->of_site.n = 0;
	b->dict = dict;
	b->generation = dict->generation;
	if (!vec_reserve(&b->of_site, n + 1))
		return err_nomem(e);
	for (size_t i = b->of_site.n; i < n && !rc; i++) {
		const struct ige_read_site *site = &dict->sites.v[i];
		uint16_t slot = site->op ? slot_of(b, site->op, e, &rc) : 0;

		if (slot && event_failed(site->op, site->ret) &&
		    b->slots.v[slot].op->flags & OP_CALL)
			slot |= FAILED;
		b->of_site.v[i] = slot;
	}
	b->of_site.n = n > dict->sites_defined + 1 ? dict->sites_defined + 1 : n;
	return rc;
}

void brief_restart_exact(struct brief *b)
{
	b->dict = NULL;
}

int brief_count_exact(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
		      struct err *e)
{
	const uint64_t *dur = a->column[IGE_DUR], *site = a->column[IGE_SITE];
	struct exact *x = query_ops_get_exact(b->run);
	int rc = a->n == a->dropped ? 0 : learn_sites(b, dict, e);

	for (uint32_t i = 0; i < a->n && a->n != a->dropped && !rc; i++) {
		unsigned slot = b->of_site.v[site[i]] & SLOT;

		/* What came in since is not asked for. */
		if (!slot || x->again == x->counted)
			continue;
		x->again++;
		exact_count_again(b->slots.v[slot].exact, dur[i]);
	}
	return rc;
}

/* True: there are failed calls among them. Events of unknown ops are counted in slot 0, whose
 * counts are never read. */
static inline __attribute__((always_inline)) bool count_each(struct slot *slots,
							     const uint16_t *of_site,
							     const uint64_t *site,
							     const uint64_t *dur, uint32_t n)
{
	uint16_t any = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint16_t at = of_site[site[i]];
		struct slot *s = &slots[at & SLOT];
		uint64_t v = dur[i];

		any |= at;
		s->counts[sketch_bucket(v)]++;
		s->sum[i % LANES] += v;
		if (v < s->min)
			s->min = v;
		if (v > s->max)
			s->max = v;
	}
	return any & FAILED;
}

#if CPU_X86
static CPU_LZCNT bool count_lzcnt(struct slot *slots, const uint16_t *of_site, const uint64_t *site,
				  const uint64_t *dur, uint32_t n)
{
	return count_each(slots, of_site, site, dur, n);
}
#endif

static bool count_calls(struct slot *slots, const uint16_t *of_site, const uint64_t *site,
			const uint64_t *dur, uint32_t n)
{
#if CPU_X86
	if (cpu_has_lzcnt())
		return count_lzcnt(slots, of_site, site, dur, n);
#endif
	return count_each(slots, of_site, site, dur, n);
}

/* The same when each duration matters: buckets, sums and extremes of the short ones follow from how
 * many there are of each. False: out of memory. */
static bool count_fine(struct brief *b, const struct ige_arrays *a, struct exact *x, bool *failed)
{
	const uint64_t *dur = a->column[IGE_DUR], *site = a->column[IGE_SITE];
	const uint16_t *of_site = b->of_site.v;
	struct slot *slots = b->slots.v;
	uint16_t any = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		uint16_t at = of_site[site[i]];
		struct slot *s = &slots[at & SLOT];
		uint64_t v = dur[i];

		any |= at;
		if (v < EXACT_FINE) {
			s->fine[v]++;
			continue;
		}
		s->counts[sketch_bucket(v)]++;
		s->sum[0] += v;
		if (v < s->min)
			s->min = v;
		if (v > s->max)
			s->max = v;
		if (at & SLOT && !exact_count(x, s->exact, v))
			return false;
	}
	*failed = any & FAILED;
	return true;
}

int brief_count_block(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
		      struct err *e)
{
	const uint64_t *dur = a->column[IGE_DUR], *site = a->column[IGE_SITE];
	struct exact *x = query_ops_get_exact(b->run);
	bool grouped = a->header.flags & IGE_GROUPED, failed;
	int rc;

	if (a->n == a->dropped) {
		query_ops_add_block(b->run, NULL, 0, false, a->header.lost);
		return 0;
	}
	rc = learn_sites(b, dict, e);
	if (!rc && b->since > COUNTS_MAX)
		rc = brief_flush(b, e);
	if (rc)
		return rc;
	if (!x)
		failed = count_calls(b->slots.v, b->of_site.v, site, dur, a->n);
	else if (!count_fine(b, a, x, &failed))
		return err_nomem(e);
	for (uint32_t i = 0; failed && i < a->n; i++)
		if (b->of_site.v[site[i]] & FAILED &&
		    !query_ops_add_failure(b->run, b->slots.v[b->of_site.v[site[i]] & SLOT].op,
					   dict->sites.v[site[i]].ret))
			return err_nomem(e);
	b->since += a->n;
	query_ops_add_block(b->run,
			    (int64_t[2]){ grouped ? a->header.start_min
						  : a->header.end_min - (int64_t)dur[0],
					  a->header.end_max },
			    a->n - a->dropped, a->header.flags & IGE_LATE, a->header.lost);
	return 0;
}

static void merge_fine(struct brief *b, struct slot *s)
{
	for (unsigned v = 0; v < EXACT_FINE; v++) {
		if (!s->fine[v])
			continue;
		s->counts[sketch_bucket(v)] += s->fine[v];
		s->sum[0] += (uint64_t)v * s->fine[v];
		if (v < s->min)
			s->min = v;
		if (v > s->max)
			s->max = v;
	}
	exact_count_fine(query_ops_get_exact(b->run), s->exact, s->fine);
	memset(s->fine, 0, EXACT_FINE * sizeof(*s->fine));
}

int brief_flush(struct brief *b, struct err *e)
{
	for (size_t i = 1; i < b->slots.n; i++) {
		struct slot *s = &b->slots.v[i];
		struct sketch k = { 0 };
		bool fine;

		if (s->fine)
			merge_fine(b, s);
		k.min = s->min;
		k.max = s->max;
		fine = sketch_add_counts(&k, s->counts);

		for (unsigned lane = 0; lane < LANES; lane++)
			k.sum += s->sum[lane];
		fine = fine && (!k.count || query_ops_add_counts(b->run, s->op, &k));
		sketch_free(&k);
		if (!fine)
			return err_nomem(e);
		memset(s->counts, 0, SKETCH_BUCKETS * sizeof(*s->counts));
		memset(s->sum, 0, sizeof(s->sum));
		s->max = 0;
		s->min = UINT64_MAX;
	}
	b->since = 0;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the EVENTS blocks of a recording into events. Columns are decoded and checked whole, so
 * that a block is refused before anything of it is given; then rows are put together.
 */
#include <stddef.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/ige/events.h"
#include "lib/ige/row_order.h"
#include "lib/ige/merge_columns.h"

#define WINDOW 128 /* events put together at a time: they stay in the processor's first cache */
#define AHEAD  24

void ige_decoder_free(struct ige_decoder *d)
{
	ige_arrays_decoder_free(&d->own);
	ige_sparse_free(&d->sparse);
	vec_free(&d->events);
	vec_free(&d->at);
	vec_free(&d->place);
}

#define INLINE static inline __attribute__((always_inline))

/* Where a site's bytes stand in an event. */
#define SHARED offsetof(struct event, op)
_Static_assert(offsetof(struct event, ret) - SHARED == offsetof(struct ige_read_site, ret) &&
		       offsetof(struct event, stack) - SHARED ==
			       offsetof(struct ige_read_site, stack) &&
		       offsetof(struct event, present) - SHARED ==
			       offsetof(struct ige_read_site, present) &&
		       offsetof(struct event, site) - SHARED ==
			       offsetof(struct ige_read_site, id) &&
		       offsetof(struct event, x) - SHARED == offsetof(struct ige_read_site, x),
	       "a site is copied into an event");

/* Eight columns' worth of zeroes is one vector or two: a loop of single stores is what clearing
 * would cost. */
typedef uint64_t four __attribute__((vector_size(32), aligned(8), may_alias));

INLINE void put_site(const struct ige_read_site *site, struct event *ev)
{
	_Static_assert(OP_COLUMNS_MAX % 4 == 0 && IGE_SITE_X == 4, "x is filled by fours");
	memcpy((char *)ev + SHARED, site, offsetof(struct ige_read_site, x));
	*(four *)(void *)ev->x = *(const four *)(const void *)site->x;
	for (unsigned k = 4; k < OP_COLUMNS_MAX; k += 4)
		*(four *)(void *)&ev->x[k] = (four){ 0 };
}

/* What rows are put together from, at hand: stores into events might change it, for all the
 * compiler knows. */
struct from {
	const uint64_t *end, *dur, *ctx, *site, *depth;
	const struct ige_read_site *sites;
	const uint64_t *args;
	const uint32_t *ctxs;
	int64_t end_min;
	uint32_t n, nctxs;
	uint32_t depths; /* and-ed with a row: where its depth stands */
};

INLINE struct from from_block(const struct ige_decoder *d)
{
	static const uint64_t no_depth[1];
	static const uint32_t no_ctx[1];
	const uint64_t *const *own = d->a.column;
	uint32_t nctxs = (uint32_t)d->dict->kind[IGE_D_CTX].ids.n;

	return (struct from){ .end = own[IGE_END],
			      .dur = own[IGE_DUR],
			      .ctx = own[IGE_CTX],
			      .site = own[IGE_SITE],
			      .depth = own[IGE_DEPTH] ? own[IGE_DEPTH] : no_depth,
			      .depths = own[IGE_DEPTH] ? UINT32_MAX : 0,
			      .sites = d->dict->sites.v,
			      .args = d->dict->args.v,
			      /* 0 is never given out: nothing is known of it. */
			      .ctxs = nctxs ? d->dict->kind[IGE_D_CTX].ids.v : no_ctx,
			      .end_min = d->a.header.end_min,
			      .n = d->a.n,
			      .nctxs = nctxs };
}

/* Sites lie all over memory, but which ones come is known. */
INLINE void fetch_ahead(const struct from *f, uint32_t i)
{
	if (i + AHEAD < f->n)
		__builtin_prefetch(&f->sites[f->site[i + AHEAD]]);
}

/* What the event of row i has of its own and of its site. */
INLINE void put_event(const struct from *f, struct event *ev, const struct ige_read_site *site,
		      uint32_t i)
{
	uint64_t ctx = f->ctx[i];

	put_site(site, ev);
	ev->end_ns = f->end_min + (int64_t)f->end[i];
	ev->dur_ns = f->dur[i];
	ev->depth = (uint16_t)f->depth[i & f->depths];
	ev->ctx = f->ctxs[ctx < f->nctxs ? ctx : 0];
	if (site->nargs > IGE_SITE_X)
		memcpy(ev->x, f->args + site->at, site->nargs * sizeof(*ev->x));
}

/* Its values from the sparse columns; ev NULL: they only stand in front of those of the next. */
static void put_values(struct ige_decoder *d, struct event *ev, const struct ige_read_site *site)
{
	const struct ige_plan *plan = ige_sparse_plan(&d->sparse, d->dict, site->layout);

	for (unsigned k = 0; k < plan->n; k++) {
		int to = plan->take[k].to, kind = plan->take[k].kind;
		uint64_t value;

		if (site->args >> plan->take[k].column & 1 ||
		    !ige_sparse_take(&d->sparse, plan->take[k].queue, &value) || !ev || to < 0)
			continue;
		if (kind >= 0)
			value = ige_dict_world_id(d->dict, (enum world_kind)kind, value);
		ev->x[to] = value;
		ev->present |= 1u << to;
	}
}

/* Rows [from, to) as events, one behind the other. */
INLINE size_t put_rows(struct ige_decoder *d, struct event *events, uint32_t from, uint32_t to)
{
	const struct from f = from_block(d);
	const bool *idle = d->sparse.idle.v;
	size_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct ige_read_site *site = &f.sites[f.site[i]];

		fetch_ahead(&f, i);
		if (!site->op) {
			/* Its definition was lost, and with it which values are its own: what
			 * follows in the sparse columns cannot be placed. The event itself is
			 * dropped, and counted. */
			d->placed = false;
			continue;
		}
		put_event(&f, &events[n], site, i);
		if (!idle[site->layout] && d->placed)
			put_values(d, &events[n], site);
		n++;
	}
	return n;
}

struct event ige_block_view_place(const struct ige_block_view *s, uint32_t row)
{
	const struct from f = from_block(s->decoder);
	uint64_t ctx = f.ctx[row];

	return (struct event){ .end_ns = f.end_min + s->by_ns + (int64_t)f.end[row],
			       .ctx = f.ctxs[ctx < f.nctxs ? ctx : 0],
			       .depth = (uint16_t)f.depth[row & f.depths] };
}

void ige_block_view_event(const struct ige_block_view *s, uint32_t row, struct event *ev)
{
	struct ige_decoder *d = s->decoder;
	const struct from f = from_block(d);
	const struct ige_read_site *site = &f.sites[f.site[row]];

	put_event(&f, ev, site, row);
	ev->end_ns += s->by_ns;
	if (!d->sparse.idle.v[site->layout])
		put_values(d, ev, site);
}

void ige_merge_columns_event(const struct ige_merge_columns *v, size_t i, struct event *ev)
{
	if (v->refs)
		ige_block_view_event(v->sheets[v->refs[i] >> 16], v->refs[i] & 0xffff, ev);
	else
		ige_block_view_event(v->sheets[0], (uint32_t)i, ev);
}

static size_t put_rows_plain(struct ige_decoder *d, struct event *events, uint32_t from,
			     uint32_t to)
{
	return put_rows(d, events, from, to);
}

#if CPU_X86
static CPU_AVX2 size_t put_rows_avx2(struct ige_decoder *d, struct event *events, uint32_t from,
				     uint32_t to)
{
	return put_rows(d, events, from, to);
}
#endif

static size_t put_rows_best(struct ige_decoder *d, struct event *events, uint32_t from, uint32_t to)
{
#if CPU_X86
	if (cpu_has_avx2())
		return put_rows_avx2(d, events, from, to);
#endif
	return put_rows_plain(d, events, from, to);
}

/* Finds the event of each row of a grouped block: sorted by end, then by the block's order column,
 * then by row. */
static bool find_places(struct ige_decoder *d)
{
	uint32_t n = d->a.n;

	d->at.n = d->place.n = 0;
	if (!vec_reserve(&d->at, n) || !vec_reserve(&d->place, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		d->at.v[i] = i;
	if (d->a.column[IGE_ORDER])
		ige_order_by(d->at.v, d->place.v, n, d->a.column[IGE_ORDER]);
	ige_order_by(d->at.v, d->place.v, n, d->a.column[IGE_END]);
	for (uint32_t i = 0; i < n; i++)
		d->place.v[d->at.v[i]] = i;
	return true;
}

static bool asked_for(const struct ige_decoder *d, uint32_t i)
{
	int64_t end = d->a.header.end_min + (int64_t)d->a.column[IGE_END][i];

	return !d->window ||
	       (end >= d->window[0] && end - (int64_t)d->a.column[IGE_DUR][i] < d->window[1]);
}

/* Rows that stand elsewhere than their events, or of which only some are wanted. */
static void put_some(struct ige_decoder *d, bool places)
{
	const struct from f = from_block(d);
	struct event *events = d->events.v;
	size_t n = 0;

	for (uint32_t i = 0; i < d->a.n; i++) {
		const struct ige_read_site *site = &d->dict->sites.v[d->a.column[IGE_SITE][i]];
		struct event *ev = &events[places ? d->place.v[i] : n];
		bool wanted = site->op && asked_for(d, i);

		fetch_ahead(&f, i);
		d->placed &= site->op != 0;
		d->passed += site->op && !wanted;
		n += wanted;
		if (wanted)
			put_event(&f, ev, site, i);
		else if (places)
			ev->op = 0;
		if (site->op && !d->sparse.idle.v[site->layout] && d->placed)
			put_values(d, wanted ? ev : NULL, site);
	}
	/* Events of rows that were left out leave holes. */
	d->events.n = 0;
	for (size_t i = 0; i < (places ? d->a.n : n); i++)
		if (events[i].op)
			events[d->events.n++] = events[i];
}

int ige_decoder_begin(struct ige_decoder *d, const struct ige_view *v, bool *partial, struct err *e)
{
	bool places = v->header.flags & IGE_GROUPED;
	int rc;

	d->events.n = d->given = 0;
	d->row = d->passed = d->total = 0;
	d->placed = true;
	d->whole = places || d->window;
	*partial = false;
	rc = ige_arrays_decode(&d->own, &d->a, d->dict, v, IGE_WANT_EVENTS, e);
	if (!rc)
		rc = ige_sparse_decode(&d->sparse, d->dict, v, partial, e);
	if (rc || d->a.n == 0) {
		d->a.n = 0;
		return rc;
	}
	*partial |= d->a.dropped > 0;
	d->total = d->a.n - d->a.dropped;
	if (!vec_reserve(&d->events, d->whole || d->a.n < WINDOW ? d->a.n : WINDOW) ||
	    (places && !find_places(d)))
		return err_nomem(e);
	if (d->whole) {
		put_some(d, places);
		d->row = d->a.n;
		d->total = (uint32_t)d->events.n;
	}
	return 0;
}

size_t ige_decoder_next(struct ige_decoder *d, const struct event **events)
{
	size_t n;

	if (d->whole) {
		n = d->events.n - d->given < WINDOW ? d->events.n - d->given : WINDOW;
		*events = n ? d->events.v + d->given : NULL;
		d->given += n;
		return n;
	}
	for (n = 0; !n && d->row < d->a.n;) {
		uint32_t to = d->a.n - d->row < WINDOW ? d->a.n : d->row + WINDOW;

		n = put_rows_best(d, d->events.v, d->row, to);
		d->row = to;
	}
	*events = n ? d->events.v : NULL;
	return n;
}

int ige_decode_events(struct ige_decoder *d, const struct ige_view *v, bool *partial, struct err *e)
{
	int rc = ige_decoder_begin(d, v, partial, e);

	if (rc || d->whole)
		return rc;
	if (!vec_reserve(&d->events, d->a.n))
		return err_nomem(e);
	d->events.n = d->a.n ? put_rows_best(d, d->events.v, 0, d->a.n) : 0;
	d->row = d->a.n;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up the class and site of a call. The usual call repeats its site's last class: one hash
 * lookup, one comparison.
 */
#include "lib/account/class_add.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/oom_flag.h"
#include "lib/base/compiler.h"

void classes_free(struct classes *c)
{
	hists_free(&c->hists);
	vec_free(&c->v);
	vec_free(&c->sites);
	vec_free(&c->unused);
	vec_free(&c->unused_sites);
	map_free(&c->of_process);
	map_free(&c->sites_of);
	vec_free(&c->columns);
	vec_free(&c->apart);
	map_free(&c->by_key);
	map_free(&c->by_site);
}

/* Nobody's: no process has this number. */
#define NOBODY UINT32_MAX

static uint64_t class_hash(const struct class_key *key)
{
	return hash_bytes(key, sizeof(*key), 0);
}

/* The newest of its process. */
static uint32_t newest_of(const struct map *m, uint32_t process)
{
	uint64_t at;

	return map_get(m, process, &at) ? (uint32_t)at : 0;
}

static bool class_new(struct classes *c, const struct class_key *key, uint32_t *id)
{
	struct cause_class fresh = { .key = *key, .next = newest_of(&c->of_process, key->process) };

	fresh.plain = hists_new(&c->hists);
	if (!fresh.plain || !vec_reserve(&c->v, 1))
		goto failed;
	*id = c->unused.n ? c->unused.v[c->unused.n - 1] : (uint32_t)c->v.n;
	if (!map_put(&c->by_key, class_hash(key), *id) ||
	    !map_put(&c->of_process, key->process, (uint64_t)*id + 1))
		goto failed;
	if (c->unused.n)
		c->unused.n--;
	else
		c->v.n++;
	c->v.v[*id] = fresh;
	c->plain[*id] = (struct class_plain){ fresh.plain->v, 0 };
	c->made++;
	if (c->told < CLASSES_FIRST && key->op) {
		c->told++;
		c->told_end = (uint32_t)c->v.n;
	}
	return true;
failed:
	hists_give_up(&c->hists, fresh.plain);
	return false;
}

static bool class_find(struct classes *c, const struct class_key *key, uint32_t *id)
{
	static const struct class_key others = { .process = NOBODY };
	uint64_t at;

	if (map_get(&c->by_key, class_hash(key), &at)) {
		*id = (uint32_t)at;
		return true;
	}
	if (c->v.n - c->unused.n < CLASSES_MAX - 1)
		return class_new(c, key, id);
	if (!c->others) {
		if (!class_new(c, &others, id))
			return false;
		c->others = *id + 1;
	}
	*id = c->others - 1;
	return true;
}

static uint64_t site_hash(uint32_t process, uint16_t op, uint32_t stack)
{
	return hash_u64(((uint64_t)process << 32 | stack) ^ hash_u64(op));
}

/* Room for one more. */
COLD_CALL static bool sites_grow(struct classes *c)
{
	size_t cap = c->sites.cap ? 2 * c->sites.cap : 256;
	struct cause_site *v = aligned_alloc(CLASS_LINE, cap * sizeof(*v));

	if (!v) {
		oom_flag_set();
		return false;
	}
	if (c->sites.v)
		memcpy(v, c->sites.v, c->sites.n * sizeof(*v));
	free(c->sites.v);
	c->sites.v = v;
	c->sites.cap = cap;
	return true;
}

static bool site_new(struct classes *c, uint32_t process, uint16_t op, uint32_t stack, uint32_t *id)
{
	struct cause_site fresh = { .process = process,
				    .op = op,
				    .stack = stack,
				    .next = newest_of(&c->sites_of, process),
				    .last_class = UINT32_MAX };

	*id = c->unused_sites.n ? c->unused_sites.v[c->unused_sites.n - 1] : (uint32_t)c->sites.n;
	if ((c->sites.n == c->sites.cap && !sites_grow(c)) ||
	    !map_put(&c->by_site, site_hash(process, op, stack), *id) ||
	    !map_put(&c->sites_of, process, (uint64_t)*id + 1))
		return false;
	if (c->unused_sites.n)
		c->unused_sites.n--;
	else
		c->sites.n++;
	c->sites.v[*id] = fresh;
	return true;
}

/* Another process has calls of this number: those of this context are remembered elsewhere. False:
 * out of memory. */
static bool stand_apart(struct classes *c, uint32_t ctx, uint32_t process)
{
	if (!vec_reach(&c->apart, ctx))
		return false;
	c->apart.v[ctx] = process * 40503u;
	return true;
}

const struct cause_site *classes_find_site(const struct classes *c, uint32_t process, uint16_t op,
					   uint32_t stack)
{
	uint64_t at;

	return map_get(&c->by_site, site_hash(process, op, stack), &at) ? &c->sites.v[at] : NULL;
}

bool classes_site_look_up(struct classes *c, uint32_t process, const struct event *ev, uint16_t op,
			  struct class_of *of)
{
	uint32_t stack = ev->stack, *newest;
	uint64_t at;

	of->first = of->shared = false;
	if (map_get(&c->by_site, site_hash(process, op, stack), &at)) {
		of->site_id = (uint32_t)at;
	} else if (c->sites.n - c->unused_sites.n < SITES_MAX - 1) {
		if (!site_new(c, process, op, stack, &of->site_id))
			return false;
		of->first = true;
	} else {
		if (!c->other_sites) {
			if (!site_new(c, NOBODY, 0, 0, &of->site_id))
				return false;
			c->other_sites = of->site_id + 1;
		}
		of->site_id = c->other_sites - 1;
		of->shared = true;
		return true;
	}
	newest = classes_newest(c, ev);
	if (*newest && c->sites.v[*newest - 1].process != process) {
		if (!stand_apart(c, ev->ctx, process))
			return false;
		newest = classes_newest(c, ev);
	}
	*newest = of->site_id + 1;
	return true;
}

void classes_renamed(struct classes *c)
{
	if (!c->sites.n)
		return;
	memset(c->newest, 0, sizeof(c->newest));
	if (c->apart.n)
		memset(c->apart.v, 0, c->apart.n * sizeof(*c->apart.v));
}

void classes_ahead(struct classes *c, const struct event *ev, size_t n, struct classes_batch *b)
{
	const uint32_t *newest[CLASSES_AHEAD];
	unsigned outer = 0;

	for (const struct event *end = ev + n; ev != end; ev++) {
		b->of[outer].cell = hist_place(ev->dur_ns);
		newest[outer] = classes_newest(c, ev);
		__builtin_prefetch(newest[outer]);
		outer += ev->depth == 0;
	}
	for (unsigned k = 0; k < outer; k++) {
		uint32_t one = *newest[k];

		b->of[k].site = one;
		__builtin_prefetch(&c->sites.v[one - (one != 0)]);
	}
	b->n = outer;
}

void classes_next(struct classes *c, const struct classes_batch *b)
{
	for (const struct class_ahead *of = b->of, *end = of + b->n; of != end; of++) {
		const struct hist_cell *plain;
		const struct cause_site *s;

		if (!of->site)
			continue;
		s = &c->sites.v[of->site - 1];
		if (s->last_class >= CLASSES_MAX)
			continue;
		plain = c->plain[s->last_class].first;
		hist_fetch(plain, of->cell);
		/* Few have one, but there is no telling which. */
		hist_fetch(s->own ? s->own->v : plain, of->cell);
	}
}

COLD_CALL const struct class_columns *classes_columns_learn(struct classes *c,
							    const struct op_def *op)
{
	struct class_columns *col;

	if (op->id >= c->columns.n) {
		size_t more = (size_t)op->id + 1 - c->columns.n;

		if (!vec_reserve(&c->columns, more))
			return NULL;
		memset(c->columns.v + c->columns.n, 0, more * sizeof(*c->columns.v));
		c->columns.n += more;
	}
	col = &c->columns.v[op->id];
	col->known = true;
	col->bytes = class_column(op_column(op, COL_BYTES));
	col->direction = class_column(op_column(op, COL_DIRECTION));
	col->sized = col->bytes != CLASS_NO_COLUMN || col->direction != CLASS_NO_COLUMN;
	col->stream = class_column(op_column(op, COL_STREAM));
	col->func = class_column(op->flags & OP_LAUNCH ? op_column(op, COL_FUNC) : -1);
	return col;
}

bool classes_another(struct classes *c, struct cause_site *site, uint32_t process, uint16_t op,
		     uint32_t kind)
{
	struct class_key key = { .process = process,
				 .op = op,
				 .size = (uint8_t)kind,
				 .direction = (uint8_t)(kind >> 8),
				 .stream = (uint8_t)(kind >> 16),
				 .first = (uint8_t)(kind >> 24) };
	uint16_t *memo =
		&c->memo[(process * 40503u + op * 977u + (kind ^ kind >> 12) * 61u) % CLASS_MEMO];
	uint32_t id = *memo ? *memo - 1u : 0;

	if (!*memo || memcmp(&c->v.v[id].key, &key, sizeof(key)) != 0) {
		if (!class_find(c, &key, &id))
			return false;
		if (!classes_is_others(c, id))
			*memo = (uint16_t)(id + 1);
	}
	site->last_class = id;
	site->last_kind = kind;
	return true;
}

void classes_longest(struct classes *c, uint32_t id, uint64_t ns)
{
	c->plain[id].max = c->v.v[id].plain->max = ns;
}

bool classes_add_taken(struct classes *c, struct cause_class *cl, const struct class_columns *col,
		       const struct event *ev, uint64_t host_ns)
{
	if (!cl->whole)
		cl->whole = hists_new(&c->hists);
	if (!cl->own)
		cl->own = hists_new(&c->hists);
	if (!cl->whole || !cl->own)
		return false;
	cl->host_ns += host_ns;
	if (ev->present >> col->func & 1)
		launched_add(&cl->launched, ev->x[col->func], host_ns);
	hist_kept_add(cl->whole, ev->dur_ns);
	hist_kept_add(cl->own, ev->dur_ns - host_ns);
	return true;
}

bool classes_outside(struct classes *c, uint32_t process, const struct event *ev,
		     struct class_of *of)
{
	struct class_key key = { .process = process };

	return classes_site_of(c, process, ev, 0, *classes_newest(c, ev), of) &&
	       class_find(c, &key, &of->class_id);
}

bool classes_forget(struct classes *c, uint32_t process)
{
	uint32_t at, next, kept = 0;

	for (at = newest_of(&c->of_process, process); at; at = next) {
		struct cause_class *cl = &c->v.v[at - 1];

		next = cl->next;
		if (at <= c->told_end) { /* it is reported at the end */
			cl->next = kept;
			kept = at;
			continue;
		}
		map_del(&c->by_key, class_hash(&cl->key));
		hists_give_up(&c->hists, cl->plain);
		hists_give_up(&c->hists, cl->whole);
		hists_give_up(&c->hists, cl->own);
		*cl = (struct cause_class){ 0 };
		c->plain[at - 1] = (struct class_plain){ 0 };
		if (!vec_push(&c->unused, at - 1))
			return false;
	}
	for (at = newest_of(&c->sites_of, process); at; at = next) {
		struct cause_site *s = &c->sites.v[at - 1];

		next = s->next;
		map_del(&c->by_site, site_hash(process, s->op, s->stack));
		*s = (struct cause_site){ .last_class = UINT32_MAX };
		if (!vec_push(&c->unused_sites, at - 1))
			return false;
	}
	map_del(&c->of_process, process);
	map_del(&c->sites_of, process);
	return !kept || map_put(&c->of_process, process, kept);
}

static void merge_hists(const struct hist_kept *plain, const struct hist_kept *others,
			struct hist *all)
{
	*all = (struct hist){ 0 };
	hist_merge(all, plain);
	if (others)
		hist_merge(all, others);
}

void class_whole(const struct cause_class *cl, struct hist *all)
{
	merge_hists(cl->plain, cl->whole, all);
}

void class_own(const struct cause_class *cl, struct hist *all)
{
	merge_hists(cl->plain, cl->own, all);
}

uint64_t class_expected(const struct classes *c, uint32_t class_id, bool *borrowed)
{
	const struct cause_class *cl = &c->v.v[class_id], *o;
	struct hist own, all = { 0 };

	*borrowed = false;
	class_own(cl, &own);
	if (own.n >= CLASS_BORROWS_BELOW)
		return hist_quantile(&own, 0.5);
	for (uint32_t at = newest_of(&c->of_process, cl->key.process); at; at = o->next) {
		o = &c->v.v[at - 1];
		if (o->key.op != cl->key.op)
			continue;
		hist_merge(&all, o->plain);
		if (o->own)
			hist_merge(&all, o->own);
	}
	*borrowed = all.n > own.n;
	return hist_quantile(&all, 0.5);
}

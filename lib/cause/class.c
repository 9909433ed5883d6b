/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up the class and site of a call. The usual call repeats its site's last class: one hash
 * lookup, one comparison.
 */
#include "lib/cause/class.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

void classes_free(struct classes *c)
{
	for (size_t i = 0; i < c->v.n; i++) {
		free(c->v.v[i].plain);
		free(c->v.v[i].whole);
		free(c->v.v[i].own);
	}
	vec_free(&c->v);
	vec_free(&c->sites);
	vec_free(&c->columns);
	map_free(&c->by_key);
	map_free(&c->by_site);
}

static bool class_find(struct classes *c, const struct class_key *key, uint32_t *id)
{
	uint64_t hash = hash_bytes(key, sizeof(*key), 0), at;
	struct cause_class fresh = { .key = *key };

	if (map_get(&c->by_key, hash, &at)) {
		*id = (uint32_t)at;
		return true;
	}
	if (c->v.n >= CLASSES_MAX) {
		*id = (uint32_t)c->v.n - 1;
		return true;
	}
	fresh.plain = calloc(1, sizeof(struct hist));
	if (!fresh.plain || !vec_push(&c->v, fresh)) {
		free(fresh.plain);
		return false;
	}
	if (!map_put(&c->by_key, hash, c->v.n - 1)) {
		free(fresh.plain);
		c->v.n--;
		return false;
	}
	*id = (uint32_t)c->v.n - 1;
	return true;
}

static inline bool site_is(const struct cause_site *s, uint32_t process, uint16_t op,
			   uint32_t stack)
{
	return s->stack == stack && s->process == process && s->op == op;
}

static bool site_look_up(struct classes *c, uint32_t process, uint16_t op, uint32_t stack,
			 uint32_t *id, bool *first)
{
	uint64_t hash = hash_u64(((uint64_t)process << 32 | stack) ^ hash_u64(op)), at;
	struct cause_site fresh = {
		.process = process, .op = op, .stack = stack, .last_class = UINT32_MAX
	};

	if (map_get(&c->by_site, hash, &at)) {
		*id = (uint32_t)at;
		*classes_newest(c, process, op, stack) = *id + 1;
		return true;
	}
	if (c->sites.n >= SITES_MAX) {
		*id = (uint32_t)c->sites.n - 1;
		return true;
	}
	if (!vec_push(&c->sites, fresh))
		return false;
	if (!map_put(&c->by_site, hash, c->sites.n - 1)) {
		c->sites.n--;
		return false;
	}
	*first = true;
	*id = (uint32_t)c->sites.n - 1;
	*classes_newest(c, process, op, stack) = *id + 1;
	return true;
}

static inline bool site_find(struct classes *c, uint32_t process, uint16_t op, uint32_t stack,
			     uint32_t *id, bool *first)
{
	uint32_t at = *classes_newest(c, process, op, stack);

	*first = false;
	if (at && site_is(&c->sites.v[at - 1], process, op, stack)) {
		*id = at - 1;
		return true;
	}
	return site_look_up(c, process, op, stack, id, first);
}

static const struct class_columns *columns_of(struct classes *c, const struct op_def *op)
{
	if (op->id >= c->columns.n) {
		size_t more = (size_t)op->id + 1 - c->columns.n;

		if (!vec_reserve(&c->columns, more))
			return NULL;
		memset(c->columns.v + c->columns.n, 0, more * sizeof(*c->columns.v));
		c->columns.n += more;
	}
	if (!c->columns.v[op->id].known) {
		struct class_columns *col = &c->columns.v[op->id];

		col->known = 1;
		col->bytes = (int8_t)op_column(op, COL_BYTES);
		col->direction = (int8_t)op_column(op, COL_DIRECTION);
		col->stream = (int8_t)op_column(op, COL_STREAM);
		col->func = op->flags & OP_LAUNCH ? (int8_t)op_column(op, COL_FUNC) : -1;
	}
	return &c->columns.v[op->id];
}

static bool present(const struct event *ev, int column)
{
	return column >= 0 && ev->present >> column & 1;
}

static enum stream_class stream_class_of(uint64_t handle)
{
	if (handle <= 1)
		return STREAM_CLASS_DEFAULT;
	return handle == 2 ? STREAM_CLASS_PER_THREAD : STREAM_CLASS_OWN;
}

bool classes_site(struct classes *c, uint32_t process, const struct event *ev, struct class_of *of)
{
	if (!site_find(c, process, ev->op, ev->stack, &of->site_id, &of->first))
		return false;
	of->shared = of->site_id == SITES_MAX - 1 &&
		     !site_is(&c->sites.v[of->site_id], process, ev->op, ev->stack);
	return true;
}

bool classes_add(struct classes *c, uint32_t process, const struct event *ev,
		 const struct op_def *op, uint64_t host_ns, uint64_t unknown_ns,
		 struct class_of *of)
{
	const struct class_columns *col = columns_of(c, op);
	struct class_key key = { .process = process, .op = ev->op, .first = of->first };
	struct cause_class *cl;
	struct cause_site *site;

	if (!col)
		return false;
	site = &c->sites.v[of->site_id];
	if (present(ev, col->bytes))
		key.size =
			ev->x[col->bytes] ? (uint8_t)(64 - __builtin_clzll(ev->x[col->bytes])) : 0;
	if (present(ev, col->direction))
		key.direction = (uint8_t)(1 + (ev->x[col->direction] & 7));
	if (present(ev, col->stream))
		key.stream = stream_class_of(ev->x[col->stream]);
	if (site->last_class == UINT32_MAX || site->last_size != key.size ||
	    site->last_direction != key.direction || site->last_stream != key.stream ||
	    site->last_first != key.first) {
		if (!class_find(c, &key, &of->class_id))
			return false;
		site->last_class = of->class_id;
		site->last_size = key.size;
		site->last_direction = key.direction;
		site->last_stream = key.stream;
		site->last_first = key.first;
	}
	of->class_id = site->last_class;
	site->n++;
	site->sum_ns += ev->dur_ns;
	if (ev->dur_ns > site->max_ns)
		site->max_ns = ev->dur_ns;
	cl = &c->v.v[of->class_id];
	if (unknown_ns)
		cl->unknown_ns += unknown_ns;
	if (host_ns == 0) {
		hist_add(cl->plain, ev->dur_ns);
		return true;
	}
	if (!cl->whole)
		cl->whole = calloc(1, sizeof(*cl->whole));
	if (!cl->own)
		cl->own = calloc(1, sizeof(*cl->own));
	if (!cl->whole || !cl->own)
		return false;
	cl->host_ns += host_ns;
	if (present(ev, col->func))
		launched_add(&cl->launched, ev->x[col->func], host_ns);
	hist_add(cl->whole, ev->dur_ns);
	hist_add(cl->own, ev->dur_ns - host_ns);
	return true;
}

bool classes_outside(struct classes *c, uint32_t process, uint32_t stack, struct class_of *of)
{
	struct class_key key = { .process = process };
	bool first;

	return site_find(c, process, 0, stack, &of->site_id, &first) &&
	       class_find(c, &key, &of->class_id);
}

static void gathered(const struct hist *plain, const struct hist *others, struct hist *all)
{
	*all = *plain;
	if (others)
		hist_merge(all, others);
}

void class_whole(const struct cause_class *cl, struct hist *all)
{
	gathered(cl->plain, cl->whole, all);
}

void class_own(const struct cause_class *cl, struct hist *all)
{
	gathered(cl->plain, cl->own, all);
}

uint64_t class_expected(const struct classes *c, uint32_t class_id, bool *borrowed)
{
	const struct cause_class *cl = &c->v.v[class_id];
	struct hist own, all = { 0 };

	*borrowed = false;
	class_own(cl, &own);
	if (own.n >= CLASS_BORROWS_BELOW)
		return hist_quantile(&own, 0.5);
	for (size_t i = 0; i < c->v.n; i++) {
		const struct cause_class *o = &c->v.v[i];

		if (o->key.process != cl->key.process || o->key.op != cl->key.op)
			continue;
		hist_merge(&all, o->plain);
		if (o->own)
			hist_merge(&all, o->own);
	}
	*borrowed = all.n > own.n;
	return hist_quantile(&all, 0.5);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums pieces by all their properties, in a hash table; groups are made of the sums when they are
 * requested.
 */
#include "lib/path/path_groups.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define RECORDER "ingero-record"

static void on_piece(struct path_listener *l, const struct path_piece *p)
{
	path_groups_add((struct path_groups *)l, p);
}

void path_groups_init(struct path_groups *g, const struct world *w)
{
	memset(g, 0, sizeof(*g));
	g->listener.on_piece = on_piece;
	g->w = w;
	g->culprits.w = w;
}

void path_groups_reset(struct path_groups *g)
{
	for (size_t i = 0; i < g->keys.n; i++)
		g->own.v[g->keys.v[i]] = (struct path_total){ 0 };
	g->keys.n = g->sums.n = g->added = g->done = 0;
	if (g->nslots)
		memset(g->slots, 0, g->nslots * sizeof(*g->slots));
}

void path_groups_free(struct path_groups *g)
{
	vec_free(&g->own);
	vec_free(&g->keys);
	vec_free(&g->sums);
	free(g->slots);
	path_culprits_free(&g->culprits);
	map_free(&g->frames.by);
}

/* ---- sums ---- */

static inline void key_of(const struct path_piece *p, uint64_t key[4])
{
	key[0] = (uint64_t)p->anchor << 32 | p->thread;
	key[1] = (uint64_t)p->occupant << 32 | p->s->who;
	key[2] = (uint64_t)p->s->line << 32 | (uint64_t)p->s->op << 16 |
		 (uint64_t)p->s->state << 8 | p->s->object;
	key[3] = (uint64_t)p->via << 32 | p->s->flags;
}

static inline bool keys_equal(const uint64_t a[4], const uint64_t b[4])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static inline uint64_t hash_key(const uint64_t key[4])
{
	uint64_t h = key[0] * 0x9e3779b97f4a7c15u ^ key[1] * 0xc2b2ae3d27d4eb4fu ^
		     (key[2] + key[3]) * 0xd6e8feb86659fd93u;

	return hash_u64(h);
}

/* Twice as many slots. */
static bool slots_grow(struct path_groups *g)
{
	size_t n = g->nslots ? g->nslots * 2 : 1024;
	struct path_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(g->slots);
	g->slots = slots;
	g->nslots = n;
	for (size_t i = 0; i < g->sums.n; i++) {
		uint64_t hash = hash_key(g->sums.v[i].key);
		size_t at = hash & (n - 1);

		while (slots[at].number)
			at = (at + 1) & (n - 1);
		slots[at] = (struct path_slot){ (uint32_t)(hash >> 32), (uint32_t)i + 1 };
	}
	return true;
}

/* The sum of that key, made if there is none and there are fewer than max. NULL: *full, or out
 * of memory. */
static struct path_sum *sum_find(struct path_groups *g, const uint64_t key[4], uint64_t hash,
				 size_t max, bool *full)
{
	const uint32_t tag = (uint32_t)(hash >> 32);
	size_t at;

	if (g->sums.n * 2 >= g->nslots && !slots_grow(g))
		return NULL;
	for (at = hash & (g->nslots - 1); g->slots[at].number; at = (at + 1) & (g->nslots - 1)) {
		struct path_sum *sum = &g->sums.v[g->slots[at].number - 1];

		if (g->slots[at].hash == tag && keys_equal(sum->key, key))
			return sum;
	}
	*full = g->sums.n >= max;
	if (*full || !vec_push(&g->sums, (struct path_sum){ { key[0], key[1], key[2], key[3] } }))
		return NULL;
	g->slots[at] = (struct path_slot){ tag, (uint32_t)g->sums.n };
	return &g->sums.v[g->sums.n - 1];
}

static inline void total_add(struct path_total *t, uint64_t ns, int64_t from_ns)
{
	t->ns += ns;
	t->pieces++;
	if (ns > t->longest_ns || (ns == t->longest_ns && from_ns < t->longest_from_ns)) {
		t->longest_ns = ns;
		t->longest_from_ns = from_ns;
	}
}

/* The oldest piece of the ring is added to its sum. */
static void add_oldest(struct path_groups *g)
{
	struct path_ahead *a = &g->ahead[g->done++ % PATH_AHEAD];
	bool full = false;
	struct path_sum *sum = sum_find(g, a->key, a->hash, PATH_SUMS_MAX, &full);

	if (!sum && full) {
		/* There are few different ones without lines, reached in any way. */
		a->key[2] &= UINT16_MAX;
		a->key[3] &= UINT8_MAX & ~(unsigned)SEGMENT_SAMPLED;
		sum = sum_find(g, a->key, hash_key(a->key), UINT32_MAX, &full);
	}
	if (!sum) {
		g->nomem = true;
		return;
	}
	total_add(&sum->total, a->ns, a->from_ns);
}

static void add_all(struct path_groups *g)
{
	while (g->done < g->added)
		add_oldest(g);
}

/* What the piece half way through the ring is added to is looked up ahead. */
static inline void fetch_sum(const struct path_groups *g)
{
	const struct path_ahead *a = &g->ahead[(g->added - PATH_AHEAD / 2) % PATH_AHEAD];
	uint32_t number = g->slots[a->hash & (g->nslots - 1)].number;

	if (number)
		__builtin_prefetch(&g->sums.v[number - 1], 1);
}

/* Of the anchor itself: by the number of its segment. */
static inline void add_to_own(struct path_groups *g, const struct path_piece *p)
{
	struct path_total *t;

	if (!vec_reach(&g->own, p->key)) {
		g->nomem = true;
		return;
	}
	t = &g->own.v[p->key];
	if (!t->pieces && !vec_push(&g->keys, p->key))
		g->nomem = true;
	total_add(t, (uint64_t)(p->to_ns - p->from_ns), p->from_ns);
}

void path_groups_add(struct path_groups *g, const struct path_piece *p)
{
	struct path_ahead *a;

	if (p->key && !p->depth) {
		add_to_own(g, p);
		return;
	}
	if (g->added - g->done == PATH_AHEAD)
		add_oldest(g);
	a = &g->ahead[g->added++ % PATH_AHEAD];
	key_of(p, a->key);
	a->ns = (uint64_t)(p->to_ns - p->from_ns);
	a->from_ns = p->from_ns;
	a->hash = hash_key(a->key);
	if (!g->nslots)
		return;
	__builtin_prefetch(&g->slots[a->hash & (g->nslots - 1)]);
	if (g->added >= PATH_AHEAD / 2)
		fetch_sum(g);
}

uint64_t path_groups_ns(struct path_groups *g)
{
	uint64_t ns = 0;

	add_all(g);
	for (size_t i = 0; i < g->sums.n; i++)
		ns += g->sums.v[i].total.ns;
	for (size_t i = 0; i < g->keys.n; i++)
		ns += g->own.v[g->keys.v[i]].ns;
	return ns;
}

/* ---- groups ---- */

/* Whose sum it is, and of what. */
struct leaf {
	uint32_t anchor, thread, occupant, via;
	struct segment s;
};

static struct leaf leaf_of(const struct path_sum *sum)
{
	return (struct leaf){
		.anchor = (uint32_t)(sum->key[0] >> 32),
		.thread = (uint32_t)sum->key[0],
		.occupant = (uint32_t)(sum->key[1] >> 32),
		.via = (uint32_t)(sum->key[3] >> 32),
		.s = { .who = (uint32_t)sum->key[1],
		       .line = (uint32_t)(sum->key[2] >> 32),
		       .op = (uint16_t)(sum->key[2] >> 16),
		       .state = (uint8_t)(sum->key[2] >> 8),
		       .object = (uint8_t)sum->key[2],
		       .flags = (uint16_t)sum->key[3] },
	};
}

/* Whoever had the CPU took it: the leaf is the wait for that CPU. */
static void end_at_taken(const struct path *path, struct leaf *l)
{
	struct path_wait v[PATH_DEPTH];
	unsigned n = path_via(path, l->via, v, PATH_DEPTH);

	l->s = (struct segment){ .state = SEGMENT_RUNNABLE, .who = l->occupant };
	for (unsigned i = 0; i < n && i < PATH_DEPTH; i++) {
		if (v[i].s->state == SEGMENT_RUNNABLE && v[i].s->who == l->occupant) {
			l->s.line = v[i].s->line;
			break;
		}
	}
	l->occupant = 0;
}

static uint32_t frame_of(struct path_groups *g, uint32_t stack)
{
	return site_frames_get(&g->frames, g->w, stack);
}

/* By its name. A program that it started had that name before it was executed, but is recorded. */
bool path_is_recorder(const struct world *w, const struct path *p, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(w, thread);
	const struct bytes name = t ? world_text(w, t->comm) : (struct bytes){ 0 };

	return !path_is_recorded(p, thread) && name.n == strlen(RECORDER) &&
	       memcmp(name.p, RECORDER, name.n) == 0;
}

static bool group_of(struct path_groups *g, struct path *path, struct leaf l,
		     const struct path_total *total, struct path_group *out)
{
	struct path_wait first = { 0 };
	uint32_t thread;

	*out = (struct path_group){ .anchor = l.anchor,
				    .ns = total->ns,
				    .pieces = total->pieces,
				    .longest_ns = total->longest_ns,
				    .longest_from_ns = total->longest_from_ns };
	out->via = l.via;
	path_via(path, l.via, &first, 1);
	if (l.occupant && !path_is_partner(path, l.anchor, l.occupant))
		end_at_taken(path, &l);
	out->class = path_class_of(&l.s);
	out->rough_ns = l.s.flags & SEGMENT_ROUGH ? total->ns : 0;
	out->serialised_ns = l.occupant ? total->ns : 0;
	thread = path_class_culprit(out->class, &l.s, l.anchor, l.thread);
	out->culprit = thread ? path_culprit_of(&g->culprits, thread) : 0;
	if (thread && path_is_recorder(g->w, path, thread))
		out->class = PATH_RECORDER;
	out->line = frame_of(g, l.s.line);
	out->victim = first.s ? frame_of(g, first.s->line) : out->line;
	out->sampled = l.s.line && l.s.flags & SEGMENT_SAMPLED;
	/* Own code between calls is one, whichever calls of that line they are. */
	if (out->class == PATH_CALL || out->class == PATH_DEVICE ||
	    (out->class == PATH_OWN && !out->line))
		out->op = l.s.op;
	if (out->class == PATH_DISK)
		out->device = l.s.who;
	return !thread || out->culprit;
}

/* By all that makes a group. */
static int compare_groups(const void *x, const void *y)
{
	const struct path_group *a = x, *b = y;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->culprit != b->culprit)
		return a->culprit < b->culprit ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->victim != b->victim)
		return a->victim < b->victim ? -1 : 1;
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return (int)a->sampled - (int)b->sampled;
}

static int compare_ns(const void *x, const void *y)
{
	const struct path_group *a = x, *b = y;

	return a->ns > b->ns ? -1 : a->ns < b->ns ? 1 : compare_groups(x, y);
}

static void merge_group(struct path_group *into, const struct path_group *from, uint64_t *via_ns)
{
	into->ns += from->ns;
	into->pieces += from->pieces;
	if (from->longest_ns > into->longest_ns ||
	    (from->longest_ns == into->longest_ns &&
	     from->longest_from_ns < into->longest_from_ns)) {
		into->longest_ns = from->longest_ns;
		into->longest_from_ns = from->longest_from_ns;
	}
	into->serialised_ns += from->serialised_ns;
	into->rough_ns += from->rough_ns;
	if (from->ns <= *via_ns)
		return;
	into->via = from->via;
	*via_ns = from->ns;
}

/* Groups that are one become one. */
static void merge_groups(struct path_group_list *l)
{
	uint64_t via_ns = 0; /* the sum that gave the group its via */
	size_t put = 0;

	qsort(l->v.v, l->v.n, sizeof(l->v.v[0]), compare_groups);
	for (size_t i = 0; i < l->v.n; i++) {
		struct path_group *last = put ? &l->v.v[put - 1] : NULL;
		const struct path_group *next = &l->v.v[i];

		if (!last || compare_groups(last, next) != 0) {
			via_ns = next->ns;
			l->v.v[put++] = *next;
			continue;
		}
		merge_group(last, next, &via_ns);
	}
	l->v.n = put;
	qsort(l->v.v, l->v.n, sizeof(l->v.v[0]), compare_ns);
}

/* Groups of the anchor's own segments. False: out of memory. */
static bool add_own(struct path_groups *g, struct path *p, uint32_t anchor,
		    struct path_group_list *out)
{
	for (size_t i = 0; i < g->keys.n; i++) {
		uint32_t key = g->keys.v[i];
		const struct segment_key *of = path_segment_key(p, key);
		struct leaf l = { .anchor = anchor, .thread = anchor, .s = of->s };
		struct path_group group;

		if (of->thread != anchor)
			continue;
		if (!group_of(g, p, l, &g->own.v[key], &group) || !vec_push(&out->v, group))
			return false;
	}
	return true;
}

bool path_groups_of(struct path_groups *g, struct path *p, uint32_t anchor,
		    struct path_group_list *out)
{
	add_all(g);
	out->v.n = 0;
	if (!add_own(g, p, anchor, out))
		return false;
	for (size_t i = 0; i < g->sums.n; i++) {
		const struct path_sum *sum = &g->sums.v[i];
		struct path_group group;

		if (sum->key[0] >> 32 != anchor)
			continue;
		if (!group_of(g, p, leaf_of(sum), &sum->total, &group) || !vec_push(&out->v, group))
			return false;
	}
	if (out->v.n)
		merge_groups(out);
	return !g->nomem;
}

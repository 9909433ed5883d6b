/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers segments by all that they are: a hash table over the keys.
 */
#include "lib/path/segment_keys.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"

void segment_keys_free(struct segment_keys *k)
{
	vec_free(&k->v);
	free(k->slots);
	vec_free(&k->free);
	vec_free(&k->bare);
	free(k->calls);
}

static inline uint64_t hash_segment(uint32_t thread, const struct segment *s)
{
	uint64_t a = (uint64_t)thread << 32 | s->line, b = (uint64_t)s->who << 32 |
							   (uint64_t)s->op << 16 |
							   (uint64_t)s->state << 8 | s->object;
	uint64_t h = (a ^ s->flags) * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu;

	return (h ^ h >> 29) * 0xd6e8feb86659fd93u;
}

/* Where it stands in the table, or would. */
static inline size_t find_slot(const struct segment_keys *k, uint64_t hash, uint32_t thread,
			       const struct segment *s)
{
	const uint32_t tag = (uint32_t)(hash >> 32);
	size_t at = hash >> 8 & (k->nslots - 1);

	while (k->slots[at].key) {
		const struct segment_key *key = segment_key_get(k, k->slots[at].key);

		if (k->slots[at].tag == tag && segment_alike(&key->s, s) && key->thread == thread)
			break;
		at = (at + 1) & (k->nslots - 1);
	}
	return at;
}

/* Twice as many slots. */
COLD_CALL static bool grow_slots(struct segment_keys *k)
{
	size_t n = k->nslots ? k->nslots * 2 : 1024;
	struct segment_slot *slots = calloc(n, sizeof(*slots)), *old = k->slots;
	size_t nold = k->nslots;

	if (!slots)
		return false;
	k->slots = slots;
	k->nslots = n;
	for (size_t i = 0; i < nold; i++) {
		const struct segment_key *key = segment_key_get(k, old[i].key);
		uint64_t hash;

		if (!old[i].key)
			continue;
		hash = hash_segment(key->thread, &key->s);
		slots[find_slot(k, hash, key->thread, &key->s)] = old[i];
	}
	free(old);
	return true;
}

static uint32_t kind_of(const struct segment *s)
{
	return s->state == SEGMENT_WAITING    ? SEGMENT_KEY_WAITING
	       : s->state == SEGMENT_RUNNABLE ? SEGMENT_KEY_RUNNABLE
					      : 0;
}

COLD_CALL static uint32_t add_key(struct segment_keys *k, size_t slot, uint64_t hash,
				  uint32_t thread, const struct segment *s)
{
	struct segment_key key = { .s = *s, .thread = thread };
	uint32_t number;

	if (segment_keys_count(k) >= SEGMENT_KEYS_MAX && s->line) {
		key.s.line = 0;
		key.s.flags &= (uint16_t)~SEGMENT_SAMPLED;
		if (key.s.state == SEGMENT_OWN)
			key.s.who = 0;
		return segment_key(k, thread, &key.s);
	}
	if (k->free.n) {
		number = k->free.v[--k->free.n];
		k->v.v[number] = key;
	} else {
		number = (uint32_t)k->v.n;
		if (number >= SEGMENT_KEY_WAITING || !vec_push(&k->v, key))
			return 0;
	}
	number |= kind_of(s);
	k->slots[slot] = (struct segment_slot){ (uint32_t)(hash >> 32), number };
	return number;
}

bool segment_keys_prune(struct segment_keys *k, bool (*drop)(void *ctx, uint32_t key), void *ctx)
{
	size_t n = k->nslots;
	struct segment_slot *slots = n ? calloc(n, sizeof(*slots)) : NULL, *old = k->slots;

	if (!n)
		return true;
	if (!slots || !vec_reserve(&k->free, k->v.n - k->free.n)) {
		free(slots);
		return false;
	}
	k->slots = slots;
	for (size_t i = 0; i < n; i++) {
		uint32_t index = old[i].key & ~SEGMENT_KEY_KIND;
		struct segment_key *key = &k->v.v[index];
		uint64_t hash;

		if (!old[i].key)
			continue;
		if (drop(ctx, index)) {
			key->thread = 0;
			if (index < k->bare.n)
				k->bare.v[index] = 0;
			k->free.v[k->free.n++] = index;
			continue;
		}
		hash = hash_segment(key->thread, &key->s);
		slots[find_slot(k, hash, key->thread, &key->s)] = old[i];
	}
	free(old);
	return true;
}

uint32_t segment_key(struct segment_keys *k, uint32_t thread, const struct segment *s)
{
	uint64_t hash = hash_segment(thread, s);
	size_t slot;

	if (segment_keys_count(k) * 2 >= k->nslots) {
		if (!k->v.n && !vec_push(&k->v, (struct segment_key){ 0 }))
			return 0;
		if (!grow_slots(k))
			return 0;
	}
	slot = find_slot(k, hash, thread, s);
	return k->slots[slot].key ? k->slots[slot].key : add_key(k, slot, hash, thread, s);
}

uint32_t segment_key_bare(struct segment_keys *k, uint32_t key)
{
	const size_t index = key & ~SEGMENT_KEY_KIND;
	struct segment bare;

	if (index < k->bare.n && k->bare.v[index])
		return k->bare.v[index];
	bare = segment_key_get(k, key)->s;
	bare.line = bare.op = 0;
	if (bare.state == SEGMENT_OWN)
		bare.who = 0;
	if (!vec_reach(&k->bare, index))
		return 0;
	k->bare.v[index] = segment_key(k, segment_key_get(k, key)->thread, &bare);
	return k->bare.v[index];
}

/* Twice as many places, where calls are learned anew. */
COLD_CALL static bool grow_calls(struct segment_keys *k)
{
	size_t n = k->ncalls ? k->ncalls * 2 : 1024;
	struct segment_call *calls = calloc(n, sizeof(*calls));

	if (!calls)
		return false;
	free(k->calls);
	k->calls = calls;
	k->ncalls = n;
	return true;
}

NOINLINE const struct segment_call *segment_call_learn(struct segment_keys *k, uint32_t thread,
						       const struct segment *s, uint32_t site)
{
	const struct segment own = { .line = s->line, .op = s->op, .state = SEGMENT_OWN };
	struct segment_call c = { .place = (uint64_t)thread << 32 | s->line, .op = s->op };
	size_t at;

	c.call = segment_key(k, thread, s);
	c.after = segment_key(k, thread, &own);
	if (!c.call || !c.after)
		return NULL;
	/* Two keys a call, of which few are in the same place so. */
	while (k->ncalls < segment_keys_count(k) && k->ncalls < SEGMENT_CALLS_MAX) {
		if (!grow_calls(k))
			return NULL;
	}
	at = segment_call_at(k, thread, s->line, site);
	/* A free place or, if none is near, that of another call. */
	for (unsigned i = 0; i < SEGMENT_CALLS_NEAR; i++) {
		size_t near = (at + i) & (k->ncalls - 1);

		if (!k->calls[near].call) {
			at = near;
			break;
		}
	}
	k->calls[at] = c;
	return &k->calls[at];
}

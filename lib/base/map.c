/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing over a power of two, at most three quarters full. Deletion moves later members
 * of the run back, which keeps the invariant: from a key's home slot to the key there is no gap.
 */
#include "lib/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/check.h"
#include "lib/base/oom_flag.h"
#include "lib/base/hash.h"

static size_t home_slot(const struct map *m, uint64_t key)
{
	return (size_t)hash_u64(key) & (m->cap - 1);
}

/* The slot of key, or the free one where it belongs. cap must not be 0. */
static size_t find_slot(const struct map *m, uint64_t key)
{
	size_t i = home_slot(m, key);

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static bool grow_slots(struct map *m)
{
	struct map bigger = { .cap = m->cap ? m->cap : 8 };
	size_t size, i;

	if (m->cap && !size_mul(bigger.cap, 2, &bigger.cap))
		return false;
	if (!size_mul(bigger.cap, sizeof(*m->slots), &size))
		return false;
	bigger.slots = malloc(size);
	bigger.used = calloc(bigger.cap, 1);
	if (!bigger.slots || !bigger.used) {
		free(bigger.slots);
		free(bigger.used);
		oom_flag_set();
		return false;
	}
	for (i = 0; i < m->cap; i++) {
		size_t to;

		if (!m->used[i])
			continue;
		to = find_slot(&bigger, m->slots[i].key);
		bigger.slots[to] = m->slots[i];
		bigger.used[to] = 1;
	}
	bigger.n = m->n;
	free(m->slots);
	free(m->used);
	*m = bigger;
	return true;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *value)
{
	size_t i;

	if (!m->n)
		return false;
	i = find_slot(m, key);
	if (!m->used[i])
		return false;
	if (value)
		*value = m->slots[i].value;
	return true;
}

bool map_put(struct map *m, uint64_t key, uint64_t value)
{
	size_t i;

	if (m->cap) {
		i = find_slot(m, key);
		if (m->used[i]) {
			m->slots[i].value = value;
			return true;
		}
	}
	if (m->n + 1 > m->cap / 4 * 3 && !grow_slots(m))
		return false;
	i = find_slot(m, key);
	m->slots[i] = (struct map_slot_){ key, value };
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the array grow_slots made, not freed */
	m->used[i] = 1;
	m->n++;
	return true;
}

bool map_del(struct map *m, uint64_t key)
{
	size_t mask = m->cap - 1, gap, i;

	if (!m->n)
		return false;
	gap = find_slot(m, key);
	if (!m->used[gap])
		return false;
	m->used[gap] = 0;
	m->n--;
	for (i = (gap + 1) & mask; m->used[i]; i = (i + 1) & mask) {
		size_t from_home = (i - home_slot(m, m->slots[i].key)) & mask;

		if (from_home < ((i - gap) & mask))
			continue; /* its home lies behind the gap: it may not move there */
		m->slots[gap] = m->slots[i];
		m->used[gap] = 1;
		m->used[i] = 0;
		gap = i;
	}
	return true;
}

bool map_each(const struct map *m, size_t *at, uint64_t *key, uint64_t *value)
{
	while (*at < m->cap) {
		size_t i = (*at)++;

		if (!m->used[i])
			continue;
		if (key)
			*key = m->slots[i].key;
		if (value)
			*value = m->slots[i].value;
		return true;
	}
	return false;
}

void map_prune(struct map *m, map_keep_fn *keep, void *ctx)
{
	size_t i = 0;

	/* map_del may move another entry into slot i, one not visited yet or one already kept. */
	while (i < m->cap)
		if (m->used[i] && !keep(ctx, m->slots[i].key, m->slots[i].value))
			map_del(m, m->slots[i].key);
		else
			i++;
}

void map_clear(struct map *m)
{
	if (m->cap)
		memset(m->used, 0, m->cap);
	m->n = 0;
}

void map_free(struct map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct map){ 0 };
}

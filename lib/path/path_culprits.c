/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identities of culprits, found by a hash of what they have in common.
 */
#include "lib/path/path_culprits.h"

#include <string.h>

#include "lib/base/hash.h"
#include "lib/world/who.h"

void path_culprits_free(struct path_culprits *c)
{
	vec_free(&c->v);
	map_free(&c->by_thread);
	map_free(&c->by_process);
	map_free(&c->by_key);
}

static uint64_t mix_hash(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ hash_u64(b));
}

static uint64_t hash_name(const struct world *w, uint32_t name)
{
	struct bytes text = bytes_without_number(world_text(w, name));

	return hash_bytes(text.p ? text.p : "", text.n, 0);
}

/* A process by its parent and its first command; where the parent is not known, by itself. */
static uint64_t process_key(const struct world *w, uint32_t process, uint32_t comm)
{
	const struct world_process *p = world_get_process(w, process);

	if (!p || !p->parent)
		return mix_hash(process, 1);
	return mix_hash(mix_hash(p->parent, p->node), mix_hash(hash_name(w, comm), 2));
}

bool path_culprit_is_nameless(const struct path_culprits *c, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;

	return p && p->tgid != t->tid && !who_has_own_name(c->w, thread);
}

/* Threads without a name of their own have nothing in common. */
static uint64_t thread_key(const struct path_culprits *c, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;
	uint32_t name = world_thread_name(c->w, thread, INT64_MAX);

	if (!t || !p)
		return mix_hash(thread, 3);
	if (p->tgid == t->tid)
		return process_key(c->w, t->process, t->comm);
	if (!who_has_own_name(c->w, thread))
		return mix_hash(thread, 5);
	return mix_hash(mix_hash(t->process, 4), hash_name(c->w, name));
}

/* The culprit with that identity, of which the thread is a member. */
static uint32_t add_member(struct path_culprits *c, uint64_t key, uint32_t thread)
{
	struct path_culprit *v;
	uint64_t id;

	if (!map_get(&c->by_key, key, &id)) {
		id = c->v.n + 1;
		if (!vec_push(&c->v, (struct path_culprit){ 0 }))
			return 0;
		if (!map_put(&c->by_key, key, id)) {
			c->v.n--;
			return 0;
		}
	}
	v = &c->v.v[id - 1];
	if (v->nmembers < PATH_CULPRIT_MEMBERS)
		v->members[v->nmembers] = thread;
	v->nmembers++;
	return (uint32_t)id;
}

uint32_t path_culprit_of(struct path_culprits *c, uint32_t thread)
{
	uint64_t id;

	if (map_get(&c->by_thread, thread, &id))
		return (uint32_t)id;
	id = add_member(c, thread_key(c, thread), thread);
	return id && map_put(&c->by_thread, thread, id) ? (uint32_t)id : 0;
}

/* Whether the thread is the one that stands for its process, under a name that it has since then:
 * it executed another program. */
static bool is_renamed(const struct path_culprits *c, uint64_t stands, uint32_t thread)
{
	const struct world_thread *was = world_get_thread(c->w, (uint32_t)stands),
				  *is = world_get_thread(c->w, thread);

	return was && is && was->tid == is->tid && was->start_ns < is->start_ns;
}

uint32_t path_culprit_of_process(struct path_culprits *c, uint32_t *thread)
{
	const struct world_thread *t = world_get_thread(c->w, *thread);
	uint64_t stands = *thread, id, key;
	bool known = t && map_get(&c->by_process, t->process, &stands);

	if (known && is_renamed(c, stands, *thread)) {
		stands = *thread;
		known = false;
	}
	if (t && !known && !map_put(&c->by_process, t->process, stands))
		return 0;
	*thread = (uint32_t)stands;
	if (map_get(&c->by_thread, stands << 32, &id))
		return (uint32_t)id;
	key = t ? mix_hash(process_key(c->w, t->process,
				       world_process_name(c->w, t->process, 0, INT64_MAX)),
			   6)
		: mix_hash(*thread, 3);
	id = add_member(c, key, *thread);
	return id && map_put(&c->by_thread, stands << 32, id) ? (uint32_t)id : 0;
}

bool path_culprit_is_thread(const struct path_culprits *c, uint32_t id, uint32_t thread)
{
	uint64_t known;

	return map_get(&c->by_thread, thread, &known) && known == id;
}

const struct path_culprit *path_culprit_get(const struct path_culprits *c, uint32_t id)
{
	return id ? &c->v.v[id - 1] : NULL;
}

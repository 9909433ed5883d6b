/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps handles of GPU functions to their names. The names of one handle are a list, newest first:
 * nearly always a handle has one name, so that a search is one look-up.
 */
#include "lib/world/kernel_names.h"

#include "lib/base/demangle.h"
#include "lib/base/hash.h"

#define DEEP 64 /* names of one handle that are looked through */

static uint64_t key_of(uint32_t process, uint64_t func)
{
	return hash_u64(func ^ hash_u64(process));
}

static uint32_t demangled_string(struct world *w, struct bytes name)
{
	struct buf raw = { 0 }, out = { 0 };
	uint32_t id;

	buf_add(&raw, name.p, name.n);
	demangle_name(&out, buf_text(&raw));
	id = raw.failed || out.failed ? 0 : world_string(w, buf_bytes(&out));
	buf_free(&raw);
	buf_free(&out);
	return id;
}

bool kernel_names_add(struct kernel_names *n, struct world *w, const struct rec_KERNEL *r)
{
	struct kernel_name new = { .since_ns = r->time_ns };
	uint64_t key = key_of(r->process, r->func), at = 0, after = 0;
	unsigned i = 0;

	new.text = r->name.n ? demangled_string(w, r->name) : 0;
	if (r->name.n && !new.text)
		return false;
	map_get(&n->newest, key, &at);
	/* In the order of times: a name may be found after a later one was given. */
	while (at && n->v.v[at - 1].since_ns > new.since_ns &&i++ < DEEP) {
		after = at;
		at = n->v.v[at - 1].before;
	}
	/* Each file of a recording names them again. */
	if ((at ? n->v.v[at - 1].text == new.text : !new.text) || n->v.n >= KERNEL_NAMES_MAX)
		return true;
	new.before = (uint32_t)at;
	if (!vec_push(&n->v, new))
		return false;
	if (!after)
		return map_put(&n->newest, key, n->v.n);
	n->v.v[after - 1].before = (uint32_t)n->v.n;
	return true;
}

void kernel_names_free(struct kernel_names *n)
{
	vec_free(&n->v);
	map_free(&n->newest);
}

uint32_t kernel_names_find(const struct kernel_names *n, uint32_t process, uint64_t func,
			   int64_t at_ns)
{
	uint64_t at = 0;

	map_get(&n->newest, key_of(process, func), &at);
	for (unsigned i = 0; at && i < DEEP && n->v.v[at - 1].since_ns > at_ns; i++) {
		if (!n->v.v[at - 1].before)
			break;
		at = n->v.v[at - 1].before;
	}
	return (uint32_t)at;
}

uint32_t kernel_names_text(const struct kernel_names *n, uint32_t found)
{
	return found ? n->v.v[found - 1].text : 0;
}

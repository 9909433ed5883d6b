/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of Misra and Gries, weighted: what finds no place takes as much from all that have one. Its error is at
 * most the whole divided by the candidates and one.
 */
#include "lib/cause/launched.h"

#include "lib/base/hash.h"

#define NAMES_MAX 65536 /* of all processes; others stay without */

void launched_add(struct launched *l, uint64_t func, uint64_t ns)
{
	uint64_t least = ns;
	unsigned i, room = LAUNCHED_KEPT;

	for (i = 0; i < LAUNCHED_KEPT; i++) {
		if (l->v[i].ns && l->v[i].func == func) {
			l->v[i].ns += ns;
			return;
		}
		if (l->v[i].ns == 0)
			room = i;
		else if (l->v[i].ns < least)
			least = l->v[i].ns;
	}
	if (room == LAUNCHED_KEPT) {
		for (i = 0; i < LAUNCHED_KEPT; i++) {
			l->v[i].ns -= least;
			if (l->v[i].ns == 0)
				room = i;
		}
		ns -= least;
	}
	if (ns && room < LAUNCHED_KEPT) {
		l->v[room].func = func;
		l->v[room].ns = ns;
	}
}

bool launched_most(const struct launched *l, uint64_t total_ns, uint64_t *func)
{
	for (unsigned i = 0; i < LAUNCHED_KEPT; i++)
		if (l->v[i].ns && l->v[i].ns >= total_ns - total_ns / 2) {
			*func = l->v[i].func;
			return true;
		}
	return false;
}

static uint64_t key_of(uint32_t process, uint64_t func)
{
	return hash_u64(func ^ hash_u64(process));
}

bool launched_name(struct launched_names *n, const struct record *r)
{
	const struct rec_KERNEL *k = &r->u.KERNEL;
	uint64_t key = key_of(k->process, k->func);
	const char *own;

	/* Each file of a recording names them again. */
	if (!REC_HAS(r, KERNEL, func) || k->name.n == 0 ||
	    bytes_equal(launched_name_of(n, k->process, k->func), k->name) ||
	    n->texts.n >= NAMES_MAX)
		return true;
	own = arena_copy(&n->memory, k->name.p, k->name.n);
	return own && vec_push(&n->texts, (struct bytes){ own, k->name.n }) &&
	       map_put(&n->by_handle, key, n->texts.n - 1);
}

struct bytes launched_name_of(const struct launched_names *n, uint32_t process, uint64_t func)
{
	uint64_t at;

	return map_get(&n->by_handle, key_of(process, func), &at) ? n->texts.v[at]
								  : (struct bytes){ 0 };
}

void launched_names_free(struct launched_names *n)
{
	arena_free(&n->memory);
	vec_free(&n->texts);
	map_free(&n->by_handle);
}

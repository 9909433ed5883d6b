/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels as KERNEL records give them: texts in an arena, by a hash of process and handle.
 */
#include "lib/gpustate/launched_names.h"

#include "lib/base/hash.h"

#define NAMES_MAX 65536 /* of all processes; others stay without */

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

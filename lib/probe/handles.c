/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: a launched handle with a name is told once per name and file of the recording. Texts are kept once, however many processes
 * register the same library.
 */
#include "lib/probe/handles.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

#define TEXTS_MAX (64u << 20) /* bytes of names kept; what comes later goes without */

#define AHEAD (1u << 31) /* told before it was launched in this file */

struct launched {
	uint32_t process;
	uint64_t handle, key;
};

struct probe_handles {
	struct arena memory;
	VEC(struct bytes) texts; /* [0] is none */
	size_t bytes;
	struct map by_hash; /* of the text -> number */
	struct map
		by_handle; /* process and handle -> number << 32 | the file it was told in, 0 none */
	uint32_t now;	   /* number of the file of the recording, from 1 on */
	VEC(struct launched) launched; /* in this file */
};

struct probe_handles *probe_handles_new(void)
{
	struct probe_handles *h = calloc(1, sizeof(*h));

	if (h && !vec_push(&h->texts, (struct bytes){ "", 0 })) {
		free(h);
		return NULL;
	}
	if (h)
		h->now = 1;
	return h;
}

void probe_handles_free(struct probe_handles *h)
{
	if (!h)
		return;
	vec_free(&h->texts);
	map_free(&h->by_hash);
	map_free(&h->by_handle);
	vec_free(&h->launched);
	arena_free(&h->memory);
	free(h);
}

static uint64_t key_of(uint32_t tgid, uint64_t handle)
{
	return hash_u64(handle) ^ (uint64_t)tgid << 32;
}

static bool text_number(struct probe_handles *h, struct bytes name, uint64_t *number)
{
	uint64_t hash = hash_bytes(name.p, name.n, 0);
	const char *own;

	if (map_get(&h->by_hash, hash, number))
		return true;
	*number = 0;
	if (h->bytes + name.n > TEXTS_MAX)
		return true;
	own = arena_copy(&h->memory, name.p, name.n);
	if (!own || !vec_push(&h->texts, (struct bytes){ own, name.n }))
		return false;
	h->bytes += name.n;
	*number = h->texts.n - 1;
	return map_put(&h->by_hash, hash, *number);
}

bool probe_handles_name(struct probe_handles *h, uint32_t tgid, uint64_t handle, struct bytes name)
{
	uint64_t key = key_of(tgid, handle), was = 0, number;

	if (!text_number(h, name, &number))
		return false;
	if (number == 0 || (map_get(&h->by_handle, key, &was) && was >> 32 == number))
		return true;
	return map_put(&h->by_handle, key, number << 32);
}

bool probe_handles_launch(struct probe_handles *h, uint32_t tgid, uint32_t process,
			  const struct event *ev, const struct op_def *def, uint64_t *handle,
			  struct bytes *name)
{
	uint64_t key, number, kernel;
	uint32_t told;

	if (ev->op == OP_CU_KERNEL_GET_FUNCTION && event_get(ev, def, COL_FUNC, handle) &&
	    event_get(ev, def, COL_KERNEL, &kernel) &&
	    map_get(&h->by_handle, key_of(tgid, kernel), &number))
		map_put(&h->by_handle, key_of(tgid, *handle), number >> 32 << 32);
	if (!(def->flags & OP_LAUNCH) || !event_get(ev, def, COL_FUNC, handle))
		return false;
	key = key_of(tgid, *handle);
	if (!map_get(&h->by_handle, key, &number) || (uint32_t)number == h->now)
		return false;
	told = (uint32_t)number;
	number >>= 32;
	map_put(&h->by_handle, key, number << 32 | h->now);
	vec_push(&h->launched, (struct launched){ process, *handle, key });
	*name = h->texts.v[number];
	return told != (h->now | AHEAD);
}

void probe_handles_again(struct probe_handles *h,
			 void (*say)(void *ctx, uint32_t process, uint64_t handle,
				     struct bytes name),
			 void *ctx)
{
	uint64_t number;

	h->now++;
	for (size_t i = 0; i < h->launched.n; i++) {
		const struct launched *l = &h->launched.v[i];

		if (!map_get(&h->by_handle, l->key, &number))
			continue;
		number >>= 32;
		map_put(&h->by_handle, l->key, number << 32 | h->now | AHEAD);
		say(ctx, l->process, l->handle, h->texts.v[number]);
	}
	h->launched.n = 0;
}

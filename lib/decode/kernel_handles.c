/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names the kernels that launches refer to by handle: one NAME record per name and file. Texts
 * are kept once, however many processes register the same library.
 */
#include "lib/decode/kernel_handles.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"

#define AHEAD	 (1u << 31) /* told before it was launched in this file */
#define GONE	 (1u << 30) /* with number 0: it has another name since, which is not known */
#define COPIES	 16	    /* of copies of a process that are asked for what it knew */
#define NAMELESS 65536	    /* handles of a process for which a name is looked for */

/* A process, from its number's having become its own on. Others name it by its index + 1. */
struct owner {
	uint32_t tgid;
	uint32_t parent;   /* owner that it is a copy of; 0 none */
	uint32_t copies;   /* owners that are its copies */
	uint32_t ended;	   /* in that round of forgetting, 0: it has not */
	uint32_t nameless; /* handles that were launched without a name */
	uint64_t serial;   /* of all that there were */
	struct map names;  /* handle -> number << 32 | the file with its record, 0 none; number 0:
			    * it has been launched without a name */
};

struct launched {
	uint32_t process, owner, number;
	uint64_t serial, handle;
	int64_t since_ns; /* of the first launch by that name */
};

struct kernel_handles {
	struct arena memory;
	VEC(struct bytes) texts; /* [0] is none */
	size_t bytes;
	uint64_t roomless;
	struct map by_hash; /* of the text -> number */
	VEC(struct owner) owners;
	VEC(uint32_t) unused, ended; /* of them */
	struct map owner_of;	     /* tgid -> who had that number last */
	uint64_t serial;
	uint32_t round;
	uint32_t now;		       /* number of the file of the recording, from 1 on */
	VEC(struct launched) launched; /* in this file */
};

struct kernel_handles *kernel_handles_new(void)
{
	struct kernel_handles *h = calloc(1, sizeof(*h));

	if (h && !vec_push(&h->texts, (struct bytes){ "", 0 })) {
		free(h);
		return NULL;
	}
	if (h)
		h->now = h->round = 1;
	return h;
}

void kernel_handles_free(struct kernel_handles *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->owners.n; i++)
		map_free(&h->owners.v[i].names);
	vec_free(&h->owners);
	vec_free(&h->unused);
	vec_free(&h->ended);
	vec_free(&h->texts);
	map_free(&h->by_hash);
	map_free(&h->owner_of);
	vec_free(&h->launched);
	arena_free(&h->memory);
	free(h);
}

/* ---- processes
 * ------------------------------------------------------------------------------------- */

/* 0: it has said nothing and is nobody's copy. */
static uint32_t owner_of(const struct kernel_handles *h, uint32_t tgid)
{
	uint64_t owner = 0;

	map_get(&h->owner_of, tgid, &owner);
	return (uint32_t)owner;
}

/* 0: no memory. */
static uint32_t owner_new(struct kernel_handles *h, uint32_t tgid)
{
	const struct owner new = { .tgid = tgid, .serial = ++h->serial };
	uint32_t owner;

	if (h->unused.n == 0) {
		if (!vec_push(&h->owners, (struct owner){ 0 }))
			return 0;
		if (!vec_push(&h->unused, (uint32_t)h->owners.n)) {
			h->owners.n--;
			return 0;
		}
	}
	owner = h->unused.v[h->unused.n - 1];
	if (!map_put(&h->owner_of, tgid, owner))
		return 0;
	h->unused.n--;
	h->owners.v[owner - 1] = new;
	return owner;
}

static void copy_of(struct kernel_handles *h, uint32_t owner, uint32_t parent)
{
	struct owner *o = &h->owners.v[owner - 1];

	if (o->parent)
		h->owners.v[o->parent - 1].copies--;
	o->parent = parent;
	if (parent)
		h->owners.v[parent - 1].copies++;
}

void kernel_handles_born(struct kernel_handles *h, uint32_t tgid, uint32_t parent)
{
	uint32_t of = parent ? owner_of(h, parent) : 0, owner = owner_of(h, tgid);

	if (parent && !of)
		of = owner_new(h, parent);
	/* Unless it has said something already. */
	if ((owner && h->owners.v[owner - 1].ended) || (!owner && of))
		owner = owner_new(h, tgid);
	if (owner && owner != of)
		copy_of(h, owner, of);
}

void kernel_handles_executed(struct kernel_handles *h, uint32_t tgid)
{
	uint32_t owner = owner_of(h, tgid);

	if (owner)
		copy_of(h, owner, 0);
}

void kernel_handles_ended(struct kernel_handles *h, uint32_t tgid)
{
	uint32_t owner = owner_of(h, tgid);

	if (owner && !h->owners.v[owner - 1].ended && vec_push(&h->ended, owner))
		h->owners.v[owner - 1].ended = h->round;
}

/* Of whom nothing is written any more, nothing is to be said again. */
static void drop_launched(struct kernel_handles *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->launched.n; i++)
		if (h->owners.v[h->launched.v[i].owner - 1].serial == h->launched.v[i].serial)
			h->launched.v[kept++] = h->launched.v[i];
	h->launched.n = kept;
}

static void owner_free(struct kernel_handles *h, uint32_t owner)
{
	struct owner *o = &h->owners.v[owner - 1];

	copy_of(h, owner, 0);
	if (owner_of(h, o->tgid) == owner)
		map_del(&h->owner_of, o->tgid);
	map_free(&o->names);
	*o = (struct owner){ 0 };
	vec_push(&h->unused, owner);
}

void kernel_handles_forget(struct kernel_handles *h)
{
	bool any = false;

	for (size_t i = h->ended.n; i-- > 0;) {
		const struct owner *o = &h->owners.v[h->ended.v[i] - 1];

		if (o->ended == h->round || o->copies)
			continue;
		owner_free(h, h->ended.v[i]);
		h->ended.v[i] = h->ended.v[--h->ended.n];
		any = true;
	}
	if (any)
		drop_launched(h);
	h->round++;
}

/* ---- names
 * ------------------------------------------------------------------------------------------ */

/* The name in the owner, or in the nearest process that it was forked from. */
static bool find_name(const struct kernel_handles *h, uint32_t owner, uint64_t handle,
		      uint64_t *value)
{
	for (unsigned n = 0; owner && n < COPIES; n++, owner = h->owners.v[owner - 1].parent) {
		if (!map_get(&h->owners.v[owner - 1].names, handle, value))
			continue;
		if (n)
			*value = *value >> 32 << 32; /* that record was for the other process */
		return true;
	}
	return false;
}

static bool text_number(struct kernel_handles *h, struct bytes name, uint64_t *number)
{
	uint64_t hash = hash_bytes(name.p, name.n, 0);
	const char *own;

	if (map_get(&h->by_hash, hash, number))
		return true;
	*number = 0;
	if (h->bytes + name.n > HANDLES_TEXTS_MAX) {
		h->roomless++;
		return true;
	}
	own = arena_copy(&h->memory, name.p, name.n);
	if (!own || !vec_push(&h->texts, (struct bytes){ own, name.n }))
		return false;
	h->bytes += name.n;
	*number = h->texts.n - 1;
	return map_put(&h->by_hash, hash, *number);
}

bool kernel_handles_name(struct kernel_handles *h, uint32_t tgid, uint64_t handle,
			 struct bytes name)
{
	uint32_t owner = owner_of(h, tgid);
	uint64_t was = 0, number;
	struct map *names;

	if (!owner)
		owner = owner_new(h, tgid);
	if (!owner || !text_number(h, name, &number))
		return false;
	names = &h->owners.v[owner - 1].names;
	if (map_get(names, handle, &was) && was >> 32 == number)
		return true;
	/* Without one, for there was no room; but not by that of what was there before. */
	return map_put(names, handle, number << 32);
}

void kernel_handles_unread(struct kernel_handles *h, uint32_t tgid, uint64_t handle)
{
	uint32_t owner = owner_of(h, tgid);
	uint64_t was;

	if (owner && find_name(h, owner, handle, &was) && was)
		map_put(&h->owners.v[owner - 1].names, handle, GONE);
}

uint64_t kernel_handles_roomless(const struct kernel_handles *h)
{
	return h->roomless;
}

static void store_name(struct kernel_handles *h, uint32_t process, uint32_t owner, uint64_t number,
		       uint64_t handle, int64_t since_ns)
{
	map_put(&h->owners.v[owner - 1].names, handle, number << 32 | h->now);
	if (number)
		vec_push(&h->launched,
			 (struct launched){ process, owner, (uint32_t)number,
					    h->owners.v[owner - 1].serial, handle, since_ns });
}

enum kernel_launch kernel_handles_launch(struct kernel_handles *h, uint32_t tgid, uint32_t process,
					 const struct event *ev, const struct op_def *def,
					 uint64_t *handle, struct bytes *name)
{
	uint32_t owner = owner_of(h, tgid), told;
	uint64_t number = 0, kernel;
	bool known, gone; /* by a name, or to have none; it had one */

	if (owner && ev->op == OP_CU_KERNEL_GET_FUNCTION && event_get(ev, def, COL_FUNC, handle) &&
	    event_get(ev, def, COL_KERNEL, &kernel) && find_name(h, owner, kernel, &number))
		map_put(&h->owners.v[owner - 1].names, *handle, number >> 32 << 32);
	if (!(def->flags & OP_LAUNCH) || !event_get(ev, def, COL_FUNC, handle))
		return KERNEL_LAUNCH_OTHER;
	if (!owner)
		owner = owner_new(h, tgid);
	if (!owner)
		return KERNEL_LAUNCH_OTHER;
	known = find_name(h, owner, *handle, &number) && number;
	gone = number == GONE;
	told = (uint32_t)number;
	number >>= 32;
	if (known && !gone && (told == h->now || number == 0))
		return KERNEL_LAUNCH_OTHER;
	if (number == 0 && h->owners.v[owner - 1].nameless++ >= NAMELESS)
		return KERNEL_LAUNCH_OTHER;
	store_name(h, process, owner, number, *handle, event_start(ev));
	if (number == 0)
		return gone ? KERNEL_LAUNCH_RENAMED : KERNEL_LAUNCH_UNKNOWN;
	*name = h->texts.v[number];
	return told == (h->now | AHEAD) ? KERNEL_LAUNCH_OTHER : KERNEL_LAUNCH_NAME;
}

void kernel_handles_found(struct kernel_handles *h, uint32_t tgid, uint32_t process,
			  uint64_t handle, struct bytes name, int64_t since_ns)
{
	uint32_t owner = owner_of(h, tgid);
	uint64_t number = 0;

	if (owner && !h->owners.v[owner - 1].ended &&
	    !(find_name(h, owner, handle, &number) && (number >> 32 || number == GONE)) &&
	    text_number(h, name, &number) && number)
		store_name(h, process, owner, number, handle, since_ns);
}

void kernel_handles_again(struct kernel_handles *h,
			  void (*say)(void *ctx, uint32_t process, uint64_t handle,
				      struct bytes name, int64_t since_ns),
			  void *ctx)
{
	uint64_t number;

	h->now++;
	for (size_t i = 0; i < h->launched.n; i++) {
		const struct launched *l = &h->launched.v[i];
		struct owner *o = &h->owners.v[l->owner - 1];

		/* It may be gone, or call it something else by now. */
		if (o->serial == l->serial && map_get(&o->names, l->handle, &number) &&
		    number >> 32 == l->number)
			map_put(&o->names, l->handle, number >> 32 << 32 | h->now | AHEAD);
		say(ctx, l->process, l->handle, h->texts.v[l->number], l->since_ns);
	}
	h->launched.n = 0;
}

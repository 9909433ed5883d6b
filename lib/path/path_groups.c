/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums pieces by all that tells them apart, in a hash table; groups are made of the sums when they are asked for.
 */
#include "lib/path/path_groups.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

static const char *const texts[PATH_CLASSES] = {
	[PATH_UNKNOWN] = "unknown",
	[PATH_OWN] = "own code",
	[PATH_CALL] = "in call",
	[PATH_DEVICE] = "device",
	[PATH_RECLAIM] = "memory reclaim",
	[PATH_COMPACT] = "memory compaction",
	[PATH_FAULT] = "page fault",
	[PATH_STOLEN] = "stolen by the hypervisor",
	[PATH_THROTTLED] = "throttled",
	[PATH_WAKE_UP] = "wake-up latency",
	[PATH_TAKEN] = "CPU taken",
	[PATH_CPU_OTHER] = "runnable, occupant unknown",
	[PATH_LOCK] = "lock",
	[PATH_SLEEP] = "sleep",
	[PATH_DISK] = "disk",
	[PATH_CHILD] = "child process",
	[PATH_STOPPED] = "stopped",
	[PATH_FROZEN] = "frozen",
	[PATH_OUTSIDE] = "outside (socket or poll)",
	[PATH_BLOCKED] = "blocked",
	[PATH_UNENDED] = "never ended",
	[PATH_TOO_DEEP] = "chain too deep",
};

const char *path_class_text(enum path_class class)
{
	return class < PATH_CLASSES ? texts[class] : "?";
}

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

void path_groups_free(struct path_groups *g)
{
	vec_free(&g->sums);
	free(g->slots);
	path_culprits_free(&g->culprits);
	map_free(&g->frames.by);
}

/* ---- sums ---- */

static void key_of(const struct path_piece *p, bool lines, uint64_t key[4])
{
	key[0] = (uint64_t)p->anchor << 32 | p->thread;
	key[1] = (uint64_t)p->occupant << 32 | p->s.who;
	key[2] = (uint64_t)p->s.state << 8 | p->s.object;
	key[3] = p->s.flags;
	if (lines) {
		key[2] |= (uint64_t)p->s.line << 32 | (uint64_t)p->s.op << 16;
	} else {
		key[3] &= ~(uint64_t)SEGMENT_SAMPLED;
	}
}

static inline bool keys_equal(const uint64_t a[4], const uint64_t b[4])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

static inline size_t slot_of(const struct path_groups *g, const uint64_t key[4])
{
	uint64_t h = hash_u64(key[0] ^ hash_u64(key[1] ^ hash_u64(key[2] + key[3])));

	return h & (g->nslots - 1);
}

/* Twice as many slots. */
static bool slots_grow(struct path_groups *g)
{
	size_t n = g->nslots ? g->nslots * 2 : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(g->slots);
	g->slots = slots;
	g->nslots = n;
	for (size_t i = 0; i < g->sums.n; i++) {
		size_t at = slot_of(g, g->sums.v[i].key);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	return true;
}

static struct path_sum *sum_find(struct path_groups *g, const uint64_t key[4], bool *full)
{
	size_t at;

	if (g->last && keys_equal(g->sums.v[g->last - 1].key, key))
		return &g->sums.v[g->last - 1];
	if (g->sums.n * 2 >= g->nslots && !slots_grow(g))
		return NULL;
	for (at = slot_of(g, key); g->slots[at]; at = (at + 1) & (g->nslots - 1)) {
		g->last = g->slots[at];
		if (keys_equal(g->sums.v[g->last - 1].key, key))
			return &g->sums.v[g->last - 1];
	}
	*full = g->sums.n >= PATH_SUMS_MAX;
	if (*full || !vec_push(&g->sums, (struct path_sum){ { key[0], key[1], key[2], key[3] } }))
		return NULL;
	g->last = g->slots[at] = (uint32_t)g->sums.n;
	return &g->sums.v[g->sums.n - 1];
}

/* A sum without a line, though there are many: there are few of these. */
static struct path_sum *sum_without_line(struct path_groups *g, const struct path_piece *p)
{
	struct path_sum *sum;
	uint64_t key[4];
	bool full = false;

	key_of(p, false, key);
	sum = sum_find(g, key, &full);
	if (sum || !full)
		return sum;
	return vec_push(&g->sums, (struct path_sum){ { key[0], key[1], key[2], key[3] } }) &&
			       slots_grow(g)
		       ? &g->sums.v[g->sums.n - 1]
		       : NULL;
}

void path_groups_add(struct path_groups *g, const struct path_piece *p)
{
	struct path_sum *sum;
	uint64_t key[4];
	bool full = false;

	key_of(p, true, key);
	sum = sum_find(g, key, &full);
	if (!sum && full)
		sum = sum_without_line(g, p);
	if (!sum) {
		g->nomem = true;
		return;
	}
	sum->ns += (uint64_t)(p->to_ns - p->from_ns);
	sum->pieces++;
}

/* ---- groups ---- */

static enum path_class class_blocked(const struct path_piece *p)
{
	switch (p->s.object) {
	case OBJECT_GPU:
		return PATH_DEVICE;
	case OBJECT_TIMER:
		return p->s.flags & SEGMENT_IN_SYNC ? PATH_DEVICE : PATH_SLEEP;
	case OBJECT_DISK:
		return PATH_DISK;
	case OBJECT_FAULT:
		return PATH_FAULT;
	case OBJECT_CHILD:
		return PATH_CHILD;
	case OBJECT_STOP:
		return PATH_STOPPED;
	case OBJECT_FREEZER:
		return PATH_FROZEN;
	case OBJECT_POLL:
	case OBJECT_SOCKET:
		return p->s.flags & SEGMENT_IN_SYNC ? PATH_DEVICE : PATH_OUTSIDE;
	default:
		if (p->s.flags & SEGMENT_EXCLUSION)
			return PATH_LOCK;
		return p->s.flags & SEGMENT_IN_SYNC ? PATH_DEVICE : PATH_BLOCKED;
	}
}

static enum path_class class_of(const struct path_piece *p)
{
	static const enum path_class classes[SEGMENT_STATES] = {
		[SEGMENT_UNKNOWN] = PATH_UNKNOWN,     [SEGMENT_OWN] = PATH_OWN,
		[SEGMENT_CALL] = PATH_CALL,	      [SEGMENT_SYNC] = PATH_DEVICE,
		[SEGMENT_RECLAIM] = PATH_RECLAIM,     [SEGMENT_COMPACT] = PATH_COMPACT,
		[SEGMENT_FAULT_IN] = PATH_FAULT,      [SEGMENT_STOLEN] = PATH_STOLEN,
		[SEGMENT_THROTTLED] = PATH_THROTTLED, [SEGMENT_WAKE_UP] = PATH_WAKE_UP,
		[SEGMENT_UNENDED] = PATH_UNENDED,     [SEGMENT_TOO_DEEP] = PATH_TOO_DEEP,
	};

	if (p->s.state == SEGMENT_RUNNABLE)
		return p->s.who ? PATH_TAKEN : PATH_CPU_OTHER;
	if (p->s.state == SEGMENT_BLOCKED)
		return class_blocked(p);
	return p->s.state < SEGMENT_STATES ? classes[p->s.state] : PATH_UNKNOWN;
}

/* The thread that a piece is told of; 0: the anchor, or nobody. */
static uint32_t culprit_thread(const struct path_piece *p, enum path_class class)
{
	switch (class) {
	case PATH_UNKNOWN:
	case PATH_STOLEN:
	case PATH_WAKE_UP:
	case PATH_CPU_OTHER:
	case PATH_TOO_DEEP:
		return 0;
	case PATH_TAKEN:
		return p->s.who;
	default:
		if (p->s.state == SEGMENT_BLOCKED && p->s.object != OBJECT_DISK && p->s.who)
			return p->s.who;
		return p->thread != p->anchor ? p->thread : 0;
	}
}

static struct path_piece piece_of(const struct path_sum *sum)
{
	return (struct path_piece){
		.anchor = (uint32_t)(sum->key[0] >> 32),
		.thread = (uint32_t)sum->key[0],
		.occupant = (uint32_t)(sum->key[1] >> 32),
		.s = { .who = (uint32_t)sum->key[1],
		       .line = (uint32_t)(sum->key[2] >> 32),
		       .op = (uint16_t)(sum->key[2] >> 16),
		       .state = (uint8_t)(sum->key[2] >> 8),
		       .object = (uint8_t)sum->key[2],
		       .flags = (uint8_t)sum->key[3] },
	};
}

static bool group_of(struct path_groups *g, struct path *path, const struct path_sum *sum,
		     struct path_group *out)
{
	struct path_piece p = piece_of(sum);
	uint32_t thread;

	*out = (struct path_group){ .anchor = p.anchor, .ns = sum->ns, .pieces = sum->pieces };
	if (p.occupant && !path_is_partner(path, p.anchor, p.occupant)) {
		p.s = (struct segment){ .state = SEGMENT_RUNNABLE, .who = p.occupant };
		p.occupant = 0;
	}
	out->class = class_of(&p);
	out->rough_ns = p.s.flags & SEGMENT_ROUGH ? sum->ns : 0;
	out->serialised_ns = p.occupant ? sum->ns : 0;
	thread = culprit_thread(&p, out->class);
	out->culprit = thread ? path_culprit_of(&g->culprits, thread) : 0;
	if (p.s.line) {
		out->line = site_frames_get(&g->frames, g->w, p.s.line);
		out->sampled = p.s.flags & SEGMENT_SAMPLED;
	}
	if (out->class == PATH_OWN || out->class == PATH_CALL || out->class == PATH_DEVICE)
		out->op = p.s.op;
	if (out->class == PATH_DISK)
		out->device = p.s.who;
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
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return (int)a->sampled - (int)b->sampled;
}

static int compare_ns(const void *x, const void *y)
{
	const struct path_group *a = x, *b = y;

	return a->ns > b->ns ? -1 : a->ns < b->ns ? 1 : compare_groups(x, y);
}

/* Groups that are one become one. */
static void merge_groups(struct path_group_list *l)
{
	size_t put = 0;

	qsort(l->v.v, l->v.n, sizeof(l->v.v[0]), compare_groups);
	for (size_t i = 0; i < l->v.n; i++) {
		struct path_group *last = put ? &l->v.v[put - 1] : NULL;
		const struct path_group *next = &l->v.v[i];

		if (!last || compare_groups(last, next) != 0) {
			l->v.v[put++] = *next;
			continue;
		}
		last->ns += next->ns;
		last->pieces += next->pieces;
		last->serialised_ns += next->serialised_ns;
		last->rough_ns += next->rough_ns;
	}
	l->v.n = put;
	qsort(l->v.v, l->v.n, sizeof(l->v.v[0]), compare_ns);
}

bool path_groups_of(struct path_groups *g, struct path *p, uint32_t anchor,
		    struct path_group_list *out)
{
	out->v.n = 0;
	for (size_t i = 0; i < g->sums.n; i++) {
		struct path_group group;

		if (g->sums.v[i].key[0] >> 32 != anchor)
			continue;
		if (!group_of(g, p, &g->sums.v[i], &group) || !vec_push(&out->v, group))
			return false;
	}
	if (out->v.n)
		merge_groups(out);
	return !g->nomem;
}

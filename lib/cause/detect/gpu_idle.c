/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu-idle: the device has nothing to do for the process, because the thread that would give it work computes, sleeps or
 * waits for somebody outside the traced calls. Proven by gaps (lib/line/gaps.h) and what that thread did in them. Not
 * this: gaps that the host took (each has its own kind), time inside calls, the short gaps of a sync-storm, processes
 * that never submit work, and a device that is never seen without work.
 */
#include <string.h>

#include "lib/base/hash.h"
#include "lib/cause/detect/gpu_work.h"

/* What the program does itself; the host's states are told by their own kinds. */
#define CLAIMED                                                                     \
	(1u << PART_SELF | 1u << PART_SLEEP | 1u << PART_SOCKET | 1u << PART_POLL | \
	 1u << PART_IDLE | 1u << PART_FD | 1u << PART_CHILD | 1u << PART_BLOCKED)
/* A step has to do a little between two others, and so much it takes to launch anything. */
#define MIN_SELF_NS 100000

/* The first frame met of the same function. */
static uint32_t function_of(struct gpu_work *g, const struct cause *c, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(c->w, frame);
	const struct world_symbol *s = world_get_symbol(c->w, frame);
	uint64_t key, first;

	if (!f || (f->kind != FRAME_PYTHON && !s))
		return frame;
	key = f->kind == FRAME_PYTHON ? (uint64_t)f->file << 32 | f->name
				      : (uint64_t)f->module << 32 | s->name;
	key = hash_u64(key ^ (uint64_t)f->kind << 60);
	if (map_get(&g->function_by, key, &first))
		return (uint32_t)first;
	map_put(&g->function_by, key, frame); /* where that fails it is looked up again */
	return frame;
}

/* Whose line it is told by: what leads when each line outvotes the others. */
static void line_votes(struct idle_cause *x, uint32_t frame, uint32_t stack, uint64_t ns)
{
	if (x->line == frame) {
		x->line_ns += ns;
	} else if (x->line_ns >= ns) {
		x->line_ns -= ns;
	} else {
		x->line = frame;
		x->line_stack = stack;
		x->line_ns = ns - x->line_ns;
	}
}

/* Position of the place of a gap; UINT32_MAX: out of memory, or too many. */
static uint32_t place_at(struct gpu_work *g, const struct cause *c, const struct gap *gap)
{
	uint64_t since = site_frames_get(&g->frames, c->w, gap->since_stack),
		 until = site_frames_get(&g->frames, c->w, gap->until_stack), at,
		 key = hash_u64((since << 32 | until) ^
				hash_u64((uint64_t)gap->device << 1 | gap->unbounded));
	struct idle_place fresh;
	bool full;

	if (map_get(&g->place_by, key, &at))
		return (uint32_t)at;
	fresh = (struct idle_place){ .device = gap->device, .key = key };
	return gpu_place(&g->places, &g->unused_places, &g->place_by, fresh, &full);
}

/* Of what was seen running at a place, what got least of the gaps in which nothing was seen: in the end each gets as large a part
 * of them as it has of the others. UINT32_MAX: nothing was. */
static uint32_t likely(const struct gpu_work *g, const struct idle_place *p)
{
	uint32_t best = UINT32_MAX;
	double most = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct idle_cause *x = &g->idle.v[p->seen[i]];
		double share = (double)x->seen_ns / (double)(x->sum.ns + 1);

		if (share > most) {
			most = share;
			best = p->seen[i];
		}
	}
	return best;
}

/* Remembers that the cause was seen running there. */
static void seen_at(struct gpu_work *g, uint32_t place, uint32_t at)
{
	struct idle_place *p = place != UINT32_MAX ? &g->places.v[place] : NULL;

	for (uint32_t i = 0; p && i < p->n; i++) {
		if (p->seen[i] == at)
			return;
	}
	if (p && p->n < IDLE_SEEN)
		p->seen[p->n++] = at;
}

/* Position of the cause; UINT32_MAX: out of memory, or too many (then *full). */
static uint32_t cause_at(struct gpu_work *g, struct idle_cause *fresh, bool *full)
{
	uint64_t key = hash_u64(
			 ((uint64_t)fresh->device << 32 | fresh->frame) ^
			 hash_u64(((uint64_t)fresh->until_frame << 32 |
				   (uint32_t)fresh->part << 24 | (uint32_t)fresh->writes << 2 |
				   (uint32_t)fresh->timed_out << 1 | fresh->unbounded) ^
				  hash_u64(fresh->waker_comm ^ hash_u64(fresh->wait)))),
		 at;

	*full = false;
	if (map_get(&g->idle_by, key, &at))
		return (uint32_t)at;
	fresh->key = key;
	return gpu_place(&g->idle, &g->unused_idle, &g->idle_by, *fresh, full);
}

/* Own code in a gap: of the function it was seen in, or most likely in, else between two calls. */
static bool own_code(struct gpu_work *g, const struct cause *c, const struct gap *gap,
		     const struct doing *d, struct idle_cause *fresh, uint32_t *at, bool *full)
{
	uint32_t frame = site_frames_get(&g->frames, c->w, d->stack), place = place_at(g, c, gap);

	if (frame) {
		fresh->frame = function_of(g, c, frame);
		*at = cause_at(g, fresh, full);
		if (*at == UINT32_MAX)
			return false;
		seen_at(g, place, *at);
		g->idle.v[*at].seen_ns += d->ns;
		line_votes(&g->idle.v[*at], frame, d->stack, d->ns);
		return true;
	}
	*at = place != UINT32_MAX ? likely(g, &g->places.v[place]) : UINT32_MAX;
	return *at != UINT32_MAX;
}

/* Less what the network took, which is told as that (net_loss.c). */
static uint64_t not_lossy(const struct cause *c, const struct gap *gap, const struct doing *d)
{
	uint64_t lossy = 0;

	if (d->part == PART_SOCKET)
		lossy = cause_lossy_within(&c->lossy, gap->thread, gap->start_ns, gap->end_ns);
	return d->ns > lossy ? d->ns - lossy : 0;
}

/* What of one gap goes to one cause: it is one gap, in however many pieces it lay in it. */
struct idle_share {
	uint32_t at[DOINGS];
	uint64_t ns[DOINGS];
	unsigned n;
};

static void share_add(struct idle_share *s, uint32_t at, uint64_t ns)
{
	unsigned i = 0;

	while (i < s->n && s->at[i] != at)
		i++;
	if (i == s->n) {
		s->at[s->n] = at;
		s->ns[s->n++] = 0;
	}
	s->ns[i] += ns;
}

/* Who ended the wait: of one whose time ran out, and that was then taken up again at the same place, who did so in the end. */
static uint32_t ended_by(struct gpu_work *g, const struct cause *c, const struct gap *gap,
			 const struct doing *d)
{
	uint32_t frame = d->timed_out ? site_frames_get(&g->frames, c->w, d->stack) : 0;

	for (unsigned i = 0; i < gap->did.n && frame; i++) {
		const struct doing *other = &gap->did.v[i];

		if (other->waker && other->part == d->part &&
		    site_frames_get(&g->frames, c->w, other->stack) == frame)
			return other->waker;
	}
	return d->waker;
}

bool gpu_idle_gap(struct gpu_work *g, const struct cause *c, uint32_t wait, const struct gap *gap)
{
	struct idle_share shares = { .n = 0 };
	const struct world_process *p =
		world_get_process(c->w, gaps_device(g->gaps, gap->device)->process);
	enum syscall_arch arch = cause_nodes_arch(&c->nodes, p ? p->node : 0);

	for (unsigned i = 0; i < gap->did.n; i++) {
		const struct doing *d = &gap->did.v[i];
		uint64_t ns = not_lossy(c, gap, d);
		struct idle_cause fresh = { .device = gap->device,
					    .part = d->part,
					    .stack = d->stack,
					    /* Who ends a program ends its waits, too. */
					    .waker = gap->unended ? 0 : ended_by(g, c, gap, d),
					    .unbounded = gap->unbounded };
		bool full = false;
		uint32_t at = UINT32_MAX;

		if (!(CLAIMED >> d->part & 1) || ns < (d->part == PART_SELF ? MIN_SELF_NS : 1))
			continue;
		if (d->part == PART_SELF)
			fresh.wait = wait + 1;
		fresh.timed_out = d->timed_out && !fresh.waker;
		fresh.writes = d->syscall && syscall_writes(arch, d->syscall - 1);
		fresh.waker_comm = gpu_comm(c, fresh.waker);
		if (d->part != PART_SELF || !own_code(g, c, gap, d, &fresh, &at, &full)) {
			fresh.frame = site_frames_get(&g->frames, c->w, d->stack);
			if (fresh.frame == 0 && g->left_out) {
				/* The calls around it are those that happened to be recorded: they
				 * tell nothing. */
				fresh.wait = 0;
				fresh.stack = 0;
			} else if (fresh.frame == 0) {
				fresh.frame = site_frames_get(&g->frames, c->w, gap->since_stack);
				fresh.until_frame =
					site_frames_get(&g->frames, c->w, gap->until_stack);
				fresh.stack = gap->until_stack;
			}
			at = cause_at(g, &fresh, &full);
		}
		if (at == UINT32_MAX && full)
			continue;
		if (at == UINT32_MAX)
			return false;
		gpu_behind_add(&g->idle.v[at].behind, c, &g->frames, d);
		if (gap->unended) {
			g->idle.v[at].unended_ns += ns;
			g->idle.v[at].unended_since_ns = gap->start_ns;
		}
		share_add(&shares, at, ns);
	}
	for (unsigned i = 0; i < shares.n; i++)
		cause_sum_add(c, &g->idle.v[shares.at[i]].sum,
			      &(struct sum_worst){ .end_ns = gap->end_ns,
						   .dur_ns =
							   (uint64_t)(gap->end_ns - gap->start_ns),
						   .lost_ns = shares.ns[i],
						   .thread = gap->thread,
						   .tiers = TIERS_ALL });
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks device memory that processes hold, by the pointer of each allocation. Listeners are
 * notified of a change after the figures include it.
 */
#include "lib/gpustate/allocations.h"

#include <stdlib.h>

#include "lib/base/hash.h"

enum { CLASS_ALLOC, CLASS_FREE, CLASS_END };

#define SPAN_NS 100000000 /* of a history at first: a tenth of a second */

/* Host memory is no OP_ALLOC: it is none of the device's. */
static bool is_pin(uint16_t op)
{
	return op == OP_CUDA_MALLOC_HOST || op == OP_CUDA_HOST_REGISTER ||
	       op == OP_CU_MEM_ALLOC_HOST || op == OP_CU_MEM_HOST_REGISTER;
}

static bool is_unpin(uint16_t op)
{
	return op == OP_CUDA_FREE_HOST || op == OP_CUDA_HOST_UNREGISTER ||
	       op == OP_CU_MEM_FREE_HOST || op == OP_CU_MEM_HOST_UNREGISTER;
}

/* After it the process holds none of its memory, or none on that device. */
static bool releases_all(uint16_t op)
{
	return op == OP_PROC_EXIT || op == OP_CUDA_DEVICE_RESET ||
	       op == OP_CU_DEVICE_PRIMARY_CTX_RESET;
}

bool live_wants(const struct op_def *op)
{
	return op && (op->flags & (OP_ALLOC | OP_FREE) || is_pin(op->id) || is_unpin(op->id) ||
		      releases_all(op->id));
}

static enum live_kind kind_of(uint16_t op)
{
	if (op == OP_CUDA_MALLOC_MANAGED || op == OP_CU_MEM_ALLOC_MANAGED)
		return LIVE_MANAGED;
	return is_pin(op) || is_unpin(op) ? LIVE_PINNED : LIVE_DEVICE;
}

/* ---- history ---- */

/* Merges pairs of spans: twice as long, half as many. */
static void coarsen_history(struct live_history *h)
{
	int64_t first = h->first_span >> 1;
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++) {
		unsigned to = (unsigned)(((h->first_span + i) >> 1) - first);

		if (to == n) {
			h->v[n++] = h->v[i];
			continue;
		}
		if (h->v[i].least < h->v[to].least)
			h->v[to].least = h->v[i].least;
		if (h->v[i].most > h->v[to].most)
			h->v[to].most = h->v[i].most;
	}
	h->first_span = first;
	h->span_ns *= 2;
	h->n = n;
}

/* At time ns the process went from `was` to `is`. */
static void history_add(struct live_history *h, int64_t ns, uint64_t was, uint64_t is)
{
	int64_t span;

	if (h->n == 0) {
		h->span_ns = SPAN_NS;
		h->first_span = ns / h->span_ns;
		h->v[h->n++] = (struct live_point){ was, was };
	}
	while ((span = ns / h->span_ns - h->first_span) >= LIVE_POINTS)
		coarsen_history(h);
	while (span >= (int64_t)h->n)
		h->v[h->n++] = (struct live_point){ was, was };
	if (span < 0) /* told late: in the first */
		span = 0;
	if (is < h->v[span].least)
		h->v[span].least = is;
	if (is > h->v[span].most)
		h->v[span].most = is;
}

/* ---- what is held ---- */

static struct live_process *process_at(struct live *l, uint32_t process)
{
	struct live_process *p;

	if (!vec_reach(&l->by_process, process))
		return NULL;
	if (l->by_process.v[process])
		return l->processes.v[l->by_process.v[process] - 1];
	p = calloc(1, sizeof(*p));
	if (!p || !vec_push(&l->processes, p)) {
		free(p);
		return NULL;
	}
	p->process = process;
	l->by_process.v[process] = (uint32_t)l->processes.n;
	return p;
}

struct live_process *live_of(const struct live *l, uint32_t process)
{
	if (process >= l->by_process.n || !l->by_process.v[process])
		return NULL;
	return l->processes.v[l->by_process.v[process] - 1];
}

static uint64_t site_key(uint32_t process, uint16_t op, uint32_t stack)
{
	return hash_u64((uint64_t)process << 32 | stack) ^ hash_u64(op);
}

static bool site_at(struct live *l, uint32_t process, uint16_t op, uint32_t stack, uint32_t *at)
{
	struct live_site fresh = {
		.process = process, .stack = stack, .op = op, .kind = kind_of(op)
	};
	uint64_t key = site_key(process, op, stack), pos;

	for (;; key++) {
		if (!map_get(&l->site_by, key, &pos)) {
			if (stack && l->sites.n - l->unused_sites.n >= LIVE_SITES_MAX)
				return site_at(l, process, op, 0, at);
			*at = vec_place(&l->sites, &l->unused_sites);
			if (*at == UINT32_MAX)
				return false;
			l->sites.v[*at] = fresh;
			return map_put(&l->site_by, key, *at);
		}
		*at = (uint32_t)pos;
		if (l->sites.v[pos].process == process && l->sites.v[pos].op == op &&
		    l->sites.v[pos].stack == stack)
			return true;
	}
}

/* A block of a site, of whatever size, came or is gone. What the site held at its process's latest
 * peak is noted when it first changes after that. */
static void site_add(struct live *l, struct live_process *p, uint32_t at, uint64_t bytes, bool gone)
{
	struct live_site *s = &l->sites.v[at];

	if (s->peak_seen != p->peaks) {
		s->at_peak_bytes = s->bytes;
		s->peak_seen = p->peaks;
	}
	s->bytes += gone ? -bytes : bytes;
	s->n += gone ? UINT64_MAX : 1;
	if (s->bytes > s->peak_bytes)
		s->peak_bytes = s->bytes;
}

static void process_add(struct live_process *p, enum live_kind kind, uint64_t bytes, bool gone,
			int64_t ns)
{
	uint64_t was = live_bytes(p);

	p->bytes[kind] += gone ? -bytes : bytes;
	p->n += gone ? UINT64_MAX : 1;
	if (kind == LIVE_PINNED)
		return;
	history_add(&p->history, ns, was, live_bytes(p));
	if (live_bytes(p) > p->peak_bytes) {
		p->peak_bytes = live_bytes(p);
		p->peak_ns = ns;
		p->peaks++;
	}
}

static uint64_t key_of(uint32_t process, const struct op_def *op, uint64_t value)
{
	uint64_t space = op_column(op, COL_HANDLE) >= 0 ? 1 : 0;

	return hash_u64(value ^ hash_u64((uint64_t)process << 1 | space));
}

static void drop_block(struct live *l, uint32_t at, int64_t ns)
{
	struct live_block *b = &l->blocks.v[at];
	struct live_process *p = live_of(l, b->process);

	p->after -= p->ended;
	site_add(l, p, b->site, b->bytes, true);
	process_add(p, l->sites.v[b->site].kind, b->bytes, true, ns);
	b->used = false;
	map_del(&l->block_by, b->key);
}

/* That the call was for; 0: it is not known. cuDevicePrimaryCtxReset names another than the
 * thread's by a number that is the process's own. */
static uint32_t gpu_of(const struct live *l, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(l->once.w, ev->ctx);

	return ctx && ev->op != OP_CU_DEVICE_PRIMARY_CTX_RESET ? ctx->gpu : 0;
}

static bool notify_listener(struct live *l, struct live_told *t)
{
	return !l->told || l->told(l->ctx, t);
}

static bool value_of(const struct once_call *c, uint64_t *value)
{
	return event_get(&c->ev, c->op, COL_PTR, value) ||
	       event_get(&c->ev, c->op, COL_HANDLE, value);
}

static bool on_allocated(struct live *l, struct live_process *p, const struct once_call *c)
{
	struct live_told t = { .what = LIVE_ALLOCATED, .call = c, .process = p };
	struct live_block b = { .process = c->process,
				.dur_ns = c->ev.dur_ns,
				.end_ns = c->ev.end_ns,
				.gpu = gpu_of(l, &c->ev),
				.used = true };
	uint64_t value, at;

	event_get(&c->ev, c->op, COL_BYTES, &b.bytes);
	t.bytes = b.bytes;
	if (c->ev.ret != 0) {
		p->failed++;
		t.what = LIVE_FAILED;
		return notify_listener(l, &t);
	}
	if (!value_of(c, &value) || value == 0 || b.bytes > INT64_MAX / 2)
		return true;
	b.key = key_of(c->process, c->op, value);
	if (map_get(&l->block_by, b.key, &at)) {
		p->replaced++;
		drop_block(l, (uint32_t)at, c->ev.end_ns);
		if (!vec_push(&l->unused, (uint32_t)at))
			return false;
	}
	p->allocs++;
	p->allocated_ns = c->ev.end_ns;
	if (l->unused.n == 0 && l->blocks.n >= LIVE_BLOCKS_MAX) {
		p->beyond++;
		return true;
	}
	if (!site_at(l, c->process, c->ev.op, c->ev.stack, &b.site))
		return false;
	at = vec_place(&l->blocks, &l->unused);
	if (at == UINT32_MAX)
		return false;
	l->blocks.v[at] = b;
	if (!map_put(&l->block_by, b.key, at))
		return false;
	l->sites.v[b.site].allocs++;
	l->sites.v[b.site].alloc_bytes += b.bytes;
	p->after += p->ended;
	site_add(l, p, b.site, b.bytes, false);
	process_add(p, l->sites.v[b.site].kind, b.bytes, false, c->ev.end_ns);
	t.site = b.site;
	return notify_listener(l, &t);
}

static bool on_freed(struct live *l, struct live_process *p, const struct once_call *c)
{
	struct live_told t = { .what = LIVE_FREED, .call = c, .process = p };
	struct live_block b;
	uint64_t value, key, at;
	bool known;

	if (c->ev.ret != 0 || !value_of(c, &value) || value == 0)
		return true;
	key = key_of(c->process, c->op, value);
	known = map_get(&l->block_by, key, &at);
	if (!known && l->once.waiting) { /* its allocation may wait in once */
		if (!once_flush(&l->once, event_start(&c->ev)))
			return false;
		known = map_get(&l->block_by, key, &at);
	}
	if (!known) {
		p->unknown_frees++;
		return true;
	}
	p->frees++;
	b = l->blocks.v[at];
	drop_block(l, (uint32_t)at, c->ev.end_ns);
	if (!vec_push(&l->unused, (uint32_t)at))
		return false;
	l->sites.v[b.site].frees++;
	t.block = &b;
	t.bytes = b.bytes;
	t.site = b.site;
	return notify_listener(l, &t);
}

/* A process that ended keeps its figures: that is what it held. One that reset a device holds
 * nothing there. */
static bool on_ended(struct live *l, struct live_process *p, const struct once_call *c)
{
	const struct world_process *wp = world_get_process(l->once.w, c->process);
	const struct world_thread *t = world_get_thread(l->once.w, c->thread);
	struct live_told told = { .what = LIVE_ENDED, .call = c, .process = p };
	bool exits = c->ev.op == OP_PROC_EXIT;
	uint32_t gpu = exits ? 0 : gpu_of(l, &c->ev);

	if (c->ev.ret != 0 || p->n == 0 || p->ended || (exits && (!wp || !t || wp->tgid != t->tid)))
		return true;
	if (exits && !notify_listener(l, &told))
		return false;
	p->ended = exits;
	for (uint32_t at = 0; at < l->blocks.n; at++) {
		struct live_block *b = &l->blocks.v[at];

		if (!b->used || b->process != c->process || (gpu && b->gpu && b->gpu != gpu))
			continue;
		if (exits) {
			b->used = false;
			map_del(&l->block_by, b->key);
		} else {
			drop_block(l, at, c->ev.end_ns);
		}
		if (!vec_push(&l->unused, at))
			return false;
	}
	return true;
}

static bool on_call(void *ctx, const struct once_call *c)
{
	struct live *l = ctx;
	struct live_process *p =
		c->class == CLASS_END ? live_of(l, c->process) : process_at(l, c->process);

	if (!p)
		return c->class == CLASS_END;
	return c->class == CLASS_ALLOC	? on_allocated(l, p, c)
	       : c->class == CLASS_FREE ? on_freed(l, p, c)
					: on_ended(l, p, c);
}

bool live_event(struct live *l, const struct event *ev, const struct op_def *op)
{
	unsigned class = releases_all(op->id)			  ? CLASS_END
			 : op->flags & OP_ALLOC || is_pin(op->id) ? CLASS_ALLOC
								  : CLASS_FREE;

	return once_event(&l->once, ev, op, class);
}

bool live_forget(struct live *l, uint32_t process)
{
	const struct live_process *p = live_of(l, process);
	uint32_t at = p ? l->by_process.v[process] - 1 : 0;

	if (!p || (p->ended ? p->after : p->n) || at < LIVE_TOLD)
		return true;
	for (uint32_t i = 0; i < l->sites.n; i++) {
		struct live_site *s = &l->sites.v[i];

		if (s->process != process)
			continue;
		map_del(&l->site_by, site_key(process, s->op, s->stack));
		*s = (struct live_site){ 0 };
		if (!vec_push(&l->unused_sites, i))
			return false;
	}
	free(l->processes.v[at]);
	l->processes.n--;
	for (; at < l->processes.n; at++) {
		l->processes.v[at] = l->processes.v[at + 1];
		l->by_process.v[l->processes.v[at]->process] = at + 1;
	}
	l->by_process.v[process] = 0;
	return true;
}

bool live_settle(struct live *l, int64_t before_ns)
{
	return once_flush(&l->once, before_ns);
}

struct live *live_new(const struct world *w, bool (*told)(void *ctx, const struct live_told *t),
		      void *ctx)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l) {
		l->once.w = w;
		l->once.told = on_call;
		l->once.ctx = l;
		l->told = told;
		l->ctx = ctx;
	}
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	once_free(&l->once);
	map_free(&l->block_by);
	map_free(&l->site_by);
	vec_free(&l->blocks);
	vec_free(&l->unused);
	vec_free(&l->sites);
	vec_free(&l->unused_sites);
	for (size_t i = 0; i < l->processes.n; i++)
		free(l->processes.v[i]);
	vec_free(&l->processes);
	vec_free(&l->by_process);
	free(l);
}

static uint64_t get_site_bytes(const struct live *l, const struct live_site *s, bool at_peak)
{
	if (!at_peak)
		return s->bytes;
	return s->peak_seen == live_of(l, s->process)->peaks ? s->at_peak_bytes : s->bytes;
}

unsigned live_top(const struct live *l, uint32_t process, bool at_peak, uint32_t *v, unsigned n)
{
	unsigned have = 0;

	for (uint32_t i = 0; i < l->sites.n; i++) {
		const struct live_site *s = &l->sites.v[i];
		uint64_t bytes = s->process == process ? get_site_bytes(l, s, at_peak) : 0;
		unsigned at = have;

		if (bytes == 0)
			continue;
		while (at > 0 && bytes > get_site_bytes(l, &l->sites.v[v[at - 1]], at_peak))
			at--;
		if (at == n)
			continue;
		if (have < n)
			have++;
		for (unsigned k = have - 1; k > at; k--)
			v[k] = v[k - 1];
		v[at] = i;
	}
	return have;
}

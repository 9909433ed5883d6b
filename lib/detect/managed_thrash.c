/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managed-thrash: managed memory goes back and forth between host and device. Seen from the host
 * that is the same memory prefetched over and over, and page faults of the host in it, where these
 * are recorded. Lost is what the repeated prefetches and the faults take; what the device itself
 * waits for its own faults is not seen. Memory that is prefetched once is not this, nor is one
 * whose prefetches cost next to nothing: it is there already.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/account/tolls.h"

#define RANGES_MAX 4096
#define PARTS_MAX  65536
#define REPEATED   5 /* prefetches of one part, on average, before anything is said */

struct range {
	uint32_t process;
	uint64_t start, bytes, number;
	bool live;
};

struct thrash {
	struct toll_row row;
	uint64_t prefetches, parts, bytes, faults, faults_ns; /* parts: prefetched at all */
};

struct state {
	struct tolls tolls;
	VEC(struct range) ranges;
	size_t last;	    /* range found last */
	uint64_t allocated; /* ranges ever */
	struct map
		prefetched; /* parts of ranges, by where they begin: a large range goes in pieces */
};

static bool is_prefetch(uint16_t op)
{
	return op == OP_CUDA_MEM_PREFETCH_ASYNC || op == OP_CU_MEM_PREFETCH_ASYNC;
}

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return 0;
	return op->id == OP_MEM_FAULT ? SUBSCRIBE_EVENTS
	       : is_prefetch(op->id)  ? SUBSCRIBE_CALLS
				      : 0;
}

/* NULL: no managed memory of the process lies there. */
static struct range *range_at(struct state *s, uint32_t process, uint64_t address)
{
	for (size_t k = 0; k < s->ranges.n; k++) {
		size_t i = (s->last + k) % s->ranges.n;
		struct range *r = &s->ranges.v[i];

		if (r->live && r->process == process && address - r->start < r->bytes) {
			s->last = i;
			return r;
		}
	}
	return NULL;
}

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	struct range r = { .process = t->call->process, .bytes = t->bytes, .live = true }, *had;

	if ((t->what != LIVE_ALLOCATED && t->what != LIVE_FREED) ||
	    c->live->sites.v[t->site].kind != LIVE_MANAGED ||
	    !event_get(&t->call->ev, t->call->op, COL_PTR, &r.start))
		return true;
	had = range_at(s, r.process, r.start);
	if (had)
		had->live = false;
	if (t->what == LIVE_FREED)
		return true;
	r.number = ++s->allocated;
	for (size_t i = 0; i < s->ranges.n; i++) {
		if (!s->ranges.v[i].live) {
			s->ranges.v[i] = r;
			return true;
		}
	}
	return s->ranges.n >= RANGES_MAX || vec_push(&s->ranges, r);
}

/* The part of the range that begins there was not prefetched before. False: out of memory. */
static bool is_first(struct state *s, const struct range *r, uint64_t address, bool *first)
{
	uint64_t key = hash_u64(address ^ hash_u64(r->number));

	*first = !map_get(&s->prefetched, key, NULL);
	if (!*first)
		return true;
	if (s->prefetched.n >= PARTS_MAX)
		map_clear(&s->prefetched);
	return map_put(&s->prefetched, key, 1);
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;
	uint64_t address = 0, bytes = 0;
	struct range *r;
	struct thrash *k;
	bool first;

	if (p->ev->ret != 0 || p->open || !event_get(p->ev, p->op, COL_PTR, &address))
		return true;
	r = range_at(s, p->process, address);
	k = r ? tolls_row(&s->tolls, p->process, 0, NULL) : NULL;
	if (!r || !k)
		return !r;
	if (!is_first(s, r, address, &first))
		return false;
	k->prefetches++;
	k->parts += first;
	if (first)
		return true;
	event_get(p->ev, p->op, COL_BYTES, &bytes);
	k->bytes += bytes;
	return tolls_add(c, &s->tolls, &k->row, p->thread, p->ev, line_own_ns(p, 0));
}

/* A page of it had to be brought to the host. */
static bool on_event(void *state, struct cause *c, const struct event *ev, const struct op_def *op)
{
	struct state *s = state;
	const struct world_ctx *ctx = world_get_ctx(c->w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(c->w, ctx->thread) : NULL;
	uint64_t address;
	struct thrash *k;

	if (!t || !event_get(ev, op, COL_ADDRESS, &address) || !range_at(s, t->process, address))
		return true;
	k = tolls_row(&s->tolls, t->process, 0, NULL);
	if (!k)
		return false;
	k->faults++;
	k->faults_ns += ev->dur_ns;
	return where_add(&s->tolls.where, k->row.at, 0, ev->stack, ev->dur_ns, ev->dur_ns) &&
	       toll_add(c, &k->row.toll, ctx->thread, ev->op, event_start(ev), ev->end_ns,
			ev->dur_ns);
}

/* A range that moves now and then is nothing to speak of. */
static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct thrash *k = (const struct thrash *)r;

	return k->prefetches + k->faults >= REPEATED * (k->parts ? k->parts : 1) &&
	       toll_due(c, &r->toll, pane, share);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct thrash *k = (struct thrash *)r;
	const struct live_process *p = live_of(c->live, r->process);
	const struct gpu_memory_device *d = gpu_memory_of(&c->gpu_memory, 0);
	uint64_t managed = p ? p->bytes[LIVE_MANAGED] : 0;

	fact_lost(f, c, " moves the same managed memory again and again, for ");
	if (k->bytes)
		buf_printf(&f->summary, ", %s prefetched anew", fmt_bytes(k->bytes).s);
	buf_printf(&f->summary, ", mostly in %s", f->culprit.text);
	if (p)
		fact_evidence(f, "managed memory it holds", (double)managed, "B");
	fact_evidence(f, "parts prefetched", (double)k->parts, "");
	fact_evidence(f, "prefetches of them", (double)k->prefetches, "");
	fact_evidence(f, "page faults of the host in managed memory", (double)k->faults, "");
	if (k->faults)
		fact_evidence(f, "what these took", (double)k->faults_ns, "ns");
	if (d && d->has_total && managed > d->total)
		fact_evidence(f, "memory of the device, which is less", (double)d->total, "B");
	fact_fix_code(f,
		      "Keep what the device works on there; use ordinary memory and copies where "
		      "both sides need it",
		      "cudaMemAdvise(ptr, bytes, cudaMemAdviseSetPreferredLocation, device)", 0,
		      r->toll.ns, "from nothing, if it does not fit, to all of it");
}

static const struct tolls_def thrashing = { .kind = "managed-thrash",
					    .counted = "moves",
					    .row = sizeof(struct thrash),
					    .due = is_due,
					    .blamed = "its own prefetches",
					    .tell = fill_finding };

static void free_state(void *state)
{
	map_free(&((struct state *)state)->prefetched);
	vec_free(&((struct state *)state)->ranges);
}

const struct detector detector_managed_thrash = { .size = sizeof(struct state),
						  .tolls = { &thrashing },
						  .subscribe_op = subscribe_op,
						  .on_event = on_event,
						  .on_span = on_call,
						  .on_memory = on_memory,
						  .free = free_state };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc-churn: one call site allocates and frees memory of the same size over and over. A pair
 * counts when the freed block was held for less than HELD_NS and is as large as what the last pair
 * of the site freed: a cache that looks for room of many sizes is not this, nor is a pool of which
 * a part is given back; one that is given back whole, each time, is. Lost: the two calls.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define HELD_NS	   1000000000 /* a step of a slow loop */
#define FEW_BLOCKS 4 /* of the site, live beside it: else it is a pool, emptied in part or whole */
#define EMPTIES	   0.5 /* of the pairs: freed in a function that empties a cache */

struct churn {
	struct toll_row row; /* of: whether it is the host's memory, pinned */
	uint64_t bytes, held_ns, alloc_ns;
	uint64_t emptied;	/* pairs that empty_cache() freed */
	uint64_t free_least_ns; /* what a freeing takes at least: more of it may be waiting for the
				   device */
};

/* A pair of a pool that is not whole yet. */
struct pair {
	uint32_t thread;
	uint16_t op;
	bool empties;
	int64_t start_ns, end_ns;
	uint64_t alloc_ns, held_ns;
};

/* By site of the live bytes. */
struct churn_site {
	uint64_t last_bytes; /* of the last pair */
	VEC(struct pair) pool;
};

#define POOL_MAX 65536 /* pairs that wait; of a larger one the first are passed over */

struct state {
	struct tolls tolls;
	VEC(struct churn_site) sites;
};

static void add_fixes(struct fact *f, const struct churn *k, bool python)
{
	double n = (double)k->row.toll.count;
	uint64_t sure = k->alloc_ns + (uint64_t)(n * (double)k->free_least_ns);
	bool empties = (double)k->emptied > EMPTIES * n;
	const char *once = python ? "buffer = torch.empty(shape, device=\"cuda\")  # before the "
				    "loop; then torch.mul(a, b, out=buffer)"
				  : "cudaMalloc(&buffer, largest); /* before the loop */";

	if (k->row.of)
		once = python ? "buffer = torch.empty(shape, pin_memory=True)  # before the loop; "
				"then buffer.copy_(batch)"
			      : "cudaMallocHost(&staging, largest); /* before the loop */";
	if (empties)
		fact_fix_code(f, "Leave out empty_cache(): what it gives back is allocated again",
			      "# torch.cuda.empty_cache()", (uint64_t)((double)sure * (1 - 1 / n)),
			      k->row.toll.ns,
			      "all of these calls, if other processes do not need the memory");
	if (empties)
		return;
	fact_fix_code(f, k->row.of ? "Pin once and reuse" : "Allocate once and reuse", once,
		      (uint64_t)((double)sure * (1 - 1 / n)), k->row.toll.ns,
		      "all pairs but the first are saved; of freeings what the shortest takes, as "
		      "the others may have waited for work that has to be waited for anyway");
	if (k->row.of)
		return;
	(python ? fact_fix : fact_fix_code)(
		f, "Or take it from a pool, which does not wait for the device",
		python ? "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"
		       : "cudaMallocAsync(&buffer, bytes, stream); ... cudaFreeAsync(buffer, "
			 "stream);",
		0, k->row.toll.ns, "from nothing to all of it, as the pool has to grow or not");
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct churn *k = (struct churn *)r;
	double n = (double)r->toll.count;
	const struct where_place *top = &f->sites[0];

	if (r->of)
		f->identity = "pinned";
	fact_victim(f, c, &f->summary);
	buf_printf(
		&f->summary, " %s and frees the same %s%s again and again, for ",
		r->of ? "pins" : "allocates",
		fmt_bytes(f->nsites ? top->bytes / top->count : (uint64_t)((double)k->bytes / n)).s,
		r->of ? " of host memory" : "");
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", mostly in %s", f->culprit.text);
	fact_evidence(f, "bytes per pair", (double)k->bytes / n, "B");
	fact_evidence(f, "an allocation takes", (double)k->alloc_ns / n, "ns");
	fact_evidence(f, "a freeing takes", (double)(r->toll.ns - k->alloc_ns) / n, "ns");
	fact_evidence(f, "held in between", (double)k->held_ns / n, "ns");
	add_fixes(f, k, f->nsites && name_python(c->w, top->stack));
}

static const struct tolls_def churn = { .kind = "alloc-churn",
					.counted = "pairs",
					.row = sizeof(struct churn),
					.blamed = "its own allocations",
					.tell = fill_finding };

/* Torch's: it gives back what is allocated again at once. */
static bool empties_cache(const struct world *w, uint32_t stack)
{
	unsigned n = 0;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;

	for (unsigned i = 0; frames && i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (f && f->kind == FRAME_PYTHON &&
		    bytes_equal(world_text(w, f->name), bytes_of("empty_cache")))
			return true;
	}
	return false;
}

static bool add_pair(struct state *s, const struct cause *c, const struct live_told *t,
		     const struct pair *pair)
{
	const struct live_site *site = &c->live->sites.v[t->site];
	uint64_t ns = (uint64_t)(pair->end_ns - pair->start_ns), lost = ns + pair->alloc_ns;
	struct churn *k = tolls_row(&s->tolls, t->call->process, site->kind == LIVE_PINNED, NULL);
	struct where_place *place =
		k ? where_at(&s->tolls.where, k->row.at, site->op, site->stack) : NULL;

	if (!place)
		return false;
	place->bytes += t->bytes;
	k->bytes += t->bytes;
	k->alloc_ns += pair->alloc_ns;
	k->held_ns += pair->held_ns;
	k->emptied += pair->empties;
	if (k->row.toll.count == 0 || ns < k->free_least_ns)
		k->free_least_ns = ns;
	return where_add(&s->tolls.where, k->row.at, site->op, site->stack, lost, lost) &&
	       toll_add(c, &k->row.toll, pair->thread, pair->op, pair->start_ns, pair->end_ns,
			lost);
}

/* The last of its blocks is free: all of them were given back. */
static bool add_pool(struct state *s, const struct cause *c, const struct live_told *t,
		     struct churn_site *at)
{
	for (size_t i = 0; i < at->pool.n; i++)
		if (!add_pair(s, c, t, &at->pool.v[i]))
			return false;
	at->pool.n = 0;
	return true;
}

/* An allocation: some of the pool is used again before all of it was given back. */
static bool reset_site_pool(struct state *s, const struct live_told *t)
{
	if (t->site < s->sites.n)
		s->sites.v[t->site].pool.n = 0;
	return true;
}

static bool on_memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	const struct event *ev = &t->call->ev;
	struct churn_site *at;
	struct pair pair;

	if (t->what == LIVE_ALLOCATED)
		return reset_site_pool(s, t);
	/* Where calls were not recorded in between it may be another block at that place. */
	if (t->what != LIVE_FREED || event_start(ev) - t->block->end_ns > HELD_NS ||
	    cause_paused(c, t->call->process, 1u << TIER_ALLOCATIONS, t->block->end_ns,
			 event_start(ev)))
		return true;
	if (!vec_reach(&s->sites, t->site))
		return false;
	at = &s->sites.v[t->site];
	if (at->last_bytes != t->bytes) {
		at->last_bytes = t->bytes;
		at->pool.n = 0;
		return true;
	}
	pair = (struct pair){ .thread = t->call->thread,
			      .op = ev->op,
			      .empties = empties_cache(c->w, ev->stack),
			      .start_ns = event_start(ev),
			      .end_ns = ev->end_ns,
			      .alloc_ns = t->block->dur_ns };
	if (event_start(ev) > t->block->end_ns)
		pair.held_ns = (uint64_t)(event_start(ev) - t->block->end_ns);
	if (c->live->sites.v[t->site].n >= FEW_BLOCKS)
		return at->pool.n >= POOL_MAX || vec_push(&at->pool, pair);
	if (c->live->sites.v[t->site].n == 0 && !add_pool(s, c, t, at))
		return false;
	return add_pair(s, c, t, &pair);
}

static void free_state(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->sites.n; i++)
		vec_free(&s->sites.v[i].pool);
	vec_free(&s->sites);
}

const struct detector detector_alloc_churn = { .size = sizeof(struct state),
					       .tolls = { &churn },
					       .on_memory = on_memory,
					       .free = free_state };

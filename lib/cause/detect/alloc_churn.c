/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc-churn: memory of the same size is allocated and freed over and over by the same line. A pair counts when
 * what is freed was held for less than HELD_NS and is as large as what the same site's last pair freed: a cache
 * that looks for room of many sizes is not this. Lost is what the two calls take.
 */
#include "lib/cause/detect/watches.h"

#include "lib/base/human.h"
#include "lib/cause/names.h"
#include "lib/cause/tolls.h"

#define HELD_NS	   1000000000 /* a step of a slow loop */
#define FEW_BLOCKS 4	      /* of the site, live beside it: else it is a pool that is emptied */

struct churn {
	struct toll_row row; /* of: whether it is the host's memory, pinned */
	uint64_t bytes, held_ns, alloc_ns;
	uint64_t free_least_ns; /* what a freeing takes at least: more of it may be waiting for the device */
};

struct state {
	struct tolls tolls;
	VEC(uint64_t) last_bytes; /* of the last pair, by site of the live bytes */
};

static void fixes(struct fact *f, const struct churn *k, bool python)
{
	double n = (double)k->row.toll.count;
	uint64_t sure = k->alloc_ns + (uint64_t)(n * (double)k->free_least_ns);
	const char *once = python ? "buffer = torch.empty(shape, device=\"cuda\")  # before the "
				    "loop; then torch.mul(a, b, out=buffer)"
				  : "cudaMalloc(&buffer, largest); /* before the loop */";

	if (k->row.of)
		once = python ? "buffer = torch.empty(shape, pin_memory=True)  # before the loop; "
				"then buffer.copy_(batch)"
			      : "cudaMallocHost(&staging, largest); /* before the loop */";
	fact_fix_code(f, k->row.of ? "Pin once and reuse" : "Allocate once and reuse", once,
		      (uint64_t)((double)sure * (1 - 1 / n)), k->row.toll.ns,
		      "all pairs but the first are saved; of freeings what the shortest takes, as "
		      "the "
		      "others may have waited for work that has to be waited for anyway");
	if (k->row.of)
		return;
	(python ? fact_fix : fact_fix_code)(
		f, "Or take it from a pool, which does not wait for the device",
		python ? "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"
		       : "cudaMallocAsync(&buffer, bytes, stream); ... cudaFreeAsync(buffer, "
			 "stream);",
		0, k->row.toll.ns, "from nothing to all of it, as the pool has to grow or not");
}

static void tell(void *state, const struct cause *c, struct toll_row *r, struct telling *t)
{
	const struct churn *k = (struct churn *)r;
	double n = (double)r->toll.count;
	struct fact *f = &t->f;
	const struct where_place *top = &f->sites[0];

	(void)state;
	if (r->of)
		f->identity = "pinned";
	fact_blame_site(c, f, &t->where, "its own allocations");
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, " %s and frees the same %s%s again and again, for ",
		   r->of ? "pins" : "allocates",
		   human_bytes(f->nsites ? top->bytes / top->count
					 : (uint64_t)((double)k->bytes / n))
			   .s,
		   r->of ? " of host memory" : "");
	fact_amount(f, &f->summary);
	buf_printf(&f->summary, ", mostly in %s", f->culprit.text);
	fact_evidence(f, "bytes per pair", (double)k->bytes / n, "B");
	fact_evidence(f, "an allocation takes", (double)k->alloc_ns / n, "ns");
	fact_evidence(f, "a freeing takes", (double)(r->toll.ns - k->alloc_ns) / n, "ns");
	fact_evidence(f, "held in between", (double)k->held_ns / n, "ns");
	fixes(f, k, f->nsites && name_python(c->w, top->stack));
}

static const struct tolls_def churn = {
	.kind = "alloc-churn", .counted = "pairs", .row = sizeof(struct churn), .tell = tell
};

static bool memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	const struct event *ev = &t->call->ev;
	const struct live_site *site;
	struct where_place *place;
	struct churn *k;
	uint64_t lost;

	/* Where calls were not recorded in between it may be another block at that place. */
	if (t->what != LIVE_FREED || event_start(ev) - t->block->end_ns > HELD_NS ||
	    cause_paused(c, t->call->process, 1u << TIER_ALLOCATIONS, t->block->end_ns,
			 event_start(ev)))
		return true;
	while (s->last_bytes.n <= t->site) {
		if (!vec_push(&s->last_bytes, 0))
			return false;
	}
	if (c->live->sites.v[t->site].n >= FEW_BLOCKS)
		return true;
	if (s->last_bytes.v[t->site] != t->bytes) {
		s->last_bytes.v[t->site] = t->bytes;
		return true;
	}
	site = &c->live->sites.v[t->site];
	lost = ev->dur_ns + t->block->dur_ns;
	k = tolls_row(&s->tolls, &churn, t->call->process, site->kind == LIVE_PINNED, NULL);
	place = k ? where_at(&s->tolls.where, k->row.at, site->op, site->stack) : NULL;
	if (!place)
		return false;
	place->bytes += t->bytes;
	k->bytes += t->bytes;
	k->alloc_ns += t->block->dur_ns;
	k->held_ns +=
		(uint64_t)(event_start(ev) > t->block->end_ns ? event_start(ev) - t->block->end_ns
							      : 0);
	if (k->row.toll.count == 0 || ev->dur_ns < k->free_least_ns)
		k->free_least_ns = ev->dur_ns;
	return where_add(&s->tolls.where, k->row.at, site->op, site->stack, lost, lost) &&
	       toll_add(c, &k->row.toll, t->call->thread, ev->op, event_start(ev), ev->end_ns,
			lost);
}

static void end(void *state)
{
	vec_free(&((struct state *)state)->last_bytes);
	tolls_free(state);
}

const struct watch_def watch_alloc_churn = { .name = "alloc-churn",
					     .size = sizeof(struct state),
					     .memory = memory,
					     .settle = tolls_settle,
					     .forget = tolls_forget,
					     .free = end };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc-churn: memory of the same size is allocated and freed over and over by the same line. A pair counts when
 * what is freed was held for less than HELD_NS and is as large as what the same site's last pair freed: a cache
 * that looks for room of many sizes is not this. Lost is what the two calls take.
 */
#include "lib/cause/detect/watches.h"

#include "lib/base/human.h"
#include "lib/cause/names.h"
#include "lib/cause/toll.h"

#define HELD_NS	   1000000000 /* a step of a slow loop */
#define FEW_BLOCKS 4	      /* of the site, live beside it: else it is a pool that is emptied */

struct churn {
	uint32_t process;
	struct toll toll;
	uint64_t bytes, held_ns, alloc_ns;
};

struct state {
	VEC(struct churn) v;
	VEC(uint64_t) last_bytes; /* of the last pair, by site of the live bytes */
	struct where where;	  /* by process */
};

static struct churn *churn_of(struct state *s, uint32_t process)
{
	for (size_t i = 0; i < s->v.n; i++) {
		if (s->v.v[i].process == process)
			return &s->v.v[i];
	}
	if (!vec_push(&s->v, (struct churn){ .process = process }))
		return NULL;
	return &s->v.v[s->v.n - 1];
}

static bool memory(void *state, struct cause *c, const struct live_told *t)
{
	struct state *s = state;
	const struct event *ev = &t->call->ev;
	const struct live_site *site;
	struct where_place *place;
	struct churn *k;
	uint64_t lost;

	if (t->what != LIVE_FREED || event_start(ev) - t->block->end_ns > HELD_NS)
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
	k = churn_of(s, t->call->process);
	place = where_at(&s->where, t->call->process, site->op, site->stack);
	if (!k || !place)
		return false;
	k->bytes += t->bytes;
	k->alloc_ns += t->block->dur_ns;
	k->held_ns +=
		(uint64_t)(event_start(ev) > t->block->end_ns ? event_start(ev) - t->block->end_ns
							      : 0);
	return where_add(&s->where, t->call->process, site->op, site->stack, lost, lost) &&
	       toll_add(&k->toll, t->call->thread, ev->op, event_start(ev), ev->end_ns, lost);
}

static int tell(struct state *s, struct cause *c, struct churn *k, double share, struct err *e)
{
	struct fact f = { .kind = "alloc-churn",
			  .process = k->process,
			  .share = share,
			  .counted = "pairs",
			  .explained = -1,
			  .unexplained = -1 };
	double n = (double)k->toll.count;
	struct buf where = { 0 };
	bool python;
	int rc;

	toll_fill(&k->toll, &f);
	f.nsites = where_top(&s->where, k->process, f.sites, FACT_SITES);
	f.op = f.nsites ? f.sites[0].op : 0;
	python = f.nsites && name_python(c->w, f.sites[0].stack);
	fact_blame_site(c, &f, &where, "its own allocations");
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, " allocates and frees the same %s again and again, for ",
		   human_bytes((uint64_t)((double)k->bytes / n)).s);
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ", mostly in %s", f.culprit.text);
	fact_evidence(&f, "bytes per pair", (double)k->bytes / n, "B");
	fact_evidence(&f, "an allocation takes", (double)k->alloc_ns / n, "ns");
	fact_evidence(&f, "a freeing takes", (double)(k->toll.ns - k->alloc_ns) / n, "ns");
	fact_evidence(&f, "held in between", (double)k->held_ns / n, "ns");
	fact_fix(&f, "Allocate once and reuse",
		 python ? "buffer = torch.empty(shape, device=\"cuda\")  # before the loop; then "
			  "torch.mul(a, b, out=buffer)"
			: "cudaMalloc(&buffer, largest); /* before the loop */",
		 (uint64_t)((double)k->toll.ns * (1 - 1 / n)), k->toll.ns,
		 "all pairs but the first are saved");
	fact_fix(&f, "Or take it from a pool, which does not wait for the device",
		 python ? "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"
			: "cudaMallocAsync(&buffer, bytes, stream); ... cudaFreeAsync(buffer, "
			  "stream);",
		 0, k->toll.ns, "from nothing to all of it, as the pool has to grow or not");
	rc = where.failed ? err_nomem(e) : fact_tell(c, &f, &k->toll.told, e);
	buf_free(&where);
	fact_free(&f);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	double share;
	int rc = 0;

	for (size_t i = 0; i < s->v.n && rc == 0; i++) {
		if (toll_due(c, &s->v.v[i].toll, pane, &share))
			rc = tell(s, c, &s->v.v[i], share, e);
	}
	return rc;
}

static void end(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->v.n; i++)
		toll_free(&s->v.v[i].toll);
	vec_free(&s->v);
	vec_free(&s->last_bytes);
	where_free(&s->where);
}

const struct watch_def watch_alloc_churn = { .name = "alloc-churn",
					     .size = sizeof(struct state),
					     .memory = memory,
					     .settle = settle,
					     .free = end };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-recapture: a call site makes CUDA graphs again and again, although ones that it made before had been launched
 * already. graph-pool: so it does, and keeps them: many are alive. Lost is
 * what capturing and instantiating them takes. Graphs that are made before the first of them is launched, for many
 * sizes at the start of a server say, are not this, however many they are.
 */
#include "lib/cause/detect/watches.h"

#include "lib/base/human.h"
#include "lib/cause/names.h"
#include "lib/cause/toll.h"

#define POOL 32 /* alive at once */

struct remade {
	uint32_t site; /* of c->graphs */
	struct toll toll;
};

struct state {
	VEC(struct remade) v;
};

static bool graph(void *state, struct cause *c, const struct graph_told *t)
{
	struct state *s = state;
	size_t i = 0;

	(void)c;
	if (t->what != GRAPH_CREATED || !t->again)
		return true;
	while (i < s->v.n && s->v.v[i].site != t->site)
		i++;
	if (i == s->v.n && !vec_push(&s->v, (struct remade){ .site = t->site }))
		return false;
	return toll_add(&s->v.v[i].toll, t->call->thread, t->call->ev.op,
			t->call->ev.end_ns - (int64_t)t->cost_ns, t->call->ev.end_ns, t->cost_ns);
}

static int tell(struct cause *c, struct remade *k, double share, struct err *e)
{
	const struct graph_site *g = &c->graphs->sites.v[k->site];
	bool pool = g->most_alive >= POOL && 2 * g->alive >= g->created;
	struct fact f = { .kind = pool ? "graph-pool" : "graph-recapture",
			  .process = g->process,
			  .share = share,
			  .counted = "graphs",
			  .op = g->op,
			  .nsites = 1,
			  .sites = { { .subject = k->site,
				       .stack = g->stack,
				       .op = g->op,
				       .lost_ns = k->toll.ns,
				       .affected = k->toll.count,
				       .count = g->created,
				       .sum_ns = k->toll.ns,
				       .max_ns = k->toll.worst[0].lost_ns } },
			  .explained = -1,
			  .unexplained = -1 };
	double launches = (double)g->launches / (double)g->created;
	struct buf where = { 0 };
	int rc;

	toll_fill(&k->toll, &f);
	fact_blame_site(c, &f, &where, "its own captures");
	fact_victim(&f, c, &f.summary);
	buf_puts(&f.summary, pool ? " makes CUDA graphs again and again and keeps them, for "
				  : " makes CUDA graphs again and again, for ");
	fact_amount(&f, &f.summary);
	buf_printf(&f.summary, ", each launched %.1f times, in %s", launches, f.culprit.text);
	if (pool)
		buf_printf(&f.summary, "; %s are alive", human_count(g->alive).s);
	fact_evidence(&f, "graphs made", (double)g->created, "");
	fact_evidence(&f, "of these after others of the site had been launched", (double)g->again,
		      "");
	fact_evidence(&f, "launches of each", launches, "");
	fact_evidence(&f, "capturing and instantiating one takes",
		      (double)k->toll.ns / (double)k->toll.count, "ns");
	fact_evidence(&f, "alive at most", (double)g->most_alive, "");
	fact_fix(&f,
		 pool ? "Round shapes up to a few sizes, and make one graph for each of these"
		      : "Keep the graph and change it in place, or round shapes up to a few sizes",
		 pool ? "size = min(s for s in SIZES if s >= n)  # pad the input to it"
		      : "cudaGraphExecUpdate(exec, graph, &result)",
		 0, k->toll.ns, "from nothing, if every shape is new, to all of it");
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
			rc = tell(c, &s->v.v[i], share, e);
	}
	return rc;
}

static void end(void *state)
{
	struct state *s = state;

	for (size_t i = 0; i < s->v.n; i++)
		toll_free(&s->v.v[i].toll);
	vec_free(&s->v);
}

const struct watch_def watch_graph_recapture = { .name = "graph-recapture",
						 .size = sizeof(struct state),
						 .graph = graph,
						 .settle = settle,
						 .free = end };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-recapture: a call site makes CUDA graphs again and again, although ones that it made before
 * had been launched already. graph-pool: so it does, and keeps them: many are alive. Lost is what
 * capturing and instantiating them takes. Graphs that are made before the first of them is
 * launched, for many sizes at the start of a server say, are not this, however many they are.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define POOL 32 /* alive at once */

/* of: the site, of c->graphs. */
static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct graph_site *g = &c->graphs->sites.v[r->of];
	bool pool = g->most_alive >= POOL && 2 * g->alive >= g->created;
	double launches = (double)g->launches / (double)g->created;

	if (pool)
		f->kind = "graph-pool";
	f->op = g->op;
	f->nsites = 1;
	f->sites[0] = (struct where_place){ .subject = r->of,
					    .stack = g->stack,
					    .op = g->op,
					    .lost_ns = r->toll.ns,
					    .affected = r->toll.count,
					    .count = g->created,
					    .sum_ns = r->toll.ns,
					    .max_ns = r->toll.worst[0].lost_ns };
	fact_blame_site(c, f, "its own captures");
	fact_lost(f, c,
		  pool ? " makes CUDA graphs again and again and keeps them, for "
		       : " makes CUDA graphs again and again, for ");
	buf_printf(&f->summary, ", each launched %.1f times, in %s", launches, f->culprit.text);
	if (pool)
		buf_printf(&f->summary, "; %s are alive", fmt_count(g->alive).s);
	fact_evidence(f, "graphs made", (double)g->created, "");
	fact_evidence(f, "of these after others of the site had been launched", (double)g->again,
		      "");
	fact_evidence(f, "launches of each", launches, "");
	fact_evidence(f, "capturing and instantiating one takes",
		      (double)r->toll.ns / (double)r->toll.count, "ns");
	fact_evidence(f, "alive at most", (double)g->most_alive, "");
	fact_fix_code(
		f,
		pool ? "Round shapes up to a few sizes, and make one graph for each of these"
		     : "Keep the graph and change it in place, or round shapes up to a few sizes",
		!pool ? "cudaGraphExecUpdate(exec, graph, &result)"
		: name_python(c->w, g->stack)
			? "size = min(s for s in SIZES if s >= n)  # pad the input to it"
			: "cudaGraphLaunch(graph_of[next_size(n)], stream);",
		0, r->toll.ns, "from nothing, if every shape is new, to all of it");
}

static const struct tolls_def remaking = { .kind = "graph-recapture",
					   .counted = "graphs",
					   .row = sizeof(struct toll_row),
					   .tell = fill_finding };

static bool on_graph(void *state, struct cause *c, const struct graph_told *t)
{
	struct toll_row *r;

	if (t->what != GRAPH_CREATED || !t->again)
		return true;
	r = tolls_row(state, c->graphs->sites.v[t->site].process, t->site, NULL);
	return r &&
	       toll_add(c, &r->toll, t->call->thread, t->call->ev.op,
			t->call->ev.end_ns - (int64_t)t->cost_ns, t->call->ev.end_ns, t->cost_ns);
}

const struct detector detector_graph_recapture = { .size = sizeof(struct tolls),
						   .tolls = { &remaking },
						   .on_graph = on_graph };

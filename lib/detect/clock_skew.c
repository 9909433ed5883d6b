/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock-skew: the clocks of two nodes disagree, so that what lies on one machine cannot be held against what lies on the
 * other. Proven by collectives that would have ended on one node before the other had entered them, did their clocks
 * agree (lib/gpustate/clocks.h). Not this: ranks that are far apart in time, however far, and waits that do not cover the
 * collective. Nothing is lost by it; what is told across nodes is told on fitted clocks.
 */
#include "lib/base/human.h"
#include "lib/detect/watches.h"
#include "lib/account/fact.h"
#include "lib/gpustate/clocks.h"

#define SKEW_NS 1000000 /* of less nobody has the wrong idea */

struct state {
	struct fact_told told[CLOCKS_PAIRS]; /* by pair */
};

static void name_of(const struct cause *c, uint32_t node, struct buf *out)
{
	const struct world_node *n = world_get_node(c->w, node);
	struct bytes name = n ? world_text(c->w, n->name) : (struct bytes){ 0 };

	if (name.n)
		buf_add(out, name.p, name.n);
	else
		buf_puts(out, "a node");
}

static int tell(struct cause *c, const struct clocks_pair *p, const struct clocks_fit *fit,
		struct fact_told *told, struct err *e)
{
	bool ahead = fit->low_ns > 0;
	uint64_t least = (uint64_t)(ahead ? fit->low_ns : -fit->high_ns),
		 most = (uint64_t)(ahead ? fit->high_ns : -fit->low_ns),
		 guess = (uint64_t)(ahead ? fit->ahead_ns : -fit->ahead_ns);
	struct buf node = { 0 }, reference = { 0 }, who = { 0 }, identity = { 0 };
	struct fact f = { .kind = "clock-skew",
			  .node = p->node,
			  .first_ns = c->start_ns,
			  .last_ns = c->settled_ns,
			  .count = p->n,
			  .counted = "collectives",
			  .severity = 2,
			  .culprit.kind = "peer",
			  .explained = -1,
			  .unexplained = -1 };
	int rc;

	name_of(c, p->node, &node);
	name_of(c, p->reference, &reference);
	buf_printf(&who, "the clock of %s", buf_text(&node));
	buf_printf(&identity, "%s against %s", buf_text(&node), buf_text(&reference));
	f.identity = buf_text(&identity);
	f.culprit.text = buf_text(&who);
	buf_printf(&f.summary, "The clock of %s stands %s %s that of %s", buf_text(&node),
		   human_ns(guess).s, ahead ? "ahead of" : "behind", buf_text(&reference));
	buf_printf(&f.summary, ", between %s", human_ns(least).s);
	buf_printf(&f.summary, " and %s, by %s collectives of both", human_ns(most).s,
		   human_count(p->n).s);
	fact_evidence(&f, "by how much, as their ends say", (double)fit->ahead_ns, "ns");
	fact_evidence(&f, "at least", (double)fit->low_ns, "ns");
	fact_evidence(&f, "at most", (double)fit->high_ns, "ns");
	if (p->breaks)
		fact_evidence(&f, "times a clock was set, or contradicted itself",
			      (double)p->breaks, "");
	fact_fix(&f, "Keep the clocks of both by one time server", "chronyc tracking", 0, 0,
		 "nothing is lost by it but what is seen across both");
	rc = node.failed || reference.failed || who.failed || identity.failed
		     ? err_nomem(e)
		     : fact_tell(c, &f, told, e);
	fact_free(&f);
	buf_free(&node);
	buf_free(&reference);
	buf_free(&who);
	buf_free(&identity);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	int rc = 0;

	(void)pane;
	for (size_t i = 0; i < c->clocks.pairs.n && rc == 0; i++) {
		const struct clocks_pair *p = &c->clocks.pairs.v[i];
		struct clocks_fit fit;

		if (!clocks_fit(p, &fit) || (fit.low_ns < SKEW_NS && fit.high_ns > -SKEW_NS))
			continue;
		if (fact_due_count(c, &s->told[i], p->n))
			rc = tell(c, p, &fit, &s->told[i], e);
	}
	return rc;
}

const struct watch_def watch_clock_skew = { .name = "clock-skew",
					    .size = sizeof(struct state),
					    .settle = settle };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock-skew: the clocks of two nodes disagree, so that times of one machine cannot be compared
 * with times of the other. Proven by collectives that would have ended on one node before the other
 * had entered them, did their clocks agree (lib/gpustate/clocks.h). Not this: ranks that are far
 * apart in time, however far, and waits that do not cover the collective. Nothing is lost by it:
 * findings across nodes use the fitted clocks.
 */
#include "lib/base/fmt.h"
#include "lib/detect/detect_internal.h"
#include "lib/account/finding_details.h"
#include "lib/account/fact.h"
#include "lib/gpustate/clocks.h"

#define SKEW_NS 1000000 /* of less nobody has the wrong idea */

struct state {
	struct fact_told told[CLOCKS_PAIRS]; /* by pair */
};

static const char *name_of(const struct cause *c, uint32_t node, struct fact *f)
{
	struct bytes name = world_node_name(c->w, node);

	return name.n ? details_print(&f->found, "%.*s", (int)name.n, name.p) : "a node";
}

static int report_finding(struct cause *c, const struct clocks_pair *p,
			  const struct clocks_fit *fit, struct fact_told *told, struct err *e)
{
	bool ahead = fit->low_ns > 0;
	uint64_t least = (uint64_t)(ahead ? fit->low_ns : -fit->high_ns),
		 most = (uint64_t)(ahead ? fit->high_ns : -fit->low_ns),
		 guess = (uint64_t)(ahead ? fit->ahead_ns : -fit->ahead_ns);
	struct fact f = { .kind = "clock-skew",
			  .node = p->node,
			  .first_ns = c->start_ns,
			  .last_ns = c->settled_ns,
			  .count = p->n,
			  .counted = "collectives",
			  .severity = FINDING_MEDIUM,
			  .culprit.kind = "peer" };
	const char *node = name_of(c, p->node, &f), *reference = name_of(c, p->reference, &f);

	f.identity = details_print(&f.found, "%s against %s", node, reference);
	f.culprit.text = details_print(&f.found, "the clock of %s", node);
	buf_printf(&f.summary, "The clock of %s stands %s %s that of %s, between %s and %s", node,
		   fmt_ns(guess).s, ahead ? "ahead of" : "behind", reference, fmt_ns(least).s,
		   fmt_ns(most).s);
	buf_printf(&f.summary, ", by %s collectives of both", fmt_count(p->n).s);
	fact_evidence(&f, "by how much, as their ends say", (double)fit->ahead_ns, "ns");
	fact_evidence(&f, "at least", (double)fit->low_ns, "ns");
	fact_evidence(&f, "at most", (double)fit->high_ns, "ns");
	if (p->breaks)
		fact_evidence(&f, "times a clock was set, or contradicted itself",
			      (double)p->breaks, "");
	fact_fix(&f, "Keep the clocks of both by one time server", "chronyc tracking", 0, 0,
		 "nothing is lost by it but what is seen across both");
	return fact_tell(c, &f, told, e);
}

static int flush_window(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	int rc = 0;

	for (size_t i = 0; i < c->clocks.pairs.n && rc == 0; i++) {
		const struct clocks_pair *p = &c->clocks.pairs.v[i];
		struct clocks_fit fit;

		if (!clocks_fit(p, &fit) || (fit.low_ns < SKEW_NS && fit.high_ns > -SKEW_NS))
			continue;
		if (fact_due_count(c, &s->told[i], p->n))
			rc = report_finding(c, p, &fit, &s->told[i], e);
	}
	return rc;
}

const struct detector detector_clock_skew = { .size = sizeof(struct state),
					      .flush_window = flush_window };

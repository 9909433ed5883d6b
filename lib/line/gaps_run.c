/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs: what issuing work cost from the first submission after a gap to the wait that covers it all.
 */
#include "lib/line/gaps_state.h"

static void first(struct gap_run *r, const struct line_piece *p)
{
	r->op = p->ev->op;
	r->stack = p->ev->stack;
	r->issuer = p->thread;
	r->issued_ns = p->end_ns;
}

void gaps_run_add(struct gap_side *s, const struct line_piece *p)
{
	uint64_t host = parts_sum(p->parts, PARTS_HOST);
	struct gap_run *r = &s->run;

	if (!s->running) {
		s->running = true;
		r->start_ns = p->start_ns;
		r->launches = r->issue_ns = r->device_ns = 0;
		first(r, p);
	} else if (s->issuer == p->thread && p->start_ns - s->issued_ns <= GAP_ISSUE_NS) {
		r->issue_ns += (uint64_t)(p->start_ns - s->issued_ns);
	}
	if (p->op->flags & OP_LAUNCH && !gaps_is_graph(p->op)) {
		if (r->launches++ == 0)
			first(r, p);
	}
	r->issue_ns += p->ev->dur_ns > host ? p->ev->dur_ns - host : 0;
	s->issuer = p->thread;
	s->issued_ns = p->end_ns;
}

bool gaps_run_end(struct gaps *g, uint32_t device, const struct line_piece *p)
{
	struct gap_side *s = &g->side.v[device];
	struct gap_run run = s->run;

	if (!s->running)
		return true;
	run.device = device;
	run.thread = p->thread;
	run.wait_ns = p->start_ns;
	run.end_ns = p->end_ns;
	s->running = false;
	return g->sink->run(g->sink, &run);
}

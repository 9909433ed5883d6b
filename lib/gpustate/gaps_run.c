/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs: the cost of issuing work from the first submission after a gap to the wait that covers it
 * all.
 */
#include "lib/gpustate/gaps_internal.h"

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

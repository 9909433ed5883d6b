/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch that hands calls and intervals to lib/line/steps.h. It tells no chain: steps are in the analysis record.
 */
#include "lib/line/steps.h"

#include "lib/cause/detect/watches.h"

static unsigned wants(const struct op_def *op)
{
	if (!op)
		return 0;
	return steps_hears(op) ? WATCH_OUTER : op->id == OP_SCHED_OFFCPU ? WATCH_OFFCPU : 0;
}

static bool piece(void *state, struct cause *c, const struct line_piece *p)
{
	(void)state;
	steps_check_pauses(c->steps, &c->paused, p);
	return steps_call(c->steps, p);
}

static bool offcpu(void *state, struct cause *c, const struct line_piece *p)
{
	(void)state;
	return steps_interval(c->steps, p);
}

const struct watch_def watch_steps = {
	.name = "steps", .wants = wants, .piece = piece, .offcpu = offcpu
};

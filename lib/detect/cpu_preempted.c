/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-preempted: somebody takes the CPU from running threads. Proven by the overlap of preemptions
 * with the slices of who ran instead. Not this: waits after a wake-up (cpu-contended), a
 * used-up quota (cpu-throttled).
 */
#include "lib/detect/kinds.h"

static bool is(const struct cause *c, const struct loss *x)
{
	return loss_part_ns(x, PART_PREEMPTED) >= loss_part_ns(x, PART_RUNQ);
}

static void summary(const struct loss_view *f, struct buf *out)
{
	if (detect_own(f))
		buf_printf(out, "other threads of %s took the CPU from it for ", f->victim);
	else
		buf_printf(out, "%s took the CPU from %s for ", f->culprit, f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

const struct detector detect_cpu_preempted = { "cpu-preempted", LOSS_CPU, is, summary,
					       detect_recommend_cpu };

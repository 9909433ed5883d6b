/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-contended: threads that were woken wait for a CPU somebody else holds. Proven by the overlap
 * of run-queue waits with the slices of who ran there. Not this: waking up on an idle CPU, or being
 * taken off the CPU while running (cpu-preempted).
 */
#include "lib/detect/kinds.h"

static bool is(const struct cause *c, const struct loss *x)
{
	return loss_part_ns(x, PART_RUNQ) > loss_part_ns(x, PART_PREEMPTED);
}

static void summary(const struct loss_view *f, struct buf *out)
{
	if (detect_own(f))
		buf_printf(out, "other threads of %s held the CPU while it was ready to run, for ",
			   f->victim);
	else
		buf_printf(out, "%s held the CPU while %s was ready to run, for ", f->culprit,
			   f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

const struct detector detect_cpu_contended = { "cpu-contended", LOSS_CPU, is, summary,
					       detect_recommend_cpu };

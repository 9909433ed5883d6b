/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-preempted: another thread takes the CPU from running threads. Proven by the overlap of
 * preemptions with the slices of the threads that ran instead. Not this: waits after a wake-up
 * (cpu-contended), a used-up quota (cpu-throttled). cpu-contended: threads that were woken wait for
 * a CPU that another thread holds. Proven by the overlap of run-queue waits with the slices of the
 * threads that ran there. Not this: waking up on an idle CPU, or being taken off the CPU while
 * running (cpu-preempted).
 */
#include "lib/detect/detect_internal.h"

static bool is_woken(const struct cause *c, const struct loss *x)
{
	return loss_part_ns(x, PART_RUNQ) > loss_part_ns(x, PART_PREEMPTED);
}

static void print_preempted(const struct loss_view *f, struct buf *out)
{
	if (detect_own(f))
		buf_printf(out, "other threads of %s took the CPU from it for ", f->victim);
	else
		buf_printf(out, "%s took the CPU from %s for ", f->culprit, f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

static void print_contended(const struct loss_view *f, struct buf *out)
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

/* In the table before the other, which is all the rest. */
const struct loss_detector detect_cpu_contended = { .kind = "cpu-contended",
						    .family = LOSS_CPU,
						    .is = is_woken,
						    .summary = print_contended,
						    .recommend = detect_recommend_cpu };

const struct loss_detector detect_cpu_preempted = { .kind = "cpu-preempted",
						    .family = LOSS_CPU,
						    .summary = print_preempted,
						    .recommend = detect_recommend_cpu };

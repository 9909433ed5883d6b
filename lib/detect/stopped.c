/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped: somebody stopped the process, or one that it waits for, and let it go on later: a
 * scheduler that suspends jobs, a shell, a container's pause, a debugger or profiler that attaches.
 * Proven by the kernel's state of its threads, and by who woke them from it. Not this: the
 * recorder's own stops of programs that it attaches to as they start.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"

static void print_summary(const struct loss_view *f, struct buf *out)
{
	if (detect_beside(f)) {
		buf_printf(out, "%s waited for ", f->victim);
		name_thread_full(out, f->c->w, &f->c->tally, f->loss->leaf);
		buf_puts(out, ", which was stopped for ");
	} else {
		buf_printf(out, "%s was stopped for ", f->victim);
	}
	detect_amount(f, out);
	if (f->who)
		buf_printf(out, "; %s let it go on", f->culprit);
}

static void add_evidence(const struct loss_view *f, struct finding *to)
{
	details_add_number(to, "longest stop", (double)f->loss->longest_ns, "ns");
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	const struct world_process *p = world_thread_process(f->c->w, f->loss->leaf);

	detect_recommend(f, to,
			 "Find out who sends it SIGSTOP or freezes its cgroup (a batch system that "
			 "suspends jobs, a paused container, a shell) or attaches to it (a "
			 "debugger, strace, a profiler that stops what it looks at)",
			 details_print(to, "grep -E 'State|TracerPid' /proc/%" PRIu32 "/status",
				       p ? p->tgid : f->victim_pid),
			 1, "while it is stopped it does nothing at all");
}

const struct loss_detector detect_stopped = { .kind = "stopped",
					      .family = LOSS_STOPPED,
					      .summary = print_summary,
					      .recommend = add_recommendations,
					      .evidence = add_evidence,
					      .nobody = "who stopped it is not recorded",
					      .counted = "times" };

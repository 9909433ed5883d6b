/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu-throttled: the process's cgroup used up its CPU quota and its threads stood still until the
 * next period. Proven by the kernel's own throttle marks on the waits; never inferred from periods,
 * so that a hog beside the quota is not mistaken for it.
 */
#include "lib/detect/detect_internal.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"
#include "lib/account/names.h"

static void print_summary(const struct loss_view *f, struct buf *out)
{
	buf_printf(out, "%s stopped %s for ", f->culprit, f->victim);
	detect_amount(f, out);
	detect_where(f, out);
}

static void add_recommendations(const struct loss_view *f, struct finding *to)
{
	struct bytes path = world_cgroup_path(f->c->w, f->who ? (uint32_t)f->who->object : 0);
	struct buf command = { 0 };

	if (path.n && !name_cgroup_is_root(path)) {
		bool v1 = name_cgroup_v1(path);

		buf_printf(&command, "echo %s | sudo tee ", v1 ? "-1" : "max");
		name_cgroup_file(&command, path, v1 ? "cpu.cfs_quota_us" : "cpu.max");
	} else {
		buf_printf(&command, "cat /proc/%" PRIu32 "/cgroup", f->victim_pid);
	}
	detect_recommend(f, to,
			 "Raise or lift the CPU quota of the cgroup (in Kubernetes: limits.cpu)",
			 details_text(to, &command), 1,
			 "without the quota the waits marked throttled do not happen");
}

const struct loss_detector detect_cpu_throttled = { .kind = "cpu-throttled",
						    .family = LOSS_THROTTLED,
						    .summary = print_summary,
						    .recommend = add_recommendations };

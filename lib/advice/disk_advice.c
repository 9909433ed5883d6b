/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A faster disk does nothing for requests that do not come to it.
 */
#include "lib/advice/disk_advice.h"

#include "lib/account/finding_details.h"
#include "lib/tracks/io_limits.h"

bool disk_advice_held_back(const struct loss_view *f, struct finding *to)
{
	struct buf command = { 0 };
	uint64_t ns;

	if (!io_limits_hold_back(path_tracks_limits(f->c->tracks), f->loss->process, f->loss->count,
				 f->loss->ns, &ns))
		return false;
	io_limit_print_command(&command, f->victim_pid);
	detect_recommend(f, to,
			 "Raise the I/O limit of its cgroup, if it has one: its requests were held "
			 "back before the disk",
			 details_text(to, &command), 0,
			 "from nothing, if no limit is what held them, to all of the wait");
	return true;
}

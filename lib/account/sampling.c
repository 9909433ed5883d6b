/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that show where a process computes: a question to the recording's CPU samples, or a
 * recording that has them. */
#include "lib/account/sampling.h"

#include <inttypes.h>

#include "lib/account/finding_details.h"

const char *sampling_command_elsewhere(const struct cause *c, uint32_t pid, struct finding *to)
{
	/* The recorder samples by default; this one was started without, perhaps by its
	 * configuration. */
	return details_print(to, "sudo ingero-record%s -p %" PRIu32 " --duration 10s",
			     c->sampled ? "" : " -F 99", pid);
}

const char *sampling_command(const struct cause *c, uint32_t pid, struct finding *to)
{
	if (!c->sampled)
		return sampling_command_elsewhere(c, pid, to);
	return details_print(to, "ingero-stat -e sample --by line -p %" PRIu32 " run.ige", pid);
}

/* Whether a process of the victim's machine is in this recording, too. */
static bool is_recorded(const struct cause *c, uint32_t victim, uint32_t pid)
{
	const struct world_process *v = world_get_process(c->w, victim);

	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		const struct world_process *p =
			world_thread_process(c->w, path_tracks_get(c->tracks, i).anchor);

		if (p && v && p->tgid == pid && p->node == v->node)
			return true;
	}
	return false;
}

const char *sampling_command_peer(const struct cause *c, uint32_t victim, uint32_t pid,
				  struct finding *to)
{
	return is_recorded(c, victim, pid) ? sampling_command(c, pid, to)
					   : sampling_command_elsewhere(c, pid, to);
}

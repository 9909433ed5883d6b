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

/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that show where a process computes: a question to the recording's CPU samples, or a recording that has them. */
#include "lib/account/sampling.h"

#include <inttypes.h>

void sampling_command_elsewhere(const struct cause *c, uint32_t pid, struct buf *out)
{
	/* The recorder samples by default; one that did not was told so, perhaps by its configuration. */
	buf_printf(out, "sudo ingero-record%s -p %" PRIu32 " --duration 10s",
		   c->sampled ? "" : " -F 99", pid);
}

void sampling_command(const struct cause *c, uint32_t pid, struct buf *out)
{
	if (c->sampled)
		buf_printf(out, "ingero-stat -e sample --by line -p %" PRIu32 " run.ige", pid);
	else
		sampling_command_elsewhere(c, pid, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Maps a column's role to the kind of world object its values name. */
#include "lib/ige/dict.h"

#include "lib/world/world.h"

int ige_record_role_kind(enum record_role role)
{
	switch (role) {
	case RROLE_NODE:
		return WORLD_NODE;
	case RROLE_PROCESS:
		return WORLD_PROCESS;
	case RROLE_THREAD:
		return WORLD_THREAD;
	case RROLE_CGROUP:
		return WORLD_CGROUP;
	case RROLE_GPU:
		return WORLD_GPU;
	case RROLE_STACK:
		return WORLD_STACK;
	default:
		return -1;
	}
}

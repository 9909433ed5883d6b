/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and drops capabilities by direct system calls: a library would change the whole process, by
 * signals to its threads.
 */
#include "lib/base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETS 64 /* bits of a set */

static int read_sets(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) ? errno : 0;
}

uint64_t capabilities_permitted(void)
{
	struct __user_cap_data_struct data[2] = { { 0 } };

	return read_sets(data) ? 0 : data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* Without CAP_SETPCAP it stays as it is: no new privileges are to be had either way. */
static void drop_bounding_set(uint64_t keep)
{
	for (unsigned cap = 0; cap < SETS; cap++)
		if (!(keep >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return; /* there are no more, or it may not be changed */
}

int capabilities_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int rc = read_sets(data);

	if (rc)
		return rc;
	drop_bounding_set(keep);
	for (int i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(keep >> 32 * i);

		data[i].permitted &= half;
		data[i].effective &= half;
		data[i].inheritable = 0; /* ambient ones go with them */
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &header, data))
		return errno;
	return 0;
}

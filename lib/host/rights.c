/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls themselves: what a library makes of them would be for the whole process, by signals to its threads.
 */
#include "lib/host/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (1ull << (cap))

static int get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) ? errno : 0;
}

static uint64_t permitted(void)
{
	struct __user_cap_data_struct data[2] = { { 0 } };

	return get(data) ? 0 : data[0].permitted | (uint64_t)data[1].permitted << 32;
}

uint64_t host_rights_recording(void)
{
	static const unsigned instead_of_admin[] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE };
	uint64_t has = permitted(), rights = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);

	for (size_t i = 0; i < sizeof(instead_of_admin) / sizeof(instead_of_admin[0]); i++)
		rights |= has & BIT(instead_of_admin[i]) ? BIT(instead_of_admin[i])
							 : BIT(CAP_SYS_ADMIN);
	return rights;
}

uint64_t host_rights_files(bool as_owner)
{
	return BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_CHOWN) |
	       (as_owner ? BIT(CAP_SETUID) | BIT(CAP_SETGID) : 0);
}

uint64_t host_rights_signals(void)
{
	return BIT(CAP_KILL);
}

uint64_t host_rights_admin(void)
{
	return BIT(CAP_SYS_ADMIN);
}

int host_rights_keep(uint64_t rights)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int rc = get(data);

	if (rc)
		return rc;
	for (int i = 0; i < 2; i++) {
		uint32_t keep = (uint32_t)(rights >> 32 * i);

		data[i].permitted &= keep;
		data[i].effective &= keep;
		data[i].inheritable = 0; /* ambient ones go with them */
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &header, data))
		return errno;
	return 0;
}

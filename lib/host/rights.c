/* SPDX-License-Identifier: Apache-2.0 */
/* Which capabilities each part of the recorder needs, and why. */
#include "lib/host/rights.h"

#include <linux/capability.h>
#include <stddef.h>

#include "lib/base/capabilities.h"

#define BIT(cap) (1ull << (cap))

uint64_t host_rights_recording(void)
{
	static const unsigned instead_of_admin[] = { CAP_BPF, CAP_PERFMON, CAP_CHECKPOINT_RESTORE };
	uint64_t has = capabilities_permitted(),
		 rights = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);

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
	return capabilities_keep(rights);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The soft limit is 1024 nearly everywhere, for programs that know no better than select(2). */
#include "lib/host/descriptors.h"

#include <sys/resource.h>

void host_descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

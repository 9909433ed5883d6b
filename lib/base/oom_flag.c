/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two words of memory that are there from the beginning.
 */
#include "lib/base/oom_flag.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_bool seen;
static void (*last)(void);

void oom_flag_set(void)
{
	seen = true;
}

bool oom_flag_is_set(void)
{
	return seen;
}

void oom_flag_at_last(void (*end)(void))
{
	last = end;
}

void oom_flag_end(void *nothing)
{
	(void)nothing;
	if (last)
		last();
}

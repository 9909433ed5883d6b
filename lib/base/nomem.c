/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two words of memory that are there from the beginning.
 */
#include "lib/base/nomem.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_bool seen;
static void (*last)(void);

void nomem_note(void)
{
	seen = true;
}

bool nomem_seen(void)
{
	return seen;
}

void nomem_at_last(void (*end)(void))
{
	last = end;
}

void nomem_end(void *nothing)
{
	(void)nothing;
	if (last)
		last();
}

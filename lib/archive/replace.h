/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a database may be replaced by a file that is renamed to its name.
 */
#ifndef INGERO_ARCHIVE_REPLACE_H
#define INGERO_ARCHIVE_REPLACE_H

#include "lib/base/err.h"

#ifdef INGERO_HAVE_SQLITE

/* ERR_CANNOT: another program writes to it, or left something beside it that is not in it yet. 0
 * too for what is not there. Not while this process has it open itself: locks are those of
 * processes, and looking lets go of them. */
int archive_replaceable(const char *path, struct err *e);

#else

static inline int archive_replaceable(const char *path, struct err *e)
{
	return 0;
}

#endif
#endif

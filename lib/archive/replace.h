/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a database may be replaced by a file that is renamed to its name.
 */
#ifndef INGERO_ARCHIVE_REPLACE_H
#define INGERO_ARCHIVE_REPLACE_H

#include "lib/base/err.h"

#ifdef INGERO_HAVE_SQLITE

/* ERR_CANNOT: another program writes to it, or left a log beside it that is not merged yet. 0 also
 * if there is no such file. Must not be called while this process has the file open: locks belong
 * to the process, and closing the file here would release them. */
int archive_replaceable(const char *path, struct err *e);

#else

static inline int archive_replaceable(const char *path, struct err *e)
{
	return 0;
}

#endif
#endif

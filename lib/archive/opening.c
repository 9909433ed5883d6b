/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the open(2) of SQLite, which waits for the other end of a pipe: a database can be
 * replaced by a FIFO after it was looked at, and a server's thread would stay in that call for
 * ever.
 */
#include "lib/archive/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_at_once(const char *path, int flags, int mode)
{
	int fd = open(path, flags | O_NONBLOCK, mode);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	    S_ISCHR(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

static void replace_open(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	/* All of SQLite's VFSs for Unix share one table of calls. */
	if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
		vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_at_once);
}

void archive_opening_bound(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, replace_open);
}

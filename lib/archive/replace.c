/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a database file can be replaced. It is complete in one file only while no program
 * writes to it: a log beside it belongs to the old file, and the next program to open the new one
 * would apply that log to it. A writer holds a lock on one of the bytes that SQLite documents;
 * readers continue with the file they have open.
 */
#include "lib/archive/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"

/* PENDING, RESERVED and the bytes of those who share: SQLite's file format, section "locking". */
#define LOCKS_AT    0x40000000
#define LOCKS_BYTES 512

static const char *has_beside(const char *path)
{
	static const char *const endings[] = { "-wal", "-journal" };
	const char *found = NULL;

	for (unsigned i = 0; i < 2 && !found; i++) {
		struct buf name = { 0 };
		struct stat st;

		buf_printf(&name, "%s%s", path, endings[i]);
		if (!name.failed && stat(buf_text(&name), &st) == 0 && st.st_size > 0)
			found = endings[i];
		buf_free(&name);
	}
	return found;
}

static bool is_being_written(const char *path)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT, .l_len = LOCKS_BYTES
	};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return is;
}

int archive_replaceable(const char *path, struct err *e)
{
	const char *beside = has_beside(path);

	if (is_being_written(path))
		return err_set(e, ERR_CANNOT, "%s is being written by another program", path);
	if (beside)
		return err_set(e, ERR_CANNOT,
			       "%s%s belongs to a program that writes to %s, or was stopped while "
			       "it did: end the one, or open the database once with sqlite3",
			       path, beside, path);
	return 0;
}

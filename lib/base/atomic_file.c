/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an unnamed file (O_TMPFILE) and links it into place through /proc; where /proc or the file
 * system does not support that, the file has a temporary name from the beginning.
 */
#include "lib/base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/oom_flag.h"

#define NAME_TRIES 100

static int open_unnamed(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = -1;

	if (folder && access("/proc/self/fd", X_OK) == 0)
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(folder);
	return fd;
}

int atomic_file_scratch(struct atomic_file *a, const char *path, struct err *e)
{
	*a = (struct atomic_file){ .path = strdup(path) };
	a->fd = a->path ? open_unnamed(path) : -1;
	if (a->fd >= 0)
		return 0;
	if (a->path && asprintf(&a->name, "%s.XXXXXX", path) < 0)
		a->name = NULL;
	if (a->name && (a->fd = mkostemp(a->name, O_CLOEXEC)) >= 0)
		return 0;
	err_sys(e, "cannot create %s", path);
	if (!a->path || !a->name)
		err_nomem(e);
	free(a->path);
	free(a->name);
	*a = (struct atomic_file){ .fd = -1 };
	return e ? e->code : ERR_SYS;
}

static int open_placed(struct atomic_file *a, const char *path, struct err *e)
{
	bool out = strcmp(path, "-") == 0;
	int fd = out ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "cannot create %s", path);
	*a = (struct atomic_file){ .fd = fd,
				   .path = strdup(out ? "standard output" : path),
				   .placed = true };
	if (a->path)
		return 0;
	atomic_file_drop(a);
	return err_nomem(e);
}

int atomic_file_open(struct atomic_file *a, const char *path, struct err *e)
{
	struct stat st;
	char *there;
	int rc;

	*a = (struct atomic_file){ .fd = -1 };
	if (!strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return open_placed(a, path, e);
	/* It would be replaced although it must not be written; or a link leads to it that the
	 * kernel does not let us follow (somebody else's, in a folder that is everybody's), and
	 * realpath would. */
	if (faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0
		    ? faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0
		    : errno != ENOENT)
		return err_sys(e, "cannot create %s", path);
	there = realpath(path, NULL);
	if (!there && errno != ENOENT)
		return err_sys(e, "cannot create %s", path);
	rc = atomic_file_scratch(a, there ? there : path, e);
	free(there);
	return rc;
}

/* Links it; what is there already stays. */
static int link_to(const struct atomic_file *a, const char *name)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", a->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

const char *atomic_file_name(struct atomic_file *a, struct err *e)
{
	if (a->name || a->placed)
		return a->name ? a->name : a->path;
	for (unsigned i = 0; i < NAME_TRIES; i++) {
		unsigned salt = 0;

		if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt) ||
		    asprintf(&a->name, "%s.%06x", a->path, salt & 0xffffff) < 0) {
			a->name = NULL;
			err_nomem(e);
			return NULL;
		}
		if (link_to(a, a->name) == 0)
			return a->name;
		free(a->name);
		a->name = NULL;
		if (errno != EEXIST)
			break;
	}
	err_sys(e, "cannot create %s", a->path);
	return NULL;
}

static int move_in(struct atomic_file *a, struct err *e)
{
	if (!a->name && link_to(a, a->path) == 0)
		return 0;
	if (!atomic_file_name(a, e))
		return e->code;
	if (rename(a->name, a->path) < 0)
		return err_sys(e, "cannot create %s", a->path);
	free(a->name);
	a->name = NULL;
	return 0;
}

int atomic_file_keep(struct atomic_file *a, struct err *e)
{
	int rc = 0;

	if (oom_flag_is_set()) {
		rc = err_nomem(e);
	} else if (!a->placed) {
		rc = fsync(a->fd) < 0 ? err_sys(e, "cannot write %s", a->path) : move_in(a, e);
	} else if (a->fd != STDOUT_FILENO) {
		rc = close(a->fd) < 0 ? err_sys(e, "cannot write %s", a->path) : 0;
		a->fd = -1;
	}
	atomic_file_drop(a);
	return rc;
}

void atomic_file_drop(struct atomic_file *a)
{
	if (a->fd >= 0 && !(a->placed && a->fd == STDOUT_FILENO))
		close(a->fd);
	if (a->name)
		unlink(a->name);
	free(a->name);
	free(a->path);
	*a = (struct atomic_file){ .fd = -1 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /var/tmp is everybody's: what is removed there is ours by its owner and mode, is no link,
 * nobody's lock is on it, and in it only files with names as given here.
 */
#include "lib/input/input_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE  "/var/tmp"
#define PREFIX "ingero-inputs-"
#define RANDOM "XXXXXX"
#define TRIES  8

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700 &&
	       st.st_nlink;
}

static void remove_files(int fd)
{
	int again = dup(fd);
	DIR *d = again < 0 ? NULL : fdopendir(again);

	if (!d && again >= 0)
		close(again);
	for (struct dirent *x; d && (x = readdir(d));)
		if (x->d_name[strspn(x->d_name, "0123456789")] == 0)
			unlinkat(fd, x->d_name, 0);
	if (d)
		closedir(d);
}

/* Nobody holds it any more where it can be locked. */
static void remove_abandoned(int place, const char *name)
{
	int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (is_ours(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		remove_files(fd);
		unlinkat(place, name, AT_REMOVEDIR);
	}
	close(fd);
}

static void remove_all_abandoned(void)
{
	DIR *d = opendir(PLACE);

	for (struct dirent *x; d && (x = readdir(d));)
		if (!strncmp(x->d_name, PREFIX, strlen(PREFIX)) &&
		    strlen(x->d_name) == strlen(PREFIX RANDOM))
			remove_abandoned(dirfd(d), x->d_name);
	if (d)
		closedir(d);
}

/* Another process may take it for abandoned before it is locked. */
static bool create_folder(struct input_named *d)
{
	for (unsigned i = 0; i < TRIES; i++) {
		char name[] = PLACE "/" PREFIX RANDOM;

		if (!mkdtemp(name))
			return false;
		d->fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (d->fd >= 0 && flock(d->fd, LOCK_EX | LOCK_NB) == 0 && is_ours(d->fd) &&
		    (d->folder = strdup(name)))
			return true;
		if (d->fd >= 0)
			close(d->fd);
		rmdir(name);
	}
	return false;
}

char *input_named_give(struct input_named *d, int fd, unsigned n)
{
	char *name, self[32];

	if (!d->folder) {
		remove_all_abandoned();
		if (!create_folder(d))
			return NULL;
	}
	if (asprintf(&name, "%s/%u", d->folder, n) < 0)
		return NULL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
		return name;
	free(name);
	return NULL;
}

void input_named_free(struct input_named *d)
{
	if (!d->folder)
		return;
	rmdir(d->folder);
	close(d->fd);
	free(d->folder);
	d->folder = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariant: only files whose names this run made, or, in the folder of the default recording,
 * files whose names end in .ige and that nobody holds a lock on, are ever removed; oldest first.
 */
#include "lib/record/rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/vec.h"

#define FOLDER_ENTRIES_MAX 65536u

struct file {
	char *path;
	uint64_t bytes;
	int64_t modified_ns;
};

struct record_rotation {
	struct record_rotation_limits limits;
	char *stem; /* path without ".ige" */
	unsigned number;
	VEC(struct file) files; /* oldest first; the last one is being written */
	uint64_t removed;
};

int record_rotation_new(struct record_rotation **out, const char *path,
			const struct record_rotation_limits *limits, struct err *e)
{
	struct record_rotation *r = calloc(1, sizeof(*r));
	size_t n = strlen(path);

	*out = r;
	if (!r)
		return err_nomem(e);
	r->limits = *limits;
	r->stem = strdup(path);
	if (!r->stem)
		return err_nomem(e);
	if (n > 4 && strcmp(path + n - 4, ".ige") == 0)
		r->stem[n - 4] = '\0';
	return 0;
}

void record_rotation_free(struct record_rotation *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->files.n; i++)
		free(r->files.v[i].path);
	vec_free(&r->files);
	free(r->stem);
	free(r);
}

const char *record_rotation_next(struct record_rotation *r)
{
	struct file f = { 0 };

	/* Files of an earlier run of the same name stay. */
	do {
		free(f.path);
		if (asprintf(&f.path, "%s-%06u.ige", r->stem, ++r->number) < 0)
			return NULL;
	} while (access(f.path, F_OK) == 0);
	if (!vec_push(&r->files, f)) {
		free(f.path);
		return NULL;
	}
	return f.path;
}

/* Removes a file that is not being written; whether that succeeded. */
static bool remove_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool free_to_go = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (free_to_go)
		free_to_go = unlink(path) == 0;
	if (fd >= 0)
		close(fd);
	return free_to_go;
}

static void drop_entry(struct record_rotation *r, size_t i)
{
	free(r->files.v[i].path);
	memmove(&r->files.v[i], &r->files.v[i + 1], (r->files.n - i - 1) * sizeof(*r->files.v));
	r->files.n--;
}

static int by_age(const void *a, const void *b)
{
	int64_t x = ((const struct file *)a)->modified_ns,
		y = ((const struct file *)b)->modified_ns;

	return (x > y) - (x < y);
}

/* What other runs left in the folder, oldest first, until all fits. */
static void tidy_folder(struct record_rotation *r)
{
	const char *slash = strrchr(r->stem, '/'), *mine = slash ? slash + 1 : r->stem;
	char *folder = slash ? strndup(r->stem, (size_t)(slash - r->stem)) : strdup(".");
	VEC(struct file) others = { 0 };
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	uint64_t sum = 0;

	for (unsigned n = 0; dir && n < FOLDER_ENTRIES_MAX && (entry = readdir(dir)); n++) {
		size_t len = strlen(entry->d_name);
		struct file f = { 0 };
		struct stat st;

		if (len < 5 || strcmp(entry->d_name + len - 4, ".ige") != 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		if (strncmp(entry->d_name, mine, strlen(mine)) == 0)
			continue;
		f.bytes = (uint64_t)st.st_size;
		f.modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		if (asprintf(&f.path, "%s/%s", folder, entry->d_name) < 0)
			break;
		if (!vec_push(&others, f))
			free(f.path);
	}
	if (dir)
		closedir(dir);
	if (others.n)
		qsort(others.v, others.n, sizeof(*others.v), by_age);
	for (size_t i = 0; i < others.n; i++) {
		if (sum > r->limits.bytes && remove_file(others.v[i].path)) {
			sum -= others.v[i].bytes;
			r->removed++;
		}
		free(others.v[i].path);
	}
	vec_free(&others);
	free(folder);
}

void record_rotation_unmade(struct record_rotation *r)
{
	free(r->files.v[--r->files.n].path);
	r->number--;
}

void record_rotation_grown(struct record_rotation *r, uint64_t bytes)
{
	if (r->files.n)
		r->files.v[r->files.n - 1].bytes = bytes;
}

uint64_t record_rotation_prune(struct record_rotation *r)
{
	uint64_t sum = 0;

	if (r->limits.folder && r->limits.bytes)
		tidy_folder(r);
	for (size_t i = 0; i < r->files.n; i++)
		sum += r->files.v[i].bytes;
	while (r->files.n > 1 && ((r->limits.files && r->files.n > r->limits.files) ||
				  (r->limits.bytes && sum > r->limits.bytes))) {
		sum -= r->files.v[0].bytes;
		r->removed += remove_file(r->files.v[0].path);
		drop_entry(r, 0);
	}
	return r->removed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores findings on disk: one JSON file for each state of the files, written aside and renamed.
 */
#include "lib/store/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/store/chains_json.h"

#define FORM	  "ingero.kept/1"
#define FILES	  32u
#define BYTES_MAX (64u << 20)
#define ENDING	  ".chains"

/* Another build may find something else. */
static bool program_state(struct buf *out)
{
	struct stat st;

	if (stat("/proc/self/exe", &st))
		return false;
	buf_printf(out, "%ju:%ju:%jd:%jd.%09ld", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		   (intmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return !out->failed;
}

/* And the one it is in, of a person who never had a ~/.cache. */
void disk_cache_create(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct buf above = { 0 };

	if (!mkdir(path, 0700) || errno != ENOENT || !slash)
		return;
	buf_add(&above, path, (size_t)(slash - path));
	if (!mkdir(buf_text(&above), 0700))
		mkdir(path, 0700);
	buf_free(&above);
}

/* The folder, which is ours alone; < 0: there is none. */
static int open_folder(const char *path, bool make)
{
	struct stat st;
	int fd;

	if (make)
		disk_cache_create(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void name_of(char out[40], const char *state)
{
	snprintf(out, 40, "%016" PRIx64 ENDING, hash_bytes(state, strlen(state), 0));
}

/* ---- writing ---- */

static void put_all(struct buf *out, const char *state, const char *program,
		    const struct query_chains *a)
{
	struct jsonw j;

	jsonw_init(&j, out, false);
	jsonw_object_begin(&j);
	jsonw_key_str(&j, "form", FORM);
	jsonw_key_str(&j, "files", state);
	jsonw_key_str(&j, "program", program);
	chains_json_write(&j, a);
	jsonw_object_end(&j);
}

/* Until no more than FILES are there. */
static void remove_oldest(int folder)
{
	for (;;) {
		char oldest[NAME_MAX + 1] = "";
		struct timespec when = { 0 };
		struct dirent *d;
		unsigned n = 0;
		DIR *all = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

		if (!all)
			return;
		while ((d = readdir(all))) {
			struct stat st;

			if (!strstr(d->d_name, ENDING) ||
			    fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
				continue;
			n++;
			if (!*oldest || st.st_mtim.tv_sec < when.tv_sec ||
			    (st.st_mtim.tv_sec == when.tv_sec &&
			     st.st_mtim.tv_nsec < when.tv_nsec)) {
				snprintf(oldest, sizeof(oldest), "%s", d->d_name);
				when = st.st_mtim;
			}
		}
		closedir(all);
		if (n <= FILES || unlinkat(folder, oldest, 0))
			return;
	}
}

void disk_cache_write(const char *folder, const char *state, const struct query_chains *a)
{
	struct buf text = { 0 }, program = { 0 };
	char name[40], aside[64];
	int dir = open_folder(folder, true), fd = -1;
	struct err e;

	if (dir >= 0 && program_state(&program))
		put_all(&text, state, buf_text(&program), a);
	name_of(name, state);
	snprintf(aside, sizeof(aside), "%s.%d", name, (int)getpid());
	if (text.n && !text.failed)
		fd = openat(dir, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool whole = !write_all(fd, text.p, text.n, &e);

		whole = !close(fd) && whole;
		if (!whole || renameat(dir, aside, dir, name))
			unlinkat(dir, aside, 0);
		else
			remove_oldest(dir);
	}
	if (dir >= 0)
		close(dir);
	buf_free(&text);
	buf_free(&program);
}

/* ---- reading ---- */

static bool has_text(struct json o, const char *key, const char *text)
{
	struct json v = json_get(o, key);
	bool is = bytes_equal(json_bytes(v), bytes_of(text));

	json_free(v);
	return is;
}

bool disk_cache_read(const char *folder, const char *state, struct query_chains *out)
{
	int dir = open_folder(folder, false), fd;
	struct buf text = { 0 }, program = { 0 };
	struct json o = JSON_NONE;
	bool is = false;
	char name[40];
	struct err e;

	*out = (struct query_chains){ 0 };
	name_of(name, state);
	fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && !read_fd(fd, name, &text, BYTES_MAX, &e) && program_state(&program) &&
	    !json_parse(buf_bytes(&text), &o, &e))
		is = has_text(o, "form", FORM) && has_text(o, "files", state) &&
		     has_text(o, "program", buf_text(&program)) && chains_json_read(o, out);
	if (!is)
		query_chains_clear(out);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	json_free(o);
	buf_free(&text);
	buf_free(&program);
	return is;
}

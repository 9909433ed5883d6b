/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading /proc. Numbers and names are taken from where proc(5) says they are; everything is bounded.
 */
#include "lib/probe/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/io.h"

#define TEXT_MAX 65536

static bool slurp(uint32_t tgid, const char *what, struct buf *out)
{
	char path[64];
	struct err ignored;

	snprintf(path, sizeof(path), "/proc/%u/%s", tgid, what);
	return read_file(path, out, TEXT_MAX, &ignored) == 0;
}

/* Field i of stat, counted as proc(5) does, from 3 on: behind the name, which may hold anything. */
static uint64_t stat_field(uint32_t tgid, int i)
{
	struct buf b = { 0 };
	uint64_t value = 0;
	const char *p;

	if (slurp(tgid, "stat", &b) && (p = strrchr(buf_text(&b), ')'))) {
		p++;
		for (int k = 3; k < i && p; k++)
			p = strchr(p + 1, ' ');
		if (p)
			value = strtoull(p, NULL, 10);
	}
	buf_free(&b);
	return value;
}

bool procfs_alive(uint32_t tgid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", tgid);
	return access(path, F_OK) == 0;
}

uint64_t procfs_start(uint32_t tgid)
{
	return stat_field(tgid, 22) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t procfs_age(uint32_t tgid)
{
	uint64_t start = procfs_start(tgid), now;
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
	return start && now > start ? now - start : 1;
}

uint64_t procfs_exe_inode(uint32_t tgid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

int procfs_uid(uint32_t tgid, uid_t *uid)
{
	struct buf b = { 0 };
	const char *p;
	int rc = -1;

	if (slurp(tgid, "status", &b) && (p = strstr(buf_text(&b), "\nUid:"))) {
		*uid = (uid_t)strtoul(p + 5, NULL, 10);
		rc = 0;
	}
	buf_free(&b);
	return rc;
}

uint32_t procfs_parent(uint32_t tgid)
{
	return (uint32_t)stat_field(tgid, 4);
}

void procfs_exe(uint32_t tgid, struct buf *out)
{
	char path[64], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", tgid);
	n = readlink(path, target, sizeof(target));
	if (n > 0)
		buf_add(out, target, (size_t)n);
}

void procfs_cmdline(uint32_t tgid, struct buf *out)
{
	size_t from = out->n;

	if (!slurp(tgid, "cmdline", out))
		return;
	while (out->n > from && out->p[out->n - 1] == 0)
		out->n--;
	for (size_t i = from; i < out->n; i++)
		if (out->p[i] == 0)
			out->p[i] = ' ';
}

void procfs_comm(uint32_t tgid, struct buf *out)
{
	if (slurp(tgid, "comm", out) && out->n && out->p[out->n - 1] == '\n')
		out->n--;
}

void procfs_cgroup(uint32_t tgid, struct buf *out)
{
	struct buf b = { 0 };
	const char *p, *end;

	if (slurp(tgid, "cgroup", &b)) {
		p = strncmp(buf_text(&b), "0::", 3) == 0 ? buf_text(&b) : strstr(buf_text(&b), "\n0::");
		if (p) {
			p = strchr(p, '/');
			end = p ? strchr(p, '\n') : NULL;
			if (p)
				buf_add(out, p, end ? (size_t)(end - p) : strlen(p));
		}
	}
	buf_free(&b);
}

void procfs_each(void (*fn)(void *ctx, uint32_t tgid), void *ctx)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (isdigit((unsigned char)entry->d_name[0]))
			fn(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10));
	if (d)
		closedir(d);
}

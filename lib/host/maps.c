/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the memory mappings of a process from /proc/PID/maps. Lines look like
 * "7f…-7f… r-xp 00002000 fe:00 247134      /usr/bin/cat". In a path the kernel escapes only a
 * newline, as \012, so a path that contains these four characters itself is read wrongly: the two
 * cases look the same.
 */
#include "lib/host/maps.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/number.h"
#include "lib/base/io.h"

#define MAPS_MAX (64u << 20) /* 65,530 mappings of long paths and room to spare */

#define DIGITS_MOST 24 /* looked at: a zero byte ends them, too */

/* Digits of the base from *p, followed by the character after; moves *p behind it. */
static bool parse_number(char **p, unsigned base, char after, uint64_t *out)
{
	const char *at = *p;

	if (!number_scan(&at, at + DIGITS_MOST, base, UINT64_MAX, out) || (after && *at != after))
		return false;
	*p += at - *p + (after != 0);
	return true;
}

static size_t unescape_path(char *p, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++, to++) {
		if (n - i >= 4 && memcmp(p + i, "\\012", 4) == 0) {
			p[to] = '\n';
			i += 3;
		} else {
			p[to] = p[i];
		}
	}
	p[to] = 0;
	return to;
}

/* line ends with a zero byte. */
static bool parse_line(char *line, struct host_mapping *m)
{
	static const char deleted[] = " (deleted)";
	char *p = line;
	uint64_t major, minor;
	size_t n;

	if (!parse_number(&p, 16, '-', &m->start) || !parse_number(&p, 16, ' ', &m->end) ||
	    m->end < m->start)
		return false;
	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	m->executable = p[2] == 'x';
	p += 5;
	if (!parse_number(&p, 16, ' ', &m->offset) || !parse_number(&p, 16, ':', &major) ||
	    !parse_number(&p, 16, ' ', &minor) || !parse_number(&p, 10, 0, &m->inode) ||
	    major > UINT32_MAX || minor > UINT32_MAX || (*p && *p != ' '))
		return false;
	m->major = (uint32_t)major;
	m->minor = (uint32_t)minor;
	p += strspn(p, " ");
	n = unescape_path(p, strlen(p));
	m->deleted =
		n >= sizeof(deleted) - 1 && strcmp(p + n - (sizeof(deleted) - 1), deleted) == 0;
	if (m->deleted) {
		n -= sizeof(deleted) - 1;
		p[n] = 0;
	}
	m->path = (struct bytes){ p, n };
	return true;
}

unsigned host_maps_parse(struct buf *text, host_mapping_fn *fn, void *ctx)
{
	char *p = text->p, *end = text->p + text->n;
	unsigned refused = 0;

	while (p && p < end) {
		char *newline = memchr(p, '\n', (size_t)(end - p));
		struct host_mapping m = { 0 };

		if (newline)
			*newline = 0; /* otherwise the buffer's own zero byte ends the line */
		if (!parse_line(p, &m))
			refused += *p != 0;
		else if (!fn(ctx, &m))
			break;
		p = newline ? newline + 1 : end;
	}
	return refused;
}

int host_maps_read(uint32_t pid, host_mapping_fn *fn, void *ctx, struct err *e)
{
	struct buf text = { 0 };
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	rc = read_file(path, &text, MAPS_MAX, e);
	if (rc == 0)
		host_maps_parse(&text, fn, ctx);
	buf_free(&text);
	return rc;
}

static char *mapped_path(uint32_t pid, const struct host_mapping *m, char *out, size_t size)
{
	snprintf(out, size, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	return out;
}

static char *named_path(uint32_t pid, const struct host_mapping *m, char *out, size_t size)
{
	snprintf(out, size, "/proc/%" PRIu32 "/root%s", pid, m->path.p ? m->path.p : "");
	return out;
}

char *host_maps_path(uint32_t pid, const struct host_mapping *m, char *out, size_t size)
{
	mapped_path(pid, m, out, size);
	/* The path of a deleted file leads to nothing, or to another file. */
	if (access(out, R_OK) && !m->deleted)
		named_path(pid, m, out, size);
	return out;
}

static int open_regular(const char *path)
{
	struct stat st;
	int fd;

	/* Opening a device may do something. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -1;
	/* Without O_NONBLOCK a FIFO that takes its place now would hold us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* On an overlay file system the line may show another inode than stat(2); then the name decides,
 * which both have from the kernel. */
static bool is_of_line(int fd, const struct host_mapping *m)
{
	char link[32], path[PATH_MAX + 16];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) == 0 && st.st_ino == m->inode)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 && !m->deleted && bytes_equal((struct bytes){ path, (size_t)n }, m->path);
}

int host_maps_open(uint32_t pid, const struct host_mapping *m)
{
	char path[PATH_MAX + 64];
	int fd = open_regular(mapped_path(pid, m, path, sizeof(path)));

	if (fd >= 0 && is_of_line(fd, m))
		return fd;
	if (fd >= 0)
		close(fd);
	return m->deleted ? -1 : open_regular(named_path(pid, m, path, sizeof(path)));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes whole buffers and reads whole small files, with retries after signals.
 */
#include "lib/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t n, struct err *e)
{
	const char *p = data;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done >= 0) {
			p += done;
			n -= (size_t)done;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return err_sys(e, "cannot write");
		} else if (errno != EINTR) {
			return err_sys(e, "cannot write");
		}
	}
	return 0;
}

ssize_t read_at(int fd, void *p, size_t n, off_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = pread(fd, (char *)p + got, n - got, at + (off_t)got);

		if (k == 0)
			break;
		if (k > 0)
			got += (size_t)k;
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t)got;
}

int io_nameless(struct err *e)
{
	static const char *const folders[] = { "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create("scratch", MFD_CLOEXEC);
	return fd < 0 ? err_sys(e, "no room for a file in /var/tmp, /tmp, or memory") : fd;
}

int io_open_regular(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = 0;
	struct stat st;

	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	if (fstat(fd, &st))
		rc = err_sys(e, "cannot open %s", path);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, ERR_CANNOT, "cannot read %s: it is no regular file", path);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int read_fd(int fd, const char *name, struct buf *out, size_t max, struct err *e)
{
	size_t total = 0;

	for (;;) {
		size_t room = max - total < 65536 ? max - total + 1 : 65536;
		char *at = buf_reserve(out, room);
		ssize_t got;

		if (!at)
			return err_nomem(e);
		got = read(fd, at, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(e, "cannot read %s", name);
		if (got == 0)
			break;
		total += (size_t)got;
		if (total > max)
			return err_set(e, ERR_LIMIT, "%s holds more than %zu bytes", name, max);
		buf_added(out, (size_t)got);
	}
	return 0;
}

int read_file(const char *path, struct buf *out, size_t max, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	rc = read_fd(fd, path, out, max, e);
	close(fd);
	return rc;
}

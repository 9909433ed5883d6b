/* SPDX-License-Identifier: Apache-2.0 */
/* There whole or not at all, so that no half bundle is ever found under its name. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/aside.h"
#include "lib/base/io.h"
#include "lib/input/bundle.h"

struct target {
	int fd;
	uint64_t bytes;
};

static int put(void *ctx, const void *p, size_t n, struct err *e)
{
	struct target *t = ctx;

	t->bytes += n;
	return write_all(t->fd, p, n, e);
}

static int name_it(struct input_bundle_told *told, const char *recording, const char *out,
		   struct err *e)
{
	size_t n = strlen(recording);
	int got;

	if (n > 4 && strcmp(recording + n - 4, ".ige") == 0)
		n -= 4;
	if (out)
		got = snprintf(told->path, sizeof(told->path), "%s", out);
	else
		got = snprintf(told->path, sizeof(told->path), "%.*s.igb", (int)n, recording);
	return got < (int)sizeof(told->path) - 8 ? 0
						 : err_set(e, ERR_USAGE, "the name is too long");
}

int input_bundle_file(const char *recording, const char *out, uint32_t owner_uid,
		      uint32_t owner_gid, input_bundle_find_fn *find, void *find_ctx,
		      struct input_bundle_told *told, struct buf *notes, struct err *e)
{
	struct target t = { 0 };
	struct aside file;
	int fd, rc = name_it(told, recording, out, e);

	if (rc)
		return rc;
	fd = open(recording, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "cannot open %s", recording);
	rc = aside_open(&file, told->path, e);
	if (rc == 0 && !file.placed && owner_uid && fchown(file.fd, owner_uid, owner_gid))
		rc = err_sys(e, "cannot create %s", told->path);
	t.fd = file.fd;
	if (rc == 0)
		rc = input_bundle_write(fd, recording, find, find_ctx, put, &t, told, notes, e);
	close(fd);
	rc = rc ? rc : aside_keep(&file, e);
	aside_drop(&file);
	told->bytes = t.bytes;
	return rc;
}

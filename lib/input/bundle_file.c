/* SPDX-License-Identifier: Apache-2.0 */
/* There whole or not at all, so that no half bundle is ever found under its name. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/as_user.h"
#include "lib/base/atomic_file.h"
#include "lib/base/io.h"
#include "lib/input/bundle.h"

struct target {
	int fd;
	uint64_t bytes;
};

static int write_bytes(void *ctx, const void *p, size_t n, struct err *e)
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

static bool may_write_folder(const char *path, uint32_t uid, uint32_t gid)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct as_user as;
	bool may;

	as_user_begin(&as, uid, gid);
	may = !folder || faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0;
	as_user_end(&as);
	free(folder);
	return may;
}

/* As the owner, who else would get a bundle of what only root may read; as ourselves only what is
 * the owner's where the owner may not look. */
static int open_recording(const char *path, uint32_t uid, uint32_t gid, struct err *e)
{
	struct as_user as;
	struct stat st;
	int fd, rc;

	as_user_begin(&as, uid, gid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	rc = fd < 0 ? err_sys(e, "cannot open %s", path) : fd;
	as_user_end(&as);
	if (fd >= 0 || rc != ERR_CANNOT || !uid || geteuid() != 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == uid)
		return fd;
	if (fd < 0)
		return err_sys(e, "cannot open %s", path);
	close(fd);
	return err_set(e, ERR_CANNOT, "cannot open %s: user %u, behind sudo, may not read it", path,
		       (unsigned)uid);
}

/* As the owner, so that a link planted beside the recording leads nowhere the owner could not go;
 * as ourselves only where the owner may not write, and then along no link, and only to a file that
 * is the owner's already. *as_owner: which it was. */
static int open_as(struct atomic_file *file, const char *path, uint32_t uid, uint32_t gid,
		   bool *as_owner, struct err *e)
{
	struct as_user as;
	struct stat st;
	int rc;

	*as_owner = true;
	as_user_begin(&as, uid, gid);
	rc = atomic_file_open(file, path, e);
	as_user_end(&as);
	if (rc != ERR_CANNOT || !uid || geteuid() != 0)
		return rc;
	/* Where the owner may write, a link could take its place meanwhile. */
	if (may_write_folder(path, uid, gid))
		return rc;
	if (lstat(path, &st))
		return err_set(
			e, ERR_CANNOT,
			"cannot create %s: user %u, behind sudo, may not write in its folder "
			"(name a file in another one)",
			path, (unsigned)uid);
	if (!S_ISREG(st.st_mode) || st.st_uid != uid)
		return err_set(e, ERR_CANNOT,
			       "cannot create %s: it is not replaced, user %u, behind sudo, may "
			       "not write it (name another file, or remove it)",
			       path, (unsigned)uid);
	*as_owner = false;
	rc = atomic_file_open(file, path, e);
	if (rc == 0 && !file->placed && fchown(file->fd, uid, gid))
		rc = err_sys(e, "cannot create %s", path);
	return rc;
}

int input_bundle_file(const char *recording, const char *out, uint32_t owner_uid,
		      uint32_t owner_gid, input_bundle_find_fn *find, void *find_ctx,
		      struct input_bundle_told *told, struct buf *notes, struct err *e)
{
	struct target t = { 0 };
	struct as_user as;
	struct atomic_file file;
	bool as_owner;
	int fd, rc = name_it(told, recording, out, e);

	told->verdict = 0;
	told->damage = (struct buf){ 0 };
	if (rc)
		return rc;
	fd = open_recording(recording, owner_uid, owner_gid, e);
	if (fd < 0)
		return fd;
	rc = open_as(&file, told->path, owner_uid, owner_gid, &as_owner, e);
	t.fd = file.fd;
	if (rc == 0)
		rc = input_bundle_write(fd, recording, find, find_ctx, write_bytes, &t, told, notes,
					e);
	close(fd);
	as_user_begin(&as, as_owner ? owner_uid : 0, owner_gid);
	rc = rc ? rc : atomic_file_keep(&file, e);
	atomic_file_drop(&file);
	as_user_end(&as);
	told->bytes = t.bytes;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that exists is opened at once, which tells early whether it can be written, and emptied
 * late; one that does not is created late. Pipes and devices have nothing to lose.
 */
#include "lib/cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/io.h"

/* Whether a file can be created where path says. */
static int folder_takes(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct buf folder = { 0 };
	int rc = 0;

	if (slash == path)
		buf_puts(&folder, "/");
	else if (slash)
		buf_add(&folder, path, (size_t)(slash - path));
	else
		buf_puts(&folder, ".");
	if (folder.failed)
		rc = err_nomem(e);
	else if (access(buf_text(&folder), W_OK | X_OK) < 0)
		rc = err_sys(e, "cannot create %s", path);
	buf_free(&folder);
	return rc;
}

int cli_outfile_open(struct cli_outfile *o, const char *path, bool whole, struct err *e)
{
	*o = (struct cli_outfile){ .fd = STDOUT_FILENO, .aside.fd = -1 };
	if (!path || strcmp(path, "-") == 0)
		return 0;
	o->path = path;
	o->whole = whole;
	if (whole) {
		int rc = atomic_file_open(&o->aside, path, e);

		o->fd = o->aside.fd;
		return rc;
	}
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (o->fd >= 0)
		return 0;
	if (errno != ENOENT)
		return err_sys(e, "cannot create %s", path);
	return folder_takes(path, e);
}

static int begin_output(struct cli_outfile *o, struct err *e)
{
	struct stat st;

	o->begun = true;
	if (!o->path || o->whole)
		return 0;
	if (o->fd < 0)
		o->fd = open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	else if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(o->fd, 0) < 0)
		return err_sys(e, "cannot write %s", o->path);
	return o->fd < 0 ? err_sys(e, "cannot create %s", o->path) : 0;
}

int cli_outfile_write(struct cli_outfile *o, const void *p, size_t n, struct err *e)
{
	int rc = o->begun || n == 0 ? 0 : begin_output(o, e);

	if (rc)
		return rc;
	rc = write_all(o->fd, p, n, e);
	return rc ? err_prefix(e, "%s", o->path ? o->path : "standard output") : rc;
}

int cli_outfile_close(struct cli_outfile *o, bool good, struct err *e)
{
	int rc = 0;

	if (o->whole) {
		rc = good && o->begun ? atomic_file_keep(&o->aside, e) : 0;
		atomic_file_drop(&o->aside);
		return rc;
	}
	if (o->path && o->fd >= 0)
		rc = close(o->fd);
	o->fd = -1;
	return rc ? err_sys(e, "cannot write %s", o->path) : 0;
}

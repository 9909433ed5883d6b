/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a temporary archive to run queries on. SQLite opens files by name: the file has one until
 * the connection is open. */
#include "lib/archive/made.h"

#include "lib/base/atomic_file.h"
#include "lib/base/buf.h"

int archive_ask_made(struct archive_ask **out, const char *folder,
		     const struct archive_ask_limits *limits, archive_make *make, void *ctx,
		     struct err *e)
{
	struct atomic_file scratch = { .fd = -1 };
	struct buf path = { 0 };
	const char *name;
	int rc;

	*out = NULL;
	buf_printf(&path, "%s/ingero-archive", folder && *folder ? folder : "/var/tmp");
	if (path.failed)
		return err_nomem(e);
	rc = atomic_file_scratch(&scratch, buf_text(&path), e);
	if (rc)
		err_prefix(e, "no place for the archive (TMPDIR says where)");
	rc = rc ? rc : make(ctx, scratch.fd, e);
	if (!rc) {
		name = atomic_file_name(&scratch, e);
		rc = name ? archive_ask_open(out, name, limits, e) : e->code;
	}
	atomic_file_drop(&scratch);
	buf_free(&path);
	return rc;
}

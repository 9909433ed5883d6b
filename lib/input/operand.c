/* SPDX-License-Identifier: Apache-2.0 */
/* What is no recording of ours, but what somebody would bring as one, is called by its name. */
#include "lib/input/operand.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"

static atomic_bool files_only;

void input_operand_files_only(void)
{
	atomic_store(&files_only, true);
}

/* Where fd is a pipe, the same pipe once somebody writes to it. That fd stays open until then keeps
 * a writer that is there already. */
static int wait_for_writer(int fd, const char *name, struct err *e)
{
	int waited = open(name, O_RDONLY | O_CLOEXEC);

	if (waited < 0)
		err_sys(e, "cannot open %s", name);
	close(fd);
	return waited < 0 ? e->code : waited;
}

int input_operand_open(const char *name, struct err *e)
{
	struct stat st;
	int fd;

	if (atomic_load(&files_only))
		return io_open_regular(name, e);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "cannot open %s", name);
	if (fstat(fd, &st) || S_ISREG(st.st_mode))
		return fd;
	if (!S_ISDIR(st.st_mode))
		return wait_for_writer(fd, name, e);
	close(fd);
	return err_set(e, ERR_CANNOT, "cannot read %s: it is a directory", name);
}

int input_operand_check(const char *name, struct err *e)
{
	static const struct {
		const char *magic, *what;
	} others[] = { { "PK\x03\x04", "a zip archive" } };
	char head[16] = { 0 };
	struct stat st;
	int fd;

	if (!strcmp(name, "-"))
		return 0;
	if (stat(name, &st))
		return err_sys(e, "cannot open %s", name);
	if (!S_ISREG(st.st_mode))
		return 0;
	fd = io_open_regular(name, e);
	if (fd < 0)
		return fd;
	if (read_at(fd, head, sizeof(head) - 1, 0) < 0)
		head[0] = '\0';
	close(fd);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!memcmp(head, others[i].magic, strlen(others[i].magic)))
			return err_set(e, ERR_CANNOT,
				       "%s is %s: reading those is not there yet, only .ige "
				       "files, bundles and older SQLite recordings",
				       name, others[i].what);
	return 0;
}

bool input_operand_room(unsigned n)
{
	const rlim_t others = 64; /* outputs, what the runtime has open */
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= n + others)
		return true;
	if (limit.rlim_max < n + others)
		return false;
	limit.rlim_cur = n + others;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What is no recording of ours, but what somebody would bring as one, is called by its name. */
#include "lib/input/operand.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/io.h"

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
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "cannot open %s", name);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens output files and checks the standard descriptors at the start of a program.
 */
#include "lib/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fmt.h"
#include "lib/base/io.h"
#include "lib/base/oom_flag.h"
#include "lib/cli/exit.h"
#include "lib/cli/message.h"
#include "lib/cli/term.h"

/* A failure of standard output is reported once. */
static bool told;

/* The kernel removes unnamed files when the process exits. */
static void exit_no_memory(void)
{
	cli_error("out of memory");
	_exit(CLI_EXIT_CANNOT);
}

void cli_start(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
	sigaction(SIGPIPE, &ignore, NULL);
	oom_flag_at_last(exit_no_memory);
}

int cli_finish_stdout(int status)
{
	int failed = ferror(stdout);
	int number = failed ? errno : 0;

	if (fflush(stdout) && !failed)
		number = errno;
	failed |= ferror(stdout);
	if (close(STDOUT_FILENO) < 0 && !failed && errno != EBADF) {
		failed = 1;
		number = errno;
	}
	/* The stream's error may be older than errno: a closed pipe shows as EPIPE only on the
	 * first write. */
	if (!failed && status == CLI_EXIT_DONE && oom_flag_is_set()) {
		cli_error("out of memory: something may be missing");
		return CLI_EXIT_CANNOT;
	}
	if (!failed || told || number == EPIPE || number == 0)
		return status;
	cli_error("cannot write standard output: %s", strerror(number));
	return CLI_EXIT_CANNOT;
}

int cli_print(const struct buf *b, struct err *e)
{
	if (b->failed)
		return err_nomem(e);
	if (fflush(stdout) || write_all(STDOUT_FILENO, buf_text(b), b->n, NULL)) {
		told = true;
		return err_sys(e, "cannot write standard output");
	}
	return 0;
}

int cli_print_text(const struct buf *b, struct err *e)
{
	struct buf folded = { 0 };
	int rc;

	folded.failed = b->failed;
	fmt_wrap(&folded, buf_bytes(b), cli_columns(STDOUT_FILENO));
	rc = cli_print(&folded, e);
	buf_free(&folded);
	return rc;
}

int cli_output_apart(const char *path, char *const *inputs, size_t n, struct err *e)
{
	struct stat out, in;

	if (!strcmp(path, "-") || stat(path, &out) || !S_ISREG(out.st_mode))
		return 0;
	for (size_t i = 0; i < (n ? n : 1); i++) {
		const char *name = n ? inputs[i] : "-";

		if (strcmp(name, "-") ? stat(name, &in) : fstat(STDIN_FILENO, &in))
			continue;
		if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			return err_set(e, ERR_USAGE,
				       "%s is also the input: writing would destroy it (name "
				       "another file behind -o)",
				       path);
	}
	return 0;
}

int cli_refuse_terminal(int fd, struct err *e)
{
	if (!isatty(fd))
		return 0;
	return err_set(e, ERR_USAGE,
		       "a recording is binary and not for a terminal (use -o FILE, or pipe it on)");
}

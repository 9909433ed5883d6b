/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program is looked for beside this one first, so that a build or an unpacked archive runs its
 * own and not those that are installed.
 */
#include "lib/cli/sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/capabilities.h"
#include "lib/cli/message.h"

#define NO_SUCH_PROGRAM 127 /* as a shell says it */

static bool in_folder(struct buf *out, const char *folder, size_t n, const char *below,
		      const char *name)
{
	struct buf path = { 0 };
	bool found;

	buf_printf(&path, "%.*s/%s%s", (int)n, folder, below, name);
	found = !path.failed && access(buf_text(&path), X_OK) == 0;
	if (found)
		buf_puts(out, buf_text(&path));
	buf_free(&path);
	return found;
}

bool cli_sibling_find(const char *name, struct buf *path)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash, *list = getenv("PATH"), *end;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash && (in_folder(path, self, (size_t)(slash - self), "", name) ||
		      in_folder(path, self, (size_t)(slash - self), "../libexec/ingero/", name)))
		return true;
	for (; list && *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ':');
		if (end > list && in_folder(path, list, (size_t)(end - list), "", name))
			return true;
	}
	return false;
}

void cli_sibling_exec(char *const *argv)
{
	struct sigaction as_ever = { .sa_handler = SIG_DFL };
	struct buf path = { 0 };

	sigaction(SIGPIPE, &as_ever,
		  NULL); /* see cli_start; other handlers end with this program */
	errno = ENOENT;
	if (cli_sibling_find(argv[0], &path))
		execv(buf_text(&path), argv);
	buf_free(&path);
}

pid_t cli_sibling_start(char *const *argv, const struct cli_sibling_fds *fds, struct err *e)
{
	const int given[] = { fds->in, fds->out, fds->err };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t interrupt, before;
	pid_t pid;
	int failed;

	/* Ctrl-C is for all of the row: it waits until they are ready for it
	 * (cli_signals_let_first_pass). */
	sigemptyset(&interrupt);
	if (fds->keep_running)
		sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	pid = fork();
	failed = errno;
	if (pid != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	errno = failed;
	if (pid < 0)
		return err_sys(e, "cannot start %s", argv[0]);
	if (pid > 0)
		return pid;
	for (int i = 0; i < 3; i++)
		if (given[i] > STDERR_FILENO && dup2(given[i], i) < 0)
			_exit(NO_SUCH_PROGRAM);
	if (fds->keep_running) {
		sigaction(SIGTERM, &ignore, NULL);
		sigaction(SIGHUP, &ignore, NULL);
	}
	if (fds->only_reads)
		(void)capabilities_keep(CAPABILITIES_READING);
	cli_sibling_exec(argv);
	cli_error("cannot run %s: %s", argv[0], strerror(errno));
	_exit(NO_SUCH_PROGRAM);
}

int cli_sibling_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return NO_SUCH_PROGRAM;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cli_sibling_pipe(int fds[2], struct err *e)
{
	return pipe2(fds, O_CLOEXEC) ? err_sys(e, "cannot make a pipe") : 0;
}

int cli_sibling_terminal(int fds[2], struct err *e)
{
	struct winsize size;
	struct termios modes;

	fds[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fds[0] < 0 || grantpt(fds[0]) || unlockpt(fds[0]))
		return err_sys(e, "cannot make a terminal");
	fds[1] = open(ptsname(fds[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fds[1] < 0)
		return err_sys(e, "cannot make a terminal");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(fds[1], TIOCSWINSZ, &size);
	/* The true terminal makes lines of newlines, when it gets there. */
	if (tcgetattr(fds[1], &modes) == 0) {
		modes.c_oflag &= ~(tcflag_t)OPOST;
		modes.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
		tcsetattr(fds[1], TCSANOW, &modes);
	}
	return 0;
}

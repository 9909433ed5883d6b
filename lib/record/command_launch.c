/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pipes: the child waits on one until it is a target, and reports a failed exec on the other,
 * which exec closes.
 */
#include "lib/record/command_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/host/proc.h"

/* Sets groups first and the user last, since setuid() drops the right to set groups. gid: the group
 * of a user without an entry in the user database. */
static int switch_user(uid_t uid, gid_t gid)
{
	struct passwd *pw = getpwuid(uid);

	if (pw) {
		if (initgroups(pw->pw_name, pw->pw_gid) || setgid(pw->pw_gid))
			return -1;
		setenv("HOME", pw->pw_dir, 1);
		setenv("USER", pw->pw_name, 1);
		setenv("LOGNAME", pw->pw_name, 1);
		setenv("SHELL", pw->pw_shell, 1);
	} else if (setgroups(0, NULL) || setgid(gid)) {
		return -1;
	}
	return setuid(uid);
}

/* What is meant for the recorder, and for its servers, is not the command's. */
static void clean_environment(void)
{
	static const char *const names[] = { "SUDO_UID",     "SUDO_GID",
					     "SUDO_USER",    "SUDO_COMMAND",
					     "INGERO_TOKEN", "INGERO_MCP_BEARER_TOKEN" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static void run_child(int go, int failed, char *const *argv, uid_t uid, gid_t gid,
		      void (*prepare)(void))
{
	char c;
	ssize_t n;
	int saved;

	do
		n = read(go, &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(125); /* the recorder gave up */
	if (prepare)
		prepare();
	clean_environment();
	if (uid == 0 || switch_user(uid, gid) == 0)
		execvp(argv[0], argv);
	saved = errno;
	n = write(failed, &saved, sizeof(saved));
	_exit(n != sizeof(saved) ? 125 : saved == ENOENT ? 127 : 126);
}

#define SETTLE_NS    1000000
#define SETTLE_TURNS 1000

/* Waits until the child sleeps on its pipe. The recorder's next steps can keep a CPU busy for
 * seconds; a child that still runs would wait for that CPU, and the recording would show this wait
 * as the child's. */
static void wait_until_asleep(pid_t pid)
{
	struct timespec nap = { .tv_nsec = SETTLE_NS };
	struct err ignored = { 0 };
	struct host_stat st;

	for (int i = 0; i < SETTLE_TURNS; i++) {
		if (host_proc_thread((uint32_t)pid, (uint32_t)pid, &st, &ignored) ||
		    st.state == 'S')
			return;
		nanosleep(&nap, NULL);
	}
}

int command_launch_start(struct command_launch *l, char *const *argv, uid_t uid, gid_t gid,
			 void (*prepare)(void), struct err *e)
{
	int go[2], failed[2], rc;

	*l = (struct command_launch){ .go = -1, .failed = -1 };
	if (pipe2(go, O_CLOEXEC))
		return err_sys(e, "cannot make a pipe");
	if (pipe2(failed, O_CLOEXEC)) {
		rc = err_sys(e, "cannot make a pipe");
		close(go[0]);
		close(go[1]);
		return rc;
	}
	l->pid = fork();
	if (l->pid == 0) {
		close(go[1]);
		close(failed[0]);
		run_child(go[0], failed[1], argv, uid, gid, prepare);
	}
	rc = l->pid < 0 ? err_sys(e, "cannot start a process") : 0;
	close(go[0]);
	close(failed[1]);
	if (rc) {
		close(go[1]);
		close(failed[0]);
		return rc;
	}
	l->go = go[1];
	l->failed = failed[0];
	fcntl(l->failed, F_SETFL, O_NONBLOCK);
	wait_until_asleep(l->pid);
	return 0;
}

void command_launch_go(struct command_launch *l)
{
	while (write(l->go, "", 1) < 0 && errno == EINTR)
		;
	close(l->go);
	l->go = -1;
}

void command_launch_drop(struct command_launch *l)
{
	close(l->go);
	l->go = -1;
}

bool command_launch_poll(struct command_launch *l, int *exec_errno)
{
	if (!l->reaped && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
		l->reaped = true;
	if (l->failed >= 0) {
		ssize_t n = read(l->failed, &l->exec_errno, sizeof(l->exec_errno));

		/* Closed by exec, or told why not. */
		if (n >= 0 || l->reaped) {
			if (n != sizeof(l->exec_errno))
				l->exec_errno = 0;
			close(l->failed);
			l->failed = -1;
		}
	}
	*exec_errno = l->exec_errno;
	return l->reaped;
}

int command_launch_status(const struct command_launch *l)
{
	return WIFSIGNALED(l->status) ? 128 + WTERMSIG(l->status) : WEXITSTATUS(l->status);
}

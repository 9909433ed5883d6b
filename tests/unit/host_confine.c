/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A confined process, which tries what a server never does and what it has to go on doing. Each try
 * is a process of its own, so that one that is ended for it is seen.
 */
#include "lib/host/confine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static char own[] = "/tmp/ingero-test-confine-XXXXXX", other[] = "/tmp/ingero-test-apart-XXXXXX";
static uint16_t port;

static int at(const char *folder, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	return fd < 0 ? errno : close(fd);
}

static int try_execute(void)
{
	char *argv[] = { "/bin/true", NULL };

	return execv(argv[0], argv) ? errno : 0;
}
static int try_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : waitpid(pid, NULL, 0) != pid;
}
static int try_clone3(void)
{
	return syscall(435, NULL, 0) < 0 ? errno : 0;
}
static int try_trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 ? errno : 0;
}
static int try_mount(void)
{
	return mount("none", own, "tmpfs", 0, NULL) ? errno : 0;
}
static int try_unshare(void)
{
	return unshare(CLONE_NEWUSER) ? errno : 0;
}
static int try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0) < 0 ? errno : 0;
}
static int try_uring(void)
{
	return syscall(425, 1, NULL) < 0 ? errno : 0;
}
static int try_clock(void)
{
	return syscall(SYS_settimeofday, NULL, NULL) < 0 ? errno : 0;
}
static int try_become(void)
{
	return syscall(SYS_setuid, getuid()) ? errno : 0;
}
static int try_make_elsewhere(void)
{
	return at(other, "new", O_WRONLY | O_CREAT);
}
static int try_write_elsewhere(void)
{
	return at(other, "there", O_WRONLY);
}
static int try_truncate_elsewhere(void)
{
	return at(other, "there", O_RDONLY | O_TRUNC);
}
static int try_remove_elsewhere(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/there", other);
	return unlink(path) ? errno : 0;
}
static int try_move_here(void)
{
	char from[128], to[128];

	snprintf(from, sizeof(from), "%s/there", other);
	snprintf(to, sizeof(to), "%s/there", own);
	return rename(from, to) ? errno : 0;
}
static int try_read_elsewhere(void)
{
	return at(other, "there", O_RDONLY);
}
static int try_nothing(void)
{
	return at("/dev", "null", O_RDWR);
}
/* As what is kept is written: without a name, then with one, then moved to its place. */
static int try_keep(void)
{
	char from[128], aside[128], to[128];
	int fd = open(own, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	snprintf(aside, sizeof(aside), "%s/aside", own);
	snprintf(to, sizeof(to), "%s/kept", own);
	if (fd < 0)
		return errno;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (write(fd, "x", 1) != 1 || linkat(AT_FDCWD, from, AT_FDCWD, aside, AT_SYMLINK_FOLLOW) ||
	    rename(aside, to) || unlink(to))
		return errno;
	return close(fd);
}
static void *nothing(void *ctx)
{
	return ctx;
}
static int try_thread(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, nothing, NULL);

	return rc ? rc : pthread_join(t, NULL);
}
static int try_memory(void)
{
	void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : munmap(p, 1 << 20);
}
static int try_listen(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1) ? errno
										     : close(fd);
}
static int try_connect(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = port,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) ? errno : close(fd);
}

static int listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)&a, &n))
		abort();
	port = a.sin_port;
	return fd;
}

static const char *const folders[] = { own, "/nowhere/at/all", NULL };

/* What a process says of it that is confined so: an errno; -1: it was ended. */
static int said(const struct host_confine *how, int (*try)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		host_confine(how);
		_exit(try());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned in_force(const struct host_confine *how)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit((int)host_confine(how));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		abort();
	return (unsigned)WEXITSTATUS(status);
}

int main(void)
{
	const struct host_confine alone = { folders, 3, false, false };
	const struct host_confine open_to_others = { folders, 3, true, true };
	static const struct {
		const char *what;
		int (*try)(void);
		unsigned by;
		int closed, open; /* errno of one that is alone, and of one that has children and
				     connects */
	} tries[] = {
		{ "another program", try_execute, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "a child", try_child, HOST_CONFINED_CALLS, EPERM, 0 },
		{ "clone3", try_clone3, HOST_CONFINED_CALLS, ENOSYS, ENOSYS },
		{ "tracing", try_trace, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "mounting", try_mount, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "another namespace", try_unshare, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "bpf", try_bpf, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "io_uring", try_uring, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "the clock", try_clock, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "another user", try_become, HOST_CONFINED_CALLS, EPERM, EPERM },
		{ "a file elsewhere", try_make_elsewhere, HOST_CONFINED_FILES, EACCES, EACCES },
		{ "writing a file elsewhere", try_write_elsewhere, HOST_CONFINED_FILES, EACCES,
		  EACCES },
		{ "removing one", try_remove_elsewhere, HOST_CONFINED_FILES, EACCES, EACCES },
		{ "moving one here", try_move_here, HOST_CONFINED_FILES, EACCES, EACCES },
		{ "a connection", try_connect, HOST_CONFINED_CONNECTIONS, EACCES, 0 },
		{ "reading a file", try_read_elsewhere, 0, 0, 0 },
		{ "/dev/null", try_nothing, 0, 0, 0 },
		{ "keeping a file", try_keep, 0, 0, 0 },
		{ "a thread", try_thread, 0, 0, 0 },
		{ "memory", try_memory, 0, 0, 0 },
		{ "listening", try_listen, 0, 0, 0 },
	};
	unsigned has = in_force(&alone);
	int fd = listener();
	char path[128];

	if (!mkdtemp(own) || !mkdtemp(other) || at(other, "there", O_WRONLY | O_CREAT))
		abort();
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (tries[i].by & ~has) {
			skip("optional: this kernel, or this build, does not confine that");
			continue;
		}
		is_int(said(&alone, tries[i].try), tries[i].closed, "%s, of one that is alone",
		       tries[i].what);
		is_int(said(&open_to_others, tries[i].try), tries[i].open,
		       "%s, of one that has children and connects", tries[i].what);
	}
	/* Since the third version of Landlock. */
	if (has & HOST_CONFINED_FILES && syscall(444, NULL, 0, 1) >= 3)
		ok(said(&alone, try_truncate_elsewhere) != 0,
		   "nor is one emptied that is opened for reading");
	is_int(at(other, "there", O_RDONLY), 0, "the process that was never confined reads on");
	is_int(at(other, "there", O_WRONLY), 0, "and writes");
	close(fd);
	snprintf(path, sizeof(path), "%s/there", other);
	unlink(path);
	rmdir(own);
	rmdir(other);
	return tap_done();
}

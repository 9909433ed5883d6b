/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command some of whose system calls fail, are done in part, or are its last. The kernel
 * asks us about each of the calls that rules name (seccomp user notifications), so that no library
 * is stood in for, threads and children are included, and static programs too. Each rule counts its
 * calls, and the first that applies to one is what comes of it; the counts are written at the end,
 * so that a first run without harm tells how many places there are.
 *
 *   inject [-a PATH] [-o COUNTS] RULE... -- COMMAND...
 *   RULE: CALLS:WHEN:WHAT
 *     CALLS  names with commas between, or a group of them: writes, reads, forks, any
 *     WHEN   N: the n-th such call; N+: it and all behind it; /K: each k-th; 0: none, they are
 * counted WHAT   an error (ENOSPC), short (of what is read or written some bytes), kill (SIGKILL),
 * stop (SIGSTOP) -a PATH: only calls on files whose path begins so
 *
 * Standard error is never harmed. Ends as the command does; 99: injecting is not possible here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT	   99
#define RULES_MAX  16
#define SHORT_MAX  65536
#define PATH_BYTES 4096

enum { FD = 1, PATH = 2, AT = 4, READS = 8, WRITES = 16, FORKS = 32, OFFSET = 64, TO = 128 };

static const struct call {
	const char *name;
	int nr, how;
} calls[] = {
	{ "write", SYS_write, FD | WRITES },
	{ "pwrite64", SYS_pwrite64, FD | WRITES | OFFSET },
	{ "writev", SYS_writev, FD },
	{ "read", SYS_read, FD | READS },
	{ "pread64", SYS_pread64, FD | READS | OFFSET },
	{ "fsync", SYS_fsync, FD },
	{ "fdatasync", SYS_fdatasync, FD },
	{ "ftruncate", SYS_ftruncate, FD },
	{ "fallocate", SYS_fallocate, FD },
	{ "close", SYS_close, FD },
	{ "lseek", SYS_lseek, FD },
	{ "openat", SYS_openat, PATH | AT },
	{ "linkat", SYS_linkat, PATH | TO },
	{ "renameat", SYS_renameat, PATH | AT },
	{ "renameat2", SYS_renameat2, PATH | AT },
	{ "unlinkat", SYS_unlinkat, PATH | AT },
	{ "mkdirat", SYS_mkdirat, PATH | AT },
	{ "getdents64", SYS_getdents64, FD },
	{ "readlinkat", SYS_readlinkat, PATH | AT },
#ifdef SYS_open
	{ "open", SYS_open, PATH },
	{ "rename", SYS_rename, PATH },
	{ "unlink", SYS_unlink, PATH },
	{ "mkdir", SYS_mkdir, PATH },
	{ "readlink", SYS_readlink, PATH },
	{ "fork", SYS_fork, FORKS },
	{ "vfork", SYS_vfork, FORKS },
#endif
	{ "clone", SYS_clone, FORKS },
	{ "clone3", SYS_clone3, FORKS },
	{ "mmap", SYS_mmap, 0 },
	{ "perf_event_open", SYS_perf_event_open, 0 },
};
#define NCALLS (sizeof(calls) / sizeof(calls[0]))

static const struct {
	const char *name;
	int number;
} errors[] = { { "ENOSPC", ENOSPC },	    { "EIO", EIO },	  { "EINTR", EINTR },
	       { "EAGAIN", EAGAIN },	    { "EDQUOT", EDQUOT }, { "EFBIG", EFBIG },
	       { "EPIPE", EPIPE },	    { "ENOMEM", ENOMEM }, { "ENOENT", ENOENT },
	       { "ESRCH", ESRCH },	    { "EACCES", EACCES }, { "EMFILE", EMFILE },
	       { "ENFILE", ENFILE },	    { "EROFS", EROFS },	  { "EXDEV", EXDEV },
	       { "EOPNOTSUPP", EOPNOTSUPP } };

enum { SHORT = -1, KILL = -2, STOP = -3 };

static struct rule {
	uint64_t calls; /* bits of the table */
	uint64_t at, every, seen;
	int what; /* an error's number, or one of the above */
	char on;  /* '+': all behind it */
} rules[RULES_MAX];
static unsigned nrules;
static const char *only;

static _Noreturn void usage(const char *why)
{
	fprintf(stderr, "inject: %s\n", why);
	exit(CANNOT);
}

static uint64_t calls_of(char *names)
{
	uint64_t found = 0;

	for (char *rest, *name = strtok_r(names, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		int group = !strcmp(name, "writes")  ? WRITES
			    : !strcmp(name, "reads") ? READS
			    : !strcmp(name, "forks") ? FORKS
						     : 0;
		uint64_t before = found;

		for (unsigned i = 0; i < NCALLS; i++)
			if (!strcmp(name, calls[i].name) || (calls[i].how & group) ||
			    !strcmp(name, "any"))
				found |= UINT64_C(1) << i;
		if (found == before)
			usage("no such call");
	}
	return found;
}

static void add_rule(char *text)
{
	char *when = strchr(text, ':'), *what = when ? strchr(when + 1, ':') : NULL, *end;
	struct rule *r = &rules[nrules++];

	if (!what || nrules == RULES_MAX)
		usage("a rule is CALLS:WHEN:WHAT");
	*when++ = *what++ = 0;
	*(*when == '/' ? &r->every : &r->at) = strtoull(when + (*when == '/'), &end, 10);
	r->on = *end;
	r->what = !strcmp(what, "short")  ? SHORT
		  : !strcmp(what, "kill") ? KILL
		  : !strcmp(what, "stop") ? STOP
					  : 0;
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(what, errors[i].name))
			r->what = errors[i].number;
	if (!r->what)
		usage("no such error");
	r->calls = calls_of(text);
}

/* ---- the command's side ---- */

static int filter(void)
{
	struct sock_filter code[2 * NCALLS + 2];
	struct sock_fprog program = { .filter = code };
	uint64_t all = 0;

	for (unsigned i = 0; i < nrules; i++)
		all |= rules[i].calls;
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							   offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < NCALLS; i++) {
		if (!(all >> i & 1))
			continue;
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (uint32_t)calls[i].nr, 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

/* A descriptor over a socket, by calls that no rule names. */
static void pass(int to, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec one = { &byte, 1 };
	struct msghdr m = { .msg_iov = &one,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(to, &m, 0) != 1)
		_exit(CANNOT);
}

static int receive(int from)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec one = { &byte, 1 };
	struct msghdr m = { .msg_iov = &one,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	int fd = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) == 1 && m.msg_controllen >= sizeof(struct cmsghdr))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* ---- our side ---- */

/* The process that the thread belongs to. */
static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

static void link_of(const char *link, char *out)
{
	ssize_t n = readlink(link, out, PATH_BYTES - 1);

	out[n < 0 ? 0 : n] = 0;
}

/* Whether the file that the call is about is one of those meant. */
static int meant(const struct call *c, const struct seccomp_notif *n)
{
	const uint64_t *a = (const uint64_t *)n->data.args;
	char link[64], path[PATH_BYTES] = "";

	if (c->how & FD) {
		if (a[0] == STDERR_FILENO)
			return 0;
		if (only) {
			snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)n->pid, (int)a[0]);
			link_of(link, path);
		}
	} else if (only && c->how & PATH) {
		struct iovec here = { path, sizeof(path) - 1 },
			     there = { (void *)(uintptr_t)a[c->how & TO	  ? 3
							    : c->how & AT ? 1
									  : 0],
				       PATH_BYTES - 1 };

		/* A string near the end of what is mapped: as far as that page goes. */
		if (process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) < 0) {
			there.iov_len = here.iov_len =
				PATH_BYTES - (uintptr_t)there.iov_base % PATH_BYTES;
			if (here.iov_len > sizeof(path) - 1)
				here.iov_len = sizeof(path) - 1;
			if (process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) < 0)
				return 0;
		}
	} else if (only && !(c->how & FORKS)) {
		return 0;
	}
	return !only || c->how & FORKS || !strncmp(path, only, strlen(only));
}

/* Done for it, of some of the bytes: 1 to half of them. Negative: an error; otherwise how many. */
static int64_t do_some(const struct call *c, const struct seccomp_notif *n, uint64_t turn)
{
	static char bytes[SHORT_MAX];
	const uint64_t *a = (const uint64_t *)n->data.args;
	size_t size =
		a[2] < 2 ? a[2] : 1 + turn * 7919 % (a[2] / 2 < SHORT_MAX ? a[2] / 2 : SHORT_MAX);
	struct iovec here = { bytes, size }, there = { (void *)(uintptr_t)a[1], size };
	int pidfd = (int)syscall(SYS_pidfd_open, process_of((pid_t)n->pid), 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)a[0], 0);
	ssize_t did = -1;

	if (fd >= 0 && c->how & WRITES &&
	    process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) == (ssize_t)size)
		did = c->how & OFFSET ? pwrite(fd, bytes, size, (off_t)a[3])
				      : write(fd, bytes, size);
	if (fd >= 0 && c->how & READS) {
		did = c->how & OFFSET ? pread(fd, bytes, size, (off_t)a[3]) : read(fd, bytes, size);
		here.iov_len = there.iov_len = did > 0 ? (size_t)did : 0;
		if (did > 0 && process_vm_writev((pid_t)n->pid, &here, 1, &there, 1, 0) != did)
			did = -1;
	}
	if (did < 0)
		did = -errno;
	if (fd >= 0)
		close(fd);
	if (pidfd >= 0)
		close(pidfd);
	return did;
}

static void answer(const struct seccomp_notif *n, struct seccomp_notif_resp *to)
{
	const struct call *c = calls;

	while (c->nr != n->data.nr)
		c++;
	to->id = n->id;
	to->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (!meant(c, n))
		return;
	for (unsigned i = 0; i < nrules; i++) {
		struct rule *r = &rules[i];
		int64_t did;

		if (!(r->calls >> (c - calls) & 1))
			continue;
		r->seen++;
		if (!(r->every ? r->seen % r->every == 0
			       : r->at && (r->on ? r->seen >= r->at : r->seen == r->at)))
			continue;
		if (r->what == KILL || r->what == STOP) {
			kill(process_of((pid_t)n->pid), r->what == KILL ? SIGKILL : SIGSTOP);
		} else if (r->what != SHORT) {
			to->flags = 0;
			to->error = -r->what;
		} else if (c->how & (READS | WRITES)) {
			did = do_some(c, n, r->seen);
			to->flags = 0;
			to->error = did < 0 ? (int)did : 0;
			to->val = did < 0 ? 0 : did;
		}
		break;
	}
}

static void serve(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	while (poll(&p, 1, -1) > 0 && p.revents & POLLIN) {
		struct seccomp_notif n = { 0 };
		struct seccomp_notif_resp to = { 0 };

		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue; /* it is gone meanwhile */
		answer(&n, &to);
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &to);
	}
}

static void write_counts(const char *path)
{
	FILE *f = fopen(path, "we");

	for (unsigned i = 0; f && i < nrules; i++)
		fprintf(f, "%llu\n", (unsigned long long)rules[i].seen);
	if (!f || fclose(f))
		usage("cannot write the counts");
}

int main(int argc, char **argv)
{
	const char *counts = NULL;
	int sockets[2], listener, status, c;
	pid_t child;

	while ((c = getopt(argc, argv, "+a:o:")) != -1) {
		if (c == 'a')
			only = optarg;
		else if (c == 'o')
			counts = optarg;
		else
			usage("inject [-a PATH] [-o COUNTS] RULE... -- COMMAND...");
	}
	/* getopt has taken a "--" only where it stands first. */
	while (optind < argc && strcmp(argv[optind], "--") && strcmp(argv[optind - 1], "--"))
		add_rule(argv[optind++]);
	if (optind < argc && !strcmp(argv[optind], "--"))
		optind++;
	if (optind >= argc || !nrules ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		usage("which rules, which command?");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		listener = filter();
		if (listener < 0)
			_exit(CANNOT);
		pass(sockets[1], listener);
		fcntl(listener, F_SETFD, FD_CLOEXEC);
		execvp(argv[optind], argv + optind);
		_exit(127);
	}
	close(sockets[1]);
	listener = receive(sockets[0]);
	if (listener >= 0)
		serve(listener);
	if (child < 0 || waitpid(child, &status, 0) != child)
		usage("cannot run it");
	if (counts)
		write_counts(counts);
	if (WIFSIGNALED(status)) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}

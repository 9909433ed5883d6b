/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an untrusted jq filter in a confined child process. The child has the filter and the text
 * from the fork and needs nothing else: its descriptors are closed but for the one it answers on,
 * its environment is empty (jq has $ENV), its limits are set, and where the kernel supports
 * seccomp, calls that do more than compute and write are refused. The filter is compiled only then,
 * since it can name modules to read. The child writes frames: a letter, a length, a text.
 */
#include "lib/filter/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <jq.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/capabilities.h"
#include "lib/base/sanitized.h"
#include "lib/filter/program.h"

#define LOOK_MS	    50
#define MESSAGE_MAX 300 /* bytes of what jq says of an error */
#define FDS_MAX	    65536
#define PATIENCE \
	60 /* times its CPU time, which is what limits it: only one that is stuck is found so */

enum frame { FRAME_RESULT = 'r', FRAME_ERROR = 'e', FRAME_END = '.' };

/* ---- the child ---- */

static void close_from(int fd)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0) == 0)
		return;
#endif
	for (; fd < FDS_MAX; fd++)
		close(fd);
}

static void set_limit(int what, rlim_t most)
{
	const struct rlimit limit = { most, most };

	setrlimit(what, &limit);
}

/* Bytes that the process has mapped already; they do not count against the filter's limit. */
static rlim_t mapped_bytes(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* Memory, time, writing to what is open, and the end; the rest fails with EPERM. */
static void refuse_calls(void)
{
#ifdef ARCH
#define ALLOW(name)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(futex),
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigaction),
		ALLOW(clock_gettime),
		ALLOW(gettimeofday),
		ALLOW(getrandom),
#if SANITIZED
		ALLOW(gettid),
		ALLOW(sigaltstack),
#endif
		ALLOW(exit),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog filter = { sizeof(program) / sizeof(program[0]), program };

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
}

static void confine_process(const struct filter_confined *how)
{
	static char *nothing[] = { NULL };

	close_from(4);
	environ = nothing;
	set_limit(RLIMIT_CORE, 0);
	/* SIGXCPU shows that the limit was hit; SIGKILL, a second later, would not. */
	setrlimit(RLIMIT_CPU, &(struct rlimit){ how->seconds, how->seconds + 1 });
	set_limit(RLIMIT_AS, mapped_bytes() + how->memory_bytes);
	set_limit(RLIMIT_FSIZE, 0);
	set_limit(RLIMIT_NOFILE, 0);
	set_limit(RLIMIT_NPROC, 0);
	(void)capabilities_keep(CAPABILITIES_NONE); /* and no new privileges */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	refuse_calls();
}

static void write_bytes(const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = write(3, at, n);

		if (done <= 0)
			_exit(1);
		at += done;
		n -= (size_t)done;
	}
}

static void write_frame(enum frame what, const char *text, size_t n)
{
	const char letter = (char)what;
	const uint32_t length = (uint32_t)n;

	write_bytes(&letter, 1);
	write_bytes(&length, sizeof(length));
	write_bytes(text, n);
}

static void write_error(const char *text)
{
	const char *newline = strchr(text, '\n');
	size_t n = newline ? (size_t)(newline - text) : strlen(text);

	write_frame(FRAME_ERROR, text, n < MESSAGE_MAX ? n : MESSAGE_MAX);
}

/* Reports the first of jq's messages. */
static void on_error(void *arg, jv message)
{
	bool *said = arg;
	jv text = jq_format_error(message);

	if (jv_get_kind(text) == JV_KIND_STRING && !*said)
		write_error(jv_string_value(text));
	*said = true;
	jv_free(text);
}

static void run_filter(const char *filter, struct bytes json)
{
	jv input = jv_parse_sized(json.p, (int)json.n), result, message;
	jq_state *jq = jq_init();
	bool said = false;

	if (!jq || !jv_is_valid(input)) {
		write_error("there is nothing to filter");
		return;
	}
	jq_set_error_cb(jq, on_error, &said);
	/* There are no further inputs; some versions of jq need an explicit NULL to report that. */
	jq_set_input_cb(jq, NULL, NULL);
	jq_set_debug_cb(jq, NULL, NULL);
	jq_set_attr(jq, jv_string("JQ_LIBRARY_PATH"), jv_array());
	if (!jq_compile(jq, filter_program(filter))) {
		if (!said)
			write_error("jq does not understand it");
		return;
	}
	jq_start(jq, input, 0);
	while (jv_is_valid(result = jq_next(jq))) {
		jv text = jv_dump_string(result, 0);

		write_frame(FRAME_RESULT, jv_string_value(text),
			    (size_t)jv_string_length_bytes(jv_copy(text)));
		jv_free(text);
	}
	message = jv_invalid_get_msg(result);
	if (jv_get_kind(message) == JV_KIND_STRING)
		write_error(jv_string_value(message));
	else if (jv_get_kind(message) != JV_KIND_NULL)
		write_error(jv_string_value(jv_dump_string(message, 0)));
	else
		write_frame(FRAME_END, "", 0);
}

static void run_child(const char *filter, struct bytes json, const struct filter_confined *how,
		      int fd)
{
	sigset_t none;
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Out of the way of 0 to 3, wherever it stands. */
	fd = fcntl(fd, F_DUPFD, 10);
	for (int i = 0; i < 3; i++)
		dup2(nothing, i);
	if (nothing < 0 || dup2(fd, 3) < 0)
		_exit(1);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	/* Not the calling thread's mask: a server's threads block all signals, and the time limit
	 * ends the child by SIGXCPU. */
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	confine_process(how);
	run_filter(filter, json);
	_exit(0);
}

/* ---- the parent ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the other end is closed. */
static int read_all(int fd, const struct filter_confined *how, struct buf *in, struct err *e)
{
	int64_t until = now_ms() + (int64_t)how->seconds * 1000 * PATIENCE;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char block[65536];

	for (;;) {
		int ready = poll(&p, 1, LOOK_MS);
		ssize_t n = ready > 0 ? read(fd, block, sizeof(block)) : -1;

		if (ready > 0 && n == 0)
			return in->failed ? err_nomem(e) : 0;
		if (n > 0)
			buf_add(in, block, (size_t)n);
		if (in->n > how->output_max)
			return err_set(e, ERR_LIMIT, "the jq filter makes more than %llu KiB",
				       (unsigned long long)how->output_max >> 10);
		if (now_ms() > until)
			return err_set(e, ERR_LIMIT, "the jq filter takes longer than %u s",
				       how->seconds);
		if (how->stop && how->stop(how->ctx))
			return err_set(e, ERR_INTERRUPTED, "interrupted");
	}
}

/* Why it died without a message. libjq ends by a signal when it gets no memory, when an assertion
 * of its own fails, and by faults that filters can bring about (1.6: match("";"gx") of text beyond
 * ASCII, the smallest integer % -1, JSON nested a million deep). */
static int explain_death(int status, const struct filter_confined *how, struct err *e)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (signal == SIGXCPU || signal == SIGKILL)
		return err_set(e, ERR_LIMIT, "the jq filter takes longer than %u s", how->seconds);
	if (signal && signal != SIGSYS)
		return err_set(e, ERR_LIMIT,
			       "the jq filter was ended: it takes more than %llu MiB, or the jq "
			       "library crashes on it (%s)",
			       (unsigned long long)how->memory_bytes >> 20, strsignal(signal));
	return err_set(e, ERR_LIMIT,
		       "the jq filter was ended: it takes more than %llu MiB, or wants what it may "
		       "not have",
		       (unsigned long long)how->memory_bytes >> 20);
}

static int unpack_frames(const struct buf *in, int status, const struct filter_confined *how,
			 struct buf *out, struct err *e)
{
	for (size_t at = 0; at + 5 <= in->n;) {
		char what = in->p[at];
		uint32_t n;

		memcpy(&n, in->p + at + 1, sizeof(n));
		at += 5;
		if (n > in->n - at)
			break;
		if (what == FRAME_ERROR)
			return err_set(e, ERR_USAGE, "%s%.*s",
				       n > 4 && !memcmp(in->p + at, "jq: ", 4) ? "" : "jq: ",
				       (int)n, in->p + at);
		if (what == FRAME_END)
			return out->failed ? err_nomem(e) : 0;
		buf_add(out, in->p + at, n);
		buf_putc(out, '\n');
		at += n;
	}
	return explain_death(status, how, e);
}

int filter_confined_jq(const char *filter, struct bytes json, const struct filter_confined *how,
		       struct buf *out, struct err *e)
{
	struct buf in = { 0 };
	sigset_t all, before;
	int fds[2], status = 0, rc;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot evaluate a filter");
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		run_child(filter, json, how, fds[1]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[1]);
	rc = pid < 0 ? err_sys(e, "cannot evaluate a filter") : read_all(fds[0], how, &in, e);
	close(fds[0]);
	if (pid > 0) {
		if (rc)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	rc = rc ? rc : unpack_frames(&in, status, how, out, e);
	buf_free(&in);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that are refused are listed, not those that are allowed: which ones a C library, TLS
 * and a resolver make changes from release to release, and a server must not fail by that. clone3
 * is said not to exist, for its arguments cannot be looked at: C libraries then use clone.
 * Landlock's numbers are those of the kernel's include/uapi/linux/landlock.h, which older systems
 * lack.
 */
#include "lib/host/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/sanitized.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- files and connections ---- */

#define SYS_LANDLOCK_CREATE   444
#define SYS_LANDLOCK_ADD_RULE 445
#define SYS_LANDLOCK_RESTRICT 446
#define LANDLOCK_VERSION      1u
#define RULE_PATH_BENEATH     1

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_REG = 1 << 8,
	FS_ALL_OF_1 = (1 << 13) - 1,
	FS_READ = 1 << 2 | 1 << 3, /* files and folders: not looked at */
	FS_REFER = 1 << 13,	   /* since 2 */
	FS_TRUNCATE = 1 << 14,	   /* since 3 */
	NET_CONNECT_TCP = 1 << 1,  /* since 4 */
	IN_FOLDERS = FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_REFER | FS_TRUNCATE,
};

struct ruleset {
	uint64_t fs, net;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

static void allow_path(int ruleset, const char *path, uint64_t what)
{
	struct path_beneath rule = { what, open(path, O_PATH | O_CLOEXEC) };

	if (rule.parent < 0)
		return;
	syscall(SYS_LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent);
}

static unsigned confine_files(const struct host_confine *c)
{
	long version = syscall(SYS_LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
	struct ruleset handled = { .fs = FS_ALL_OF_1 & ~FS_READ };
	size_t size = version < 4 ? sizeof(handled.fs) : sizeof(handled);
	unsigned done = HOST_CONFINED_FILES;
	int ruleset;

	if (version < 1)
		return 0;
	if (version >= 2)
		handled.fs |= FS_REFER;
	if (version >= 3)
		handled.fs |= FS_TRUNCATE;
	if (version >= 4 && !c->connects) {
		handled.net = NET_CONNECT_TCP;
		done |= HOST_CONFINED_CONNECTIONS;
	}
	ruleset = (int)syscall(SYS_LANDLOCK_CREATE, &handled, size, 0);
	if (ruleset < 0)
		return 0;
	for (size_t i = 0; i < c->nfolders; i++)
		if (c->folders[i])
			allow_path(ruleset, c->folders[i], handled.fs & IN_FOLDERS);
	allow_path(ruleset, "/dev/null", handled.fs & (FS_WRITE_FILE | FS_TRUNCATE));
	if (syscall(SYS_LANDLOCK_RESTRICT, ruleset, 0))
		done = 0;
	close(ruleset);
	return done;
}

/* ---- system calls ---- */

#define REFUSE(name)                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSE_NUMBER(number)                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define CLONE3 435

static unsigned confine_calls(const struct host_confine *c)
{
#ifdef ARCH
	const uint32_t fork = c->children ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM;
	const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
		/* The same calls by other numbers (x32). */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 57 /* fork */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, fork),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 58 /* vfork */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, fork),
		REFUSE(iopl),
		REFUSE(ioperm),
		REFUSE(modify_ldt),
#endif
		REFUSE(execve),
		REFUSE(execveat),
		REFUSE(ptrace),
		REFUSE(process_vm_readv),
		REFUSE(process_vm_writev),
		REFUSE(kcmp),
		REFUSE(mount),
		REFUSE(umount2),
		REFUSE(pivot_root),
		REFUSE(chroot),
		REFUSE(setns),
		REFUSE(unshare),
		REFUSE(bpf),
		REFUSE(perf_event_open),
		REFUSE(userfaultfd),
		REFUSE(init_module),
		REFUSE(finit_module),
		REFUSE(delete_module),
		REFUSE(kexec_load),
		REFUSE(reboot),
		REFUSE(swapon),
		REFUSE(swapoff),
		REFUSE(acct),
		REFUSE(quotactl),
		REFUSE(add_key),
		REFUSE(request_key),
		REFUSE(keyctl),
		REFUSE(personality),
		REFUSE(settimeofday),
		REFUSE(clock_settime),
		REFUSE(clock_adjtime),
		REFUSE(adjtimex),
		REFUSE(sethostname),
		REFUSE(setdomainname),
		REFUSE(setuid),
		REFUSE(setgid),
		REFUSE(setreuid),
		REFUSE(setregid),
		REFUSE(setresuid),
		REFUSE(setresgid),
		REFUSE(setgroups),
		REFUSE(setfsuid),
		REFUSE(setfsgid),
		REFUSE(capset),
		REFUSE(mknodat),
		REFUSE(name_to_handle_at),
		REFUSE(open_by_handle_at),
		/* Numbers alike everywhere: io_uring (which does by itself what is refused here),
		   mounts, other processes' descriptors. */
		REFUSE_NUMBER(425),
		REFUSE_NUMBER(426),
		REFUSE_NUMBER(427),
		REFUSE_NUMBER(428),
		REFUSE_NUMBER(429),
		REFUSE_NUMBER(430),
		REFUSE_NUMBER(431),
		REFUSE_NUMBER(432),
		REFUSE_NUMBER(433),
		REFUSE_NUMBER(438),
		REFUSE_NUMBER(442),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		/* clone: its flags are the first argument; a thread is no process. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, fork),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(program) / sizeof(program[0]),
					   (struct sock_filter *)program };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? 0 : HOST_CONFINED_CALLS;
#else
	return 0;
#endif
}

unsigned host_confine(const struct host_confine *c)
{
	unsigned done;

	if (SANITIZED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 0;
	done = confine_files(c);
	return done | confine_calls(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of system calls against the headers of the kernel: this machine's own numbers, and the
 * generic ones that arm64 has, as far as those headers are here.
 */
#include "lib/event/syscall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* Every "#define __NR_NAME NUMBER" of a header that the table has a name for says the same. */
static void held_to(const char *path, enum syscall_arch arch, unsigned least)
{
	FILE *f = fopen(path, "r");
	unsigned known = 0, wrong = 0;
	char line[256], name[64];
	unsigned number;

	if (!f) {
		tap_line(true, "# SKIP optional: no %s here", path);
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		const char *said;

		if (sscanf(line, "#define __NR_%63s %u", name, &number) != 2 &&
		    sscanf(line, "#define __NR3264_%63s %u", name, &number) != 2)
			continue;
		said = syscall_name(arch, number);
		if (!said || strcmp(name, "syscalls") == 0) /* how many there are */
			continue;
		known++;
		/* The header calls 79 and 80 by older names. */
		if (strcmp(said, name) && !strstr(name, said) && !strstr(said, name)) {
			wrong++;
			printf("# %u is %s, and not %s\n", number, name, said);
		}
	}
	fclose(f);
	is_u64(wrong, 0, "%s: names are the kernel's", path);
	ok(known >= least, "%s: %u of them are there", path, known);
}

int main(void)
{
	is_int(syscall_arch_of(bytes_of("x86_64")), SYSCALL_X86_64, "x86_64");
	is_int(syscall_arch_of(bytes_of("aarch64")), SYSCALL_AARCH64, "aarch64");
	is_int(syscall_arch_of(bytes_of("riscv64")), SYSCALL_UNKNOWN, "another machine");
	is_str(syscall_name(SYSCALL_X86_64, 202), "futex", "futex on x86-64");
	is_str(syscall_name(SYSCALL_AARCH64, 98), "futex", "futex on arm64");
	ok(!syscall_name(SYSCALL_UNKNOWN, 0), "of another machine nothing is known");
	ok(!syscall_name(SYSCALL_X86_64, 100000), "no such call");
	ok(!syscall_name(SYSCALL_X86_64, UINT64_MAX), "no call at all");
	ok(!syscall_name(SYSCALL_AARCH64, UINT16_MAX), "what a machine does not have is not found");
	ok(syscall_sends(44) && syscall_sends(206) && syscall_sends(1) && !syscall_sends(45) &&
		   !syscall_sends(0),
	   "sendto and write send, of both machines, recvfrom and read do not");
	ok(syscall_yields(24) && syscall_yields(124), "sched_yield, of both machines");
	is_str(syscall_name(SYSCALL_X86_64, 24), "sched_yield", "24 on x86-64");
	is_str(syscall_name(SYSCALL_AARCH64, 124), "sched_yield", "124 on arm64");
	ok(!syscall_yields(202) && !syscall_yields(98) && !syscall_yields(UINT64_MAX),
	   "no other does");
	is_str(syscall_name(SYSCALL_X86_64, 73), "flock", "73 on x86-64");
	is_str(syscall_name(SYSCALL_AARCH64, 32), "flock", "32 on arm64");
	ok(syscall_locks(73) && syscall_locks(32) && !syscall_locks(0), "it locks, read does not");
	held_to("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", SYSCALL_X86_64, 50);
	held_to("/usr/include/asm-generic/unistd.h", SYSCALL_AARCH64, 40);
	return tap_done();
}

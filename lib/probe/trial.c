/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of our own to be probed. It is called by nothing else, so that a probe on it disturbs nobody.
 */
#include "lib/probe/trial.h"

#include <stdio.h>

/* Somewhere to put a probe to see whether the kernel takes it, and at what cost: it begins as the functions of NVIDIA's
 * libraries do, with an instruction that the kernel emulates. */
#if defined(__x86_64__)
void probe_trial_site(void) __attribute__((visibility("hidden")));
__asm__(".text\n\t.globl probe_trial_site\n\t.hidden probe_trial_site\n\t.type "
	"probe_trial_site,@function\n"
	"probe_trial_site:\n\tpush %rbp\n\tmov %rsp,%rbp\n\txor %eax,%eax\n\tpop %rbp\n\tret\n"
	"\t.size probe_trial_site, . - probe_trial_site\n");
#else
static __attribute__((noinline)) void probe_trial_site(void)
{
	__asm__ volatile("");
}
#endif

/* File offset of probe_trial_site in our own executable. */
int probe_trial_offset(uint64_t *offset)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t site = (uintptr_t)probe_trial_site;
	unsigned long from, to, at;
	char line[512];
	int found = -1;

	while (f && found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &at) == 3 && site >= from &&
		    site < to) {
			*offset = site - from + at;
			found = 0;
		}
	if (f)
		fclose(f);
	return found;
}

void probe_trial_call(void)
{
	probe_trial_site();
}

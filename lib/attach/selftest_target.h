/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somewhere to put a probe: to see whether a kernel takes it, and what it costs.
 */
#ifndef INGERO_ATTACH_SELFTEST_TARGET_H
#define INGERO_ATTACH_SELFTEST_TARGET_H

#include <limits.h>
#include <stdint.h>

/* The file that code of ours is mapped from, under a path it can be opened by, and where in it.
 * That need not be /proc/self/exe: where a program is started by naming it to its loader, that is
 * the loader. */
struct probe_place {
	char path[PATH_MAX];
	uint64_t offset; /* bytes */
};

/* Of a function of this process; < 0: not found. */
int probe_place_of(void (*code)(void), struct probe_place *p);
/* Of a function to be probed, and of one like it that is never called: whatever is on that one
 * costs the other's calls nothing. */
int selftest_target_place(struct probe_place *p);
int selftest_target_uncalled(struct probe_place *p);
/* Calls the first. */
void selftest_target_call(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses of files by processes, and since when: files are copies of libraries or Python runtimes, by
 * index. Uses of processes that have ended stay until file_users_forget(), because their final
 * records are written late. Invariant: one use per process and file.
 */
#ifndef INGERO_ATTACH_FILE_USERS_H
#define INGERO_ATTACH_FILE_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/decode/ended_processes.h"

struct file_user {
	uint32_t tgid, file;
	uint32_t process; /* of the world, once it has ended: its number may be another's; 0: it has
			     not */
	uint32_t before;  /* index + 1 of another use of the process, 0 none */
	uint64_t gap_ns; /* of a library: age of the process when the probes were there; 0: from its
			    start, nothing was missed */
	bool no_room; /* of a runtime: the kernel side had none for it when it was last looked at:
			 no frames */
};

/* Zero-initialised is empty. */
struct file_users {
	VEC(struct file_user) v;
	struct map newest; /* tgid -> index + 1 of the newest use of the last process with it */
};

/* Index + 1 of the newest use of the process that has the number now, or had it last; 0: none. */
uint32_t file_users_newest(const struct file_users *u, uint32_t tgid);
/* The use of the process that has the number now, added if need be (*is_new). NULL: no memory.
 * Valid until the next addition. */
struct file_user *file_users_of(struct file_users *u, uint32_t tgid, uint32_t file, bool *is_new);
/* The process has ended; process: of the world. */
void file_users_ended(struct file_users *u, uint32_t tgid, uint32_t process);
void file_users_forget(struct file_users *u, const struct gone_processes *gone);
void file_users_free(struct file_users *u);

#endif

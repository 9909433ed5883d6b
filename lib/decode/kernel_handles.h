/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of GPU kernels by handle: functions of modules by name, kernels of libraries, and the host
 * stubs that the runtime launches by. Names come as the process looks them up; a name gets one
 * record, when its handle is first launched, so that the thousands that a library registers cost
 * nothing until they are used. A forked process inherits the names of its parent.
 */
#ifndef INGERO_DECODE_KERNEL_HANDLES_H
#define INGERO_DECODE_KERNEL_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/event/event.h"

#define HANDLES_TEXTS_MAX (64u << 20) /* bytes of names kept; what comes later goes without */

struct kernel_handles;

struct kernel_handles *kernel_handles_new(void); /* NULL: no memory */
void kernel_handles_free(struct kernel_handles *h);

/* Life events of a process, which may come a few milliseconds before or after the names that it
 * gave meanwhile: it was forked from parent (0: its start was not seen), executed another program,
 * or ended, so that its pid may be reused. */
void kernel_handles_born(struct kernel_handles *h, uint32_t tgid, uint32_t parent);
void kernel_handles_executed(struct kernel_handles *h, uint32_t tgid);
void kernel_handles_ended(struct kernel_handles *h, uint32_t tgid);
/* Drops the names of processes that had ended before the last call. Call it about once a second. */
void kernel_handles_forget(struct kernel_handles *h);

/* The process named handle; a later name of the same handle replaces it. False: no memory. */
bool kernel_handles_name(struct kernel_handles *h, uint32_t tgid, uint64_t handle,
			 struct bytes name);

/* The process named handle, but the name could not be read: an earlier name becomes invalid. */
void kernel_handles_unread(struct kernel_handles *h, uint32_t tgid, uint64_t handle);

/* How often there was no room for one. */
uint64_t kernel_handles_roomless(const struct kernel_handles *h);

enum kernel_launch {
	KERNEL_LAUNCH_OTHER,   /* nothing new */
	KERNEL_LAUNCH_NAME,    /* of a handle with a name that has no record yet */
	KERNEL_LAUNCH_UNKNOWN, /* of one that has none, the first time */
	KERNEL_LAUNCH_RENAMED, /* the same, and its name so far does not hold any more */
};
/* A call of the process (number and world id). *handle is what was launched; *name its name:
 * borrowed, until the next call. */
enum kernel_launch kernel_handles_launch(struct kernel_handles *h, uint32_t tgid, uint32_t process,
					 const struct event *ev, const struct op_def *def,
					 uint64_t *handle, struct bytes *name);

/* A name was found elsewhere, for that launch and later ones, until the process gives the handle
 * another one. */
void kernel_handles_found(struct kernel_handles *h, uint32_t tgid, uint32_t process,
			  uint64_t handle, struct bytes name, int64_t since_ns);

/* Another file begins: names have no record in it yet. say is called at once for those launched
 * during the last file, since the latest of these launches may be written to the new file. */
void kernel_handles_again(struct kernel_handles *h,
			  void (*say)(void *ctx, uint32_t process, uint64_t handle,
				      struct bytes name, int64_t since_ns),
			  void *ctx);

#endif

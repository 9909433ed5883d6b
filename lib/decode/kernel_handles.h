/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels are called: functions of modules by name, kernels of libraries, and the host stubs
 * that the runtime launches by. Names come as the process asks for them; a handle is told once,
 * when it is first launched, so that the thousands that a library registers cost nothing until they
 * are used. A process that began as the copy of another knows what that one knew.
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

/* What becomes of a process may be heard of before or after what it said meanwhile, by a few
 * milliseconds: it began as a copy of parent, 0 for one that nobody saw begin; executed another
 * program; ended, so that its number may be another's. */
void kernel_handles_born(struct kernel_handles *h, uint32_t tgid, uint32_t parent);
void kernel_handles_executed(struct kernel_handles *h, uint32_t tgid);
void kernel_handles_ended(struct kernel_handles *h, uint32_t tgid);
/* Lets go of what those knew that had ended before the last call of this: to be called about once a
 * second. */
void kernel_handles_forget(struct kernel_handles *h);

/* The process named handle; a later name of the same handle holds from there on. False: no memory. */
bool kernel_handles_name(struct kernel_handles *h, uint32_t tgid, uint64_t handle,
			 struct bytes name);

/* The process named handle, and how could not be read: an earlier name does not hold from there on.
 */
void kernel_handles_unread(struct kernel_handles *h, uint32_t tgid, uint64_t handle);

/* How often there was no room for one. */
uint64_t kernel_handles_roomless(const struct kernel_handles *h);

enum kernel_launch {
	KERNEL_LAUNCH_OTHER,   /* nothing new */
	KERNEL_LAUNCH_NAME,    /* of a handle that has a name, which is to be told */
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

/* Another file begins: names count as not told yet, but for those launched during the last one, the
 * latest of which may be written to this one: these are told at once, by say. */
void kernel_handles_again(struct kernel_handles *h,
			  void (*say)(void *ctx, uint32_t process, uint64_t handle,
				      struct bytes name, int64_t since_ns),
			  void *ctx);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the other end of pipes that targets wait on, found by their inodes in the lists of
 * descriptors of all processes of the machine: one pass for all that are wanted, at most a fiftieth
 * of the time. Only links are read: nothing is asked of what they point to.
 */
#ifndef INGERO_RECORD_PIPE_HOLDERS_H
#define INGERO_RECORD_PIPE_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

#define RECORD_PIPE_HOLDERS 4 /* that are named */

struct record_pipe_holder {
	uint32_t tgid;
	char comm[64];
};

struct record_pipe_wait {
	uint64_t inode;
	uint32_t tgid, fd; /* of the waiting process */
	uint32_t process;  /* the same in the world */
	bool writes;	   /* it waits for readers, else for writers */
	uint32_t holders;  /* processes with the other end open, including tgid */
	struct record_pipe_holder holder[RECORD_PIPE_HOLDERS]; /* the first of them */
	bool unseen; /* the descriptors of some processes are not readable */
};

/* Zero-initialised knows none. */
struct pipe_holders {
	struct map told; /* inode and direction, in this file of the recording */
	VEC(struct record_pipe_wait) wanted;
	int64_t next_ns; /* not before */
};

/* A thread of tgid waits on this descriptor: if that is a pipe, its other end is wanted, once;
 * again: told or not. */
void pipe_holders_want(struct pipe_holders *p, uint32_t tgid, uint32_t process, uint32_t fd,
		       bool writes, bool again);

/* Whether it is time for a pass. now_ns: CLOCK_MONOTONIC. */
bool pipe_holders_due(const struct pipe_holders *p, int64_t now_ns);

/* Looks for all that are wanted: fn is called once for each, and none are wanted then. */
typedef void record_pipe_fn(void *ctx, const struct record_pipe_wait *w);
void pipe_holders_find(struct pipe_holders *p, int64_t now_ns, record_pipe_fn *fn, void *ctx);

/* A new file of the recording begins: pipes are reported again when a thread waits on them. */
void pipe_holders_again(struct pipe_holders *p);
void pipe_holders_free(struct pipe_holders *p);

#endif

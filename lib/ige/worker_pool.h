/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of work that other threads take while who asked goes on: columns to be packed or unpacked,
 * which depend on nothing that anybody changes meanwhile. What comes out is the same as without
 * them: who needs a piece that nobody began does it itself.
 */
#ifndef INGERO_IGE_WORKER_POOL_H
#define INGERO_IGE_WORKER_POOL_H

#include "lib/ige/block.h"

/* A piece of work, the caller's from the asking to the awaiting; zero-initialised it is nobody's.
 * run works on what it is part of. */
struct ige_task {
	void (*run)(struct ige_task *task);
	struct ige_task *next;
	enum { IGE_TASK_OURS, IGE_TASK_ASKED, IGE_TASK_BEGUN } state;
};

/* As many threads as this process has processors, up to a few; they start when they are first
 * needed. NULL: out of memory. All calls of one team are from one thread. */
struct ige_worker_pool *ige_worker_pool_new(void);
/* No task is asked of it any more that was not awaited. */
void ige_worker_pool_free(struct ige_worker_pool *t);

#define IGE_WORKER_POOL_ROWS \
	4096 /* in a block: below that others take as long to come as the work does */

/* Whether somebody else would do it, for so many rows; t NULL: nobody. */
bool ige_worker_pool_helps(struct ige_worker_pool *t, size_t rows);
/* To be done by the time it is awaited. */
void ige_worker_pool_ask(struct ige_worker_pool *t, struct ige_task *task);
/* It is done, or was never asked for. Meanwhile this thread works along. */
void ige_worker_pool_await(struct ige_worker_pool *t, struct ige_task *task);

struct ige_integers {
	uint16_t id;
	const uint64_t *v;
	size_t n;
};

#define IGE_WORKER_POOL_COLUMNS 8 /* at a time, at most */

/* As ige_builder_integers with each of them in turn; t NULL: by this thread alone. */
void ige_worker_pool_integers(struct ige_worker_pool *t, struct ige_builder *b,
			      const struct ige_integers *columns, unsigned n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stacks.c, which resolves stacks, stacks_names.c, which names frames, and stacks_bytes.c,
 * which reads memory, know of processes and their files. Nobody else includes this.
 */
#ifndef INGERO_ATTACH_STACKS_INTERNAL_H
#define INGERO_ATTACH_STACKS_INTERNAL_H

#include <pthread.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/attach/file_ranges.h"
#include "lib/attach/stacks.h"
#include "lib/symbols/registered.h"
#include "lib/symbols/symbols.h"

struct range {
	uint64_t start, end, offset;
	uint32_t module; /* index + 1 */
};

struct module {
	uint32_t id; /* world, 0: not used by a frame yet */
	uint32_t major, minor;
	uint64_t inode;
	int fd;
	char *path;
	const struct sym_python_loop *loops; /* of the Python runtime that this is */
	unsigned nloops;
	struct sym_symbols *names; /* naming thread's; NULL when not read yet, or not readable */
	struct sym_registered *kernels; /* the same, of kernels that it registers */
	bool named, registered;
};

struct process_maps {
	uint32_t tgid;
	uint32_t ended;		  /* in that round, 0: it has not */
	bool stale;		  /* the first mapping of a new picture ends the one before */
	VEC(struct range) ranges; /* of code */
	struct file_ranges files;
	int64_t executed_ns; /* this program since then */
	int64_t changed_ns;  /* what the next picture shows is so since then; 0: not known */
	int64_t removed_ns;  /* something was unmapped then, which the picture has still; 0: nothing
				was */
};

struct question {
	uint32_t frame; /* 0: of a kernel */
	struct probe_stub stub;
	struct module *module;
	uint64_t offset;
};

struct answer {
	uint32_t frame;
	struct probe_stub stub;
	char *name, *file; /* file: NULL, its line is not known */
	uint64_t delta;
	uint32_t line;
};

struct probe_stacks {
	struct world *world;
	struct probe_unwinds *unwinds; /* NULL: there are no lists */
	VEC(struct process_maps *) processes;
	uint32_t round; /* of forgetting, from 1 on */
	struct map by_tgid;
	VEC(struct module *) modules;
	struct map asked; /* frames a name was asked for */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(struct question) fresh; /* not handed over yet: no other thread's */
	VEC(struct question) questions;
	VEC(struct answer) answers;
	size_t outstanding;
	bool finish;
};

/* The naming thread; arg: struct probe_stacks. */
void *probe_stacks_name_loop(void *arg);
void probe_stacks_free_answer(struct answer *a);

/* NULL: nothing is known of it. */
struct process_maps *probe_stacks_maps_of(const struct probe_stacks *s, uint32_t tgid);
/* The file's, NULL: none of its code was met. */
struct module *probe_stacks_module_of(const struct probe_stacks *s, const struct file_range *r);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file lies where, by each list of mappings (unwind_lists.h): a stack that was walked by a
 * list is read later, when another file may lie at its addresses. A list that has gone is known for
 * UNWIND_FILES_NS more. One thread puts lists in, others ask.
 */
#ifndef INGERO_ATTACH_UNWIND_FILES_H
#define INGERO_ATTACH_UNWIND_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/maps.h"

#define UNWIND_FILES_NS \
	5000000000ll /* a record is read from the ring within a second, on a busy machine too */
#define UNWIND_FILES_BYTES \
	(16u << 20) /* more than that, and those that have gone are known for less long */

struct unwind_file_range {
	uint64_t start, end, offset;
	uint32_t file; /* number of a file */
};

struct unwind_file_list {
	uint32_t generation, n;
	int64_t gone_ns;	     /* 0: it is there */
	struct unwind_file_range *v; /* n, ascending */
};

struct unwind_files {
	pthread_mutex_t lock;
	VEC(struct host_mapping)
	files; /* each file once, with a path of its own; addresses and offset are of no meaning */
	struct map by_name; /* hash -> number */
	VEC(struct unwind_file_list) lists;
	struct map by_generation; /* -> position */
	size_t gone_bytes;
};

void unwind_files_init(struct unwind_files *f);
void unwind_files_free(struct unwind_files *f);

/* The mapping as a range. False: no memory. */
bool unwind_files_range(struct unwind_files *f, const struct host_mapping *m,
			struct unwind_file_range *out);
/* A list of that generation is there from now on; v is copied. Without memory it is not. */
void unwind_files_put(struct unwind_files *f, uint32_t generation,
		      const struct unwind_file_range *v, uint32_t n);
/* It has gone, at that time (CLOCK_MONOTONIC). */
void unwind_files_gone(struct unwind_files *f, uint32_t generation, int64_t now_ns);
/* Those that went long ago are not known any more. */
void unwind_files_forget(struct unwind_files *f, int64_t now_ns);

/* What lay at the address by that list; out's path is borrowed for as long as f lives. False:
 * nothing did, or the list is not known. */
bool unwind_files_find(struct unwind_files *f, uint32_t generation, uint64_t address,
		       struct host_mapping *out);
/* Whether both lists have the same file there, at the same place. */
bool unwind_files_agree(struct unwind_files *f, uint32_t a, uint32_t b, uint64_t address);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that processes run code of, each with its unwind table in the kernel's memory: built
 * when the file is met first, for all processes, and dropped when nobody maps the file any more and
 * the memory is wanted. A file is known by device, inode, size and time of change.
 */
#ifndef INGERO_ATTACH_UNWIND_MODULES_H
#define INGERO_ATTACH_UNWIND_MODULES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind_rule.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/maps.h"
#include "lib/attach/session.h"
#include "lib/attach/unwind_room.h"
#include "lib/attach/unwinds.h"

struct unwind_segment {
	uint64_t offset, address, size;
};

struct unwind_module {
	uint32_t major, minor;
	uint64_t inode; /* 0: the kernel's own library, whose bytes make changed_ns */
	int64_t size, changed_ns;
	bool known;		   /* false: the number is free */
	bool is_code;		   /* an ELF file; else what a process wrote for itself */
	uint32_t serial;	   /* no other module ever has it */
	uint32_t users;		   /* mappings in lists */
	uint32_t round;		   /* of the look that met it last */
	size_t bytes;		   /* its table takes; 0: there is none */
	struct unwind_place place; /* of its table */
	size_t wanted;		   /* its table would take, had there been memory */
	VEC(struct unwind_segment) segments;
};

struct unwind_modules {
	struct unwind_room room;
	struct probe_unwind_maps *maps; /* borrowed */
	struct unwind_rules *rules;
	unsigned nrules;	     /* that the kernel side has */
	uint64_t memory;	     /* that tables may take */
	VEC(struct unwind_module) v; /* by number less 1 */
	struct map by_key;	     /* -> number */
	uint32_t serial, round;
	size_t nfree; /* numbers */
	struct probe_unwinds_sum sum;
	pthread_mutex_t *lock; /* borrowed: over refusals, which another thread reads */
	VEC(struct probe_unwinds_refusal) refusals;
};

/* False: no memory for it. */
bool unwind_modules_init(struct unwind_modules *m, struct probe_session *session);
void unwind_modules_free(struct unwind_modules *m);

/* The module that this mapping of the process is of, into what out says of its code. False: no
 * memory. */
bool unwind_modules_find(struct unwind_modules *m, uint32_t tgid, const struct host_mapping *h,
			 struct unwind_mapping *out);
/* A list with this mapping is there, or is not any more. */
void unwind_modules_use(struct unwind_modules *m, const struct unwind_mapping *of, int users);

#endif

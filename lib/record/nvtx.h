/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what threads said by NVTX to marks: ranges, where both ends were seen, and points. A range
 * pushed is its thread's, one that was started is the thread's that started it, whoever ends it.
 */
#ifndef INGERO_RECORD_NVTX_H
#define INGERO_RECORD_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/decode/ended_processes.h"
#include "lib/record/marks.h"
#include "lib/decode/wire_known.h"
#include "lib/world/world.h"

#define NVTX_OPEN  4096	 /* ranges at a time, of all processes; beyond it the oldest is given up */
#define NVTX_NAMES 65536 /* texts registered at a time, of all processes */

struct nvtx_open {
	uint64_t key; /* domain of a push, id of a start */
	int64_t start_ns;
	uint32_t ctx, process; /* of the world */
	uint32_t thread;       /* the same: what is current of it changes its ctx */
	uint32_t name;	       /* string of the world */
	uint32_t level;	       /* 0: started, not pushed */
	bool vague;	       /* one of several of the same id: which has ended is not known */
	bool left;	       /* its thread, or its process, has ended */
};

/* Zero-initialised is empty. */
struct record_nvtx {
	VEC(struct nvtx_open) open; /* oldest first */
	struct map
		registered; /* hash of process and handle -> process << 32 | string of the world */
	uint64_t names, nameless; /* registered so far; of these, more than there is room for */
	uint64_t ranges, points;  /* recorded */
	uint64_t unmatched;	  /* ends without a beginning */
	uint64_t endless;	  /* begun again at the same place, or left open by who has ended */
	uint64_t vague;		  /* ranges that could be any of several */
	uint64_t over;		  /* given up: too many at a time, too many names */
};

/* One record of n bytes, NVTX_HEAD + NVTX_SHORT at least. words: whose texts are said. False: not
 * understood. */
bool record_nvtx_take(struct record_nvtx *v, struct record_marks *words, struct world *world,
		      const struct decode_thread *t, const struct wire_nvtx *w, size_t n,
		      const struct record_marks_owner *to);
/* The thread, or the process, has ended (of the world; 0 neither): what it has open makes room
 * where that is wanted. Ends that come out of the ring only now are still taken. */
void record_nvtx_ended(struct record_nvtx *v, uint32_t thread, uint32_t process);
/* Lets go of what these processes registered. */
void record_nvtx_gone(struct record_nvtx *v, const struct gone_processes *gone);
void record_nvtx_free(struct record_nvtx *v);

#endif

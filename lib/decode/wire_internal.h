/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private state of the decoders, shared by wire_known.c, which adds to it, and wire_ended.c, which
 * drops the state of ended threads and processes. No other file includes this.
 */
#ifndef INGERO_DECODE_WIRE_INTERNAL_H
#define INGERO_DECODE_WIRE_INTERNAL_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/decode/cuda_devices.h"
#include "lib/decode/cpu_masks.h"
#include "lib/decode/wire_known.h"

/* A thread that has ended, in that round. */
struct wire_over {
	uint32_t tid, execs, round;
	uint64_t start_ns;
};

struct wire_decoder {
	struct world *world;
	uint32_t node;
	struct wire_decoder_owner owner;
	VEC(struct decode_thread) threads; /* one per number that was announced; tgid 0: free */
	VEC(uint32_t) unused;		   /* of these places */
	VEC(struct wire_over) over;	   /* in the order of rounds */
	uint32_t round;			   /* of forgetting */
	struct map by_tid;		   /* -> its place */
	struct map stacks;		/* number -> tgid << 40 | python_flag << 32 | world stack */
	VEC(struct wire_python) frames; /* of stacks that are yet to come */
	struct map pythons;		/* tgid of processes that were seen to run Python */
	struct decode_shares shares;
	struct decode_unowned unowned;
	struct map images;	/* tgid << 32 | execs -> image, of the process it was asked for */
	struct map image_start; /* the same key -> start of that process: numbers are reused */
	struct map delivered;	/* process << 10 | copy -> calls */
	uint64_t last_key, last_count; /* most calls come in runs of one key */
	struct kernel_handles *handles;
	struct map cgroups; /* kernel id -> world id, of those that are no targets */
	struct kernel_id_names numbers;
	struct cpu_masks allowed;
	uint32_t file;		      /* of the recording, counted from 0 */
	struct cuda_devices *devices; /* NULL: not followed */
	uint32_t lost_seen;
	bool lost_known;
	uint64_t refused;
	struct decode_name_counts names, texts;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU health into the recording: what lib/host/gpus.h reads, as SAMPLE records of GPUs and of the
 * processes on them, with a NAME record for processes that are not recorded otherwise. Without
 * NVIDIA's management library a recording has none but the errors in the kernel log, and the
 * recorder says so where there is an NVIDIA driver.
 */
#ifndef INGERO_RECORD_GPU_SAMPLES_H
#define INGERO_RECORD_GPU_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/host/gpus.h"
#include "lib/host/pods.h"
#include "lib/host/xid.h"
#include "lib/ige/writer.h"
#include "lib/record/deadband_filter.h"
#include "lib/record/xids.h"
#include "lib/world/world.h"

struct record_gpus {
	struct host_gpus *gpus; /* NULL: not wanted, or not to be had */
	struct world *world;
	uint32_t node;
	uint32_t (*process)(void *ctx, uint32_t tgid); /* world id */
	void *ctx;
	struct map named; /* world process -> 1 */
	int64_t start_ns;
	struct host_xid_log kernel_log;
	struct err log_error; /* why it cannot be read */
	struct record_xids xids;
	const struct host_pods *given; /* the owner's: what containers were given */
	struct deadband *thin;	       /* the owner's; set before the first readings are taken */
	struct ige_writer *writer;
	struct err *e;
	int rc;
	VEC(struct host_gpu) known; /* those that were read */
	bool ready;
	unsigned count;
	char text[200]; /* driver version, or why there are none */
};

/* Zeroed before. Failing to start is no error: text then says why. */
void record_gpus_init(struct record_gpus *g, struct world *w, uint32_t node,
		      uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx);
void record_gpus_free(struct record_gpus *g);

/* Errors in the kernel log since the last call; they wait there until it is known which GPUs there
 * are. */
int record_gpus_say_xids(struct record_gpus *g, struct ige_writer *wr, bool at_end, struct err *e);
/* COVERAGE of those errors, by who told of them; nothing where there is no NVIDIA GPU. */
int record_gpus_say_coverage(const struct record_gpus *g, struct ige_writer *wr, int64_t now_ns,
			     struct err *e);

/* What was read since the last call. */
int record_gpus_say(struct record_gpus *g, struct ige_writer *wr, struct err *e);

/* Whether all GPUs there are have been read, or none will be. */
bool record_gpus_settled(const struct record_gpus *g);

/* World gpu of a process's device; uuid: the 16 bytes of it, NULL unknown: then the process's
 * environment says which it is. 0: not known; *later: it may be, once the GPUs have been read. */
uint32_t record_gpus_device(struct record_gpus *g, uint32_t tgid, uint32_t ordinal,
			    const uint8_t *uuid, bool *later);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder says about the recording itself: node, session, clock, coverage, loss. Each
 * function puts records into the writer; none keeps state but the loss counters' last values.
 */
#ifndef INGERO_RECORD_METADATA_RECORDS_H
#define INGERO_RECORD_METADATA_RECORDS_H

#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/err.h"
#include "lib/host/kubelet.h"
#include "lib/host/node.h"
#include "lib/ige/writer.h"
#include "lib/attach/library_instances.h"
#include "lib/attach/unwinds.h"
#include "lib/decode/wire.h"
#include "lib/world/stack_ends.h"
#include "lib/world/world.h"

/* This machine between two boots. name: NULL for the host name. */
struct record_node {
	struct host_node host;
	uint32_t id; /* world */
};
void record_node_read(struct record_node *node, struct world *w, const char *name);

int metadata_write_node(struct ige_writer *wr, const struct record_node *node, struct err *e);
int metadata_write_session(struct ige_writer *wr, int64_t start_ns, const char *tool,
			   const char *command, const char *target, bool off_cpu, uint32_t cpu_hz,
			   uint64_t hung_ns, struct err *e);
int metadata_write_clock(struct ige_writer *wr, const char *source, struct err *e);

/* Where the process of world w belongs; nothing when nothing is known, or it has ended. given: the
 * kubelet's list of containers, may be empty. */
int metadata_write_place(struct ige_writer *wr, const struct world *w, int64_t time_ns,
			 uint32_t tgid, uint32_t process, const struct host_pods *given,
			 struct err *e);

/* COVERAGE of the list of containers with GPUs; nothing where there is no kubelet. */
int metadata_write_pods(struct ige_writer *wr, const struct host_kubelet *k, int64_t time_ns,
			struct err *e);

/* What a process launches is called, from that time on. */
int metadata_write_kernel(struct ige_writer *wr, uint32_t process, uint64_t handle,
			  struct bytes name, int64_t since_ns, struct err *e);
/* What a process that nobody announced is called; nothing when it is gone. */
int metadata_write_name(struct ige_writer *wr, struct world *w, int64_t time_ns, uint32_t tgid,
			uint32_t process, struct err *e);

/* One record per process and copy, and one if none of them is for NVTX. world ids of processes come
 * from the decoder's threads by tgid. gone: of these processes only, and nothing else; NULL: of
 * all. */
int metadata_write_coverage(struct ige_writer *wr, const struct library_instances *copies,
			    const struct wire_decoder *wire, const struct gone_processes *gone,
			    uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx,
			    struct err *e);

/* How far stacks reach: one record for all, one per module and reason for which some end before
 * main. */
int metadata_write_stack_ends(struct ige_writer *wr, const struct world *w,
			      const struct stack_ends *s, struct err *e);
/* What unwind tables cost, and one record for each file that has none. Nothing where there are none
 * (u may be NULL). */
int metadata_write_unwinds(struct ige_writer *wr, struct probe_unwinds *u, struct err *e);

/* COVERAGE, of the whole recording: of so many things that events are said by, so many are lost.
 * layer: as event/missing.h has it. */
int metadata_write_missing(struct ige_writer *wr, const char *layer, uint64_t lost, uint64_t of,
			   const char *reason, struct err *e);

/* COVERAGE, of the whole recording: of so many names, so many were read by the recorder, where a
 * probe could not. */
int metadata_write_late(struct ige_writer *wr, const char *layer, uint64_t late, uint64_t of,
			struct err *e);

/* One record per process and Python runtime: attached 1 when its frames are in stacks, else why
 * not. gone: as above. */
int metadata_write_pythons(struct ige_writer *wr, const struct probe_pythons *pythons,
			   const struct gone_processes *gone,
			   uint32_t (*process)(void *ctx, uint32_t tgid), void *ctx, struct err *e);

/* What was lost since the last call: the difference of now and *before, which becomes now. */
int metadata_write_losses(struct ige_writer *wr, const struct loss_slot *now,
			  struct loss_slot *before, int64_t since_ns, int64_t until_ns,
			  uint64_t *events, struct err *e);
int metadata_write_loss(struct ige_writer *wr, uint32_t reason, uint64_t count, int64_t since_ns,
			int64_t until_ns, struct err *e);

#endif

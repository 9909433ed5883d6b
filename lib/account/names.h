/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What things are called in findings: processes, culprits, call sites. Text only, appended to a
 * buffer; never an id of the world, which means nothing outside this run.
 */
#ifndef INGERO_ACCOUNT_NAMES_H
#define INGERO_ACCOUNT_NAMES_H

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/jsonw.h"
#include "lib/account/thread_ledger.h"
#include "lib/attrib/culprit.h"
#include "lib/world/world.h"

/* What people call a process now ("python3 train.py", "VLLM::EngineCore"), as in
 * world_process_name; "?" when unknown. */
struct bytes name_process(const struct world *w, const struct tally *t, uint32_t process);
/* The kernel's name of what it executes, as it was at first: for identities, which a later name
 * must not change. */
struct bytes name_process_first(const struct world *w, const struct tally *t, uint32_t process);
struct bytes name_cmdline(const struct world *w, const struct tally *t,
			  uint32_t process); /* {NULL, 0} unknown */

/* "train (pid 4801)", and " on gpu-host-1" where several machines were recorded; "This machine"
 * without a process. */
void name_victim(struct buf *out, const struct world *w, const struct tally *t, uint32_t process);

/* Members of an object: "pid", "node" and "comm". */
void name_process_keys(struct jsonw *j, const struct world *w, const struct tally *t,
		       uint32_t process);

/* What a thread calls itself now; {NULL, 0} unknown. Valid until it changes. */
struct bytes name_thread(const struct world *w, const struct tally *t, uint32_t thread);

/* With who exactly: "train (pid 4801)" of a first thread, "loader (tid 4822 of pid 4801)" of
 * another. */
void name_thread_full(struct buf *out, const struct world *w, const struct tally *t,
		      uint32_t thread);

/* Command of a culprit without pids: "hog", "8:0", "/user.slice/job" */
void name_culprit(struct buf *out, const struct world *w, const struct tally *t,
		  const struct line_culprit *c);

/* The same with who exactly: "hog (pid 1234)", "train (pid 100, tid 101, 102)", "cc1 (57 processes:
 * pid 812, 813, ...)", "disk 8:0" */
void name_culprit_full(struct buf *out, const struct world *w, const struct tally *t,
		       const struct line_culprit *c);

/* The frame that makes the call, by the rule of lib/world/call_site.h. 0 when there is no stack. */
uint32_t name_site_frame(const struct world *w, uint32_t stack);

/* Whether that frame is Python. */
bool name_python(const struct world *w, uint32_t stack);

/* Whether it is of a library that drives devices: CUDA's, NCCL. */
bool name_of_device(const struct world *w, uint32_t frame);

/* Whether it is of a library that launches kernels of its own, often through a runtime of its own:
 * cuBLAS, NCCL. */
bool name_of_kernels(const struct world *w, uint32_t frame);

/* "train_step (train.py:41)", "launch+0x1c (libfoo.so)", "train+0x11e9" */
void name_frame(struct buf *out, const struct world *w, uint32_t frame);

/* The function further out that belongs to the same chain of lines, " < backward_pass"; nothing
 * when there is none with a name. */
void name_site_caller(struct buf *out, const struct world *w, uint32_t stack);

/* "8:0" from a device number. */
void name_device(struct buf *out, uint64_t device);

/* A file of that cgroup, as a word of a shell: "/sys/fs/cgroup/job/cpu.max", of version 1
 * "/sys/fs/cgroup/cpu/job/cpu.shares". */
void name_cgroup_file(struct buf *out, struct bytes path, const char *file);

/* Whether a cgroup's path ("cpu:/job", "memory:/job") is one of version 1. */
bool name_cgroup_v1(struct bytes path);
/* Whether it is the root of a hierarchy, which has no quota: that of a thread whose quota is set in
 * another hierarchy (version 1), or that was moved since. */
bool name_cgroup_is_root(struct bytes path);

/* "cudaLaunchKernel", "between CUDA calls" (op 0) or "op 0x1234". */
void name_op(struct buf *out, const struct world *w, uint16_t op);

/* How a process ended, from its status as wait(2) gives it: "with exit code 1", "killed by signal 9
 * (SIGKILL)". */
void name_end(struct buf *out, uint64_t status);

/* key and text; the buffer is empty afterwards, for the next name. */
void name_key(struct jsonw *j, const char *key, struct buf *text);

#endif

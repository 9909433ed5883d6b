/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps that stacks are unwound by (bpf/unwind.h), as the recorder fills them: rules, tables of
 * modules, and per process its mappings. May be called from a thread beside the session's.
 */
#ifndef INGERO_ATTACH_SESSION_UNWIND_H
#define INGERO_ATTACH_SESSION_UNWIND_H

#include "bpf/unwind_rule.h"
#include "lib/attach/session.h"
#include "lib/symbols/unwind_table.h"

struct probe_unwind_maps {
	struct unwind_process *processes; /* by slot, shared with the kernel; NULL: this session
					     walks by frame pointers */
	uint64_t *rules;		  /* by number, shared with the kernel */
};

/* false: this kernel has not taken them. */
bool probe_session_unwind_open(struct probe_session *s, struct probe_unwind_maps *out);
void probe_session_unwind_close(struct probe_unwind_maps *m);

enum probe_unwind_kind {
	PROBE_UNWIND_LISTS,
	PROBE_UNWIND_TABLES,
};
/* Memory of n entries, shared with the kernel side under this number. NULL: none to be had. */
void *probe_session_unwind_chunk(struct probe_session *s, enum probe_unwind_kind kind,
				 uint32_t number, uint32_t n, size_t each);
void probe_session_unwind_chunk_gone(struct probe_session *s, enum probe_unwind_kind kind,
				     uint32_t number, void *memory, size_t bytes);

/* The slot of that process, which the kernel side may have given it. False: it has none. */
bool probe_session_unwind_slot(struct probe_session *s, uint32_t tgid, uint32_t *slot);
/* A free slot. False: there is none. */
bool probe_session_unwind_take(struct probe_session *s, uint32_t *slot);
void probe_session_unwind_give(struct probe_session *s, uint32_t slot);
/* From here on what the process maps is watched, and its stacks are walked by its slot. False: it
 * has one by now. */
bool probe_session_unwind_enter(struct probe_session *s, uint32_t tgid, uint32_t slot);
void probe_session_unwind_leave(struct probe_session *s, uint32_t tgid);

/* So far, of all CPUs. */
struct unwind_counts probe_session_unwind_counts(const struct probe_session *s);

#endif

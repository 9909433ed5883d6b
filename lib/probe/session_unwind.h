/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps that stacks are unwound by (bpf/unwind.h), as the recorder fills them: rules, tables of modules, and per process its
 * mappings. May be called from a thread beside the session's.
 */
#ifndef INGERO_PROBE_SESSION_UNWIND_H
#define INGERO_PROBE_SESSION_UNWIND_H

#include "bpf/unwind_rule.h"
#include "lib/probe/session.h"
#include "lib/sym/unwind_table.h"

struct probe_unwind_maps {
	struct unwind_process *
		processes; /* by slot, shared with the kernel; NULL: this session walks by frame pointers */
	uint64_t *rules; /* by number, shared with the kernel */
};

/* false: this kernel has not taken them. */
bool probe_session_unwind_open(struct probe_session *s, struct probe_unwind_maps *out);
void probe_session_unwind_close(struct probe_unwind_maps *m);

/* The table under this number, or none any more: NULL. Bytes of memory it takes there, 0: no memory for it. */
size_t probe_session_unwind_table(struct probe_session *s, uint32_t module,
				  const struct unwind_table *t);
/* The list of the process in that slot, sorted by address, at once. list: n entries behind the first, which says n. Bytes, 0: no
 * memory for it. */
size_t probe_session_unwind_list(struct probe_session *s, uint32_t slot,
				 const struct unwind_mapping *list, uint32_t n);
/* The process's stacks are unwound from here on, or not any more. False: there is no room. */
bool probe_session_unwind_slot(struct probe_session *s, uint32_t tgid, uint32_t slot, bool on);

/* So far, of all CPUs. */
struct unwind_counts probe_session_unwind_counts(const struct probe_session *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to frames. In the drain loop an address only becomes (module, file offset), by a search
 * in the maps taken while the process lived; names are looked up by a thread beside it, once per
 * distinct frame, and come back when they are ready.
 */
#ifndef INGERO_ATTACH_STACKS_H
#define INGERO_ATTACH_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/err.h"
#include "lib/host/maps.h"
#include "lib/attach/interleave.h"
#include "lib/attach/unwinds.h"
#include "lib/symbols/python.h"
#include "lib/world/world.h"

struct probe_stacks;

int probe_stacks_new(struct probe_stacks **out, struct world *w, struct err *e);
void probe_stacks_free(struct probe_stacks *s);
/* Stacks that were walked by a list of mappings are looked up in it. Borrowed; may be NULL. */
void probe_stacks_by_lists(struct probe_stacks *s, struct probe_unwinds *unwinds);

/* A new picture of the process's maps: begin, every mapping. One without a mapping is of a process
 * that has ended: the one before holds on. */
void probe_stacks_maps_begin(struct probe_stacks *s, uint32_t tgid);
void probe_stacks_maps_add(struct probe_stacks *s, uint32_t tgid, const struct host_mapping *m);
/* The loader changed what is mapped at that time (CLOCK_MONOTONIC), by removing something or not:
 * the next picture holds since the first such time. */
void probe_stacks_changed(struct probe_stacks *s, uint32_t tgid, int64_t time_ns, bool removed);
/* What was mapped is not any more from that time on: it is another program. */
void probe_stacks_executed(struct probe_stacks *s, uint32_t tgid, int64_t time_ns);
/* A child starts with its parent's maps, until its own are read. False: nothing is known of the
 * parent's. */
bool probe_stacks_inherit(struct probe_stacks *s, uint32_t parent, uint32_t child);
/* The process has ended; its stacks may come later than that. */
void probe_stacks_ended(struct probe_stacks *s, uint32_t tgid);
/* Lets go of the maps of processes that had ended before the last call of this: to be called about
 * once a second. */
void probe_stacks_forget(struct probe_stacks *s);

/* C frames in these parts of that file execute Python. Borrowed for as long as s lives. */
void probe_stacks_loops(struct probe_stacks *s, const struct host_mapping *m,
			const struct sym_python_loop *loops, unsigned n);

/* World stack of its addresses, with Python frames where they belong; 0 only without memory.
 * python_missing: why frames beyond the last of python are missing, NULL when none are. */
uint32_t probe_stacks_resolve(struct probe_stacks *s, const struct wire_stack *stack,
			      const struct probe_part *python, unsigned npython,
			      const char *python_missing);

/* Up to n bytes of what lay at the address of the process at that time (CLOCK_MONOTONIC), from its
 * memory, or from the file that was mapped there where that is not any more. How many there were;
 * 0: it cannot be read. */
size_t probe_stacks_bytes(const struct probe_stacks *s, uint32_t tgid, uint64_t address,
			  int64_t time_ns, void *out, size_t n);

/* A descriptor, yours, of the file of the module with this path and build-id; -1: it could not be
 * opened. */
int probe_stacks_file(const struct probe_stacks *s, const char *path, const char *build_id);

/* A kernel that is launched by the address of its host function, of which nobody told the name. */
struct probe_stub {
	uint32_t tgid, process; /* of the world */
	uint64_t handle;
	int64_t since_ns; /* of its first launch */
};
typedef void probe_stub_fn(void *ctx, const struct probe_stub *stub, struct bytes name);

/* Looks for the name of the function there, if it is code of a file; probe_stacks_collect brings
 * it. */
void probe_stacks_stub(struct probe_stacks *s, const struct probe_stub *stub);

/* Puts finished names into the world, those of kernels to fn. wait: until none is outstanding. */
void probe_stacks_collect(struct probe_stacks *s, bool wait, probe_stub_fn *fn, void *ctx);

#endif

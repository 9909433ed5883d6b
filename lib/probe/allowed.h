/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which CPUs threads may run, as ALLOWED records: of a process what its first thread is allowed, of a thread
 * when that is something else, so that a process of two thousand threads takes one record. Told again where
 * another file begins.
 */
#ifndef INGERO_PROBE_ALLOWED_H
#define INGERO_PROBE_ALLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/probe/ended.h"
#include "lib/world/world.h"

struct probe_allowed_row {
	uint32_t process, thread; /* of the world; thread 0: of all that have no row of their own */
	uint64_t cpus[WIRE_ALLOWED_WORDS];
};

/* Zero-initialised knows none. */
struct probe_allowed {
	VEC(struct probe_allowed_row) rows;
	struct map by; /* thread << 32 | process, of which one is 0 -> its row */
	struct buf text;
};

typedef void probe_allowed_fn(void *ctx, struct record *r);

/* A thread of a process, both of the world, may run on these CPUs, w->words of them. Calls fn with a borrowed record
 * if that was not known. */
void probe_allowed_take(struct probe_allowed *a, const struct wire_allowed *w, uint32_t process,
			uint32_t thread, probe_allowed_fn *fn, void *ctx);

/* All that is known, as of that time. */
void probe_allowed_again(struct probe_allowed *a, int64_t time_ns, probe_allowed_fn *fn, void *ctx);

void probe_allowed_gone(struct probe_allowed *a, const struct probe_gone *gone);
void probe_allowed_free(struct probe_allowed *a);

/* Appends the numbers of the bits that are set, as the kernel lists CPUs: "0-3,8". */
void probe_allowed_list(const uint64_t *words, unsigned n, struct buf *out);

#endif

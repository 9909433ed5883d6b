/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which CPUs threads may run, as ALLOWED records: of a process what its first thread is allowed,
 * of a thread when that is something else, so that a process of two thousand threads takes one
 * record. Told again where another file begins.
 */
#ifndef INGERO_DECODE_CPU_MASKS_H
#define INGERO_DECODE_CPU_MASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/decode/ended_processes.h"
#include "lib/world/world.h"

struct cpu_masks_row {
	uint32_t process, thread; /* of the world; thread 0: of all that have no row of their own */
	uint64_t cpus[WIRE_ALLOWED_WORDS];
};

/* Zero-initialised knows none. */
struct cpu_masks {
	VEC(struct cpu_masks_row) rows;
	struct map by; /* thread << 32 | process, of which one is 0 -> its row */
	struct buf text;
};

typedef void cpu_masks_fn(void *ctx, struct record *r);

/* A thread of a process, both of the world, may run on these CPUs, w->words of them. Calls fn with
 * a borrowed record if that was not known. */
void cpu_masks_take(struct cpu_masks *a, const struct wire_allowed *w, uint32_t process,
		    uint32_t thread, cpu_masks_fn *fn, void *ctx);

/* All that is known, as of that time. */
void cpu_masks_again(struct cpu_masks *a, int64_t time_ns, cpu_masks_fn *fn, void *ctx);

void cpu_masks_gone(struct cpu_masks *a, const struct gone_processes *gone);
void cpu_masks_free(struct cpu_masks *a);

/* Appends the numbers of the bits that are set, as the kernel lists CPUs: "0-3,8". */
void cpu_masks_list(const uint64_t *words, unsigned n, struct buf *out);

#endif

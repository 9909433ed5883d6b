/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels are launched, by each launching call: a function of the GPU is known by its handle, which means something
 * in its process only, and by its name, which the recording tells beside the events. Rows of one name are one kernel,
 * whoever launches it. Memory is bounded by the number of kernels.
 */
#ifndef INGERO_ASK_KERNELS_H
#define INGERO_ASK_KERNELS_H

#include <stdbool.h>

#include "lib/ask/covered.h"
#include "lib/event/event.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct ask_kernels;

/* w must outlive it. NULL: out of memory. */
struct ask_kernels *ask_kernels_new(struct world *w);
void ask_kernels_free(struct ask_kernels *k);

/* What was recorded of the time, by which counts are estimated; it must outlive k. */
void ask_kernels_covers(struct ask_kernels *k, const struct covered *c);

/* A launch of this process (world id); what launches no function is passed over. Names may come later. False: out of
 * memory. */
bool ask_kernels_event(struct ask_kernels *k, const struct event *ev, const struct op_def *op,
		       uint32_t process);
bool ask_kernels_record(struct ask_kernels *k, const struct record *rec);

/* By op, most time first; names are demangled. Appended to *rows. False: out of memory. */
bool ask_kernels_rows(const struct ask_kernels *k, struct ops_kernels *rows);

#endif

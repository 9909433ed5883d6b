/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels are launched, by each launching call: a function of the GPU is known by its handle,
 * which means something in its process only, and by its name, which the recording tells beside the
 * events. Rows of one name are one kernel, whoever launches it. Memory is bounded by the number of
 * kernels.
 */
#ifndef INGERO_QUERY_KERNELS_H
#define INGERO_QUERY_KERNELS_H

#include <stdbool.h>

#include "lib/query/coverage.h"
#include "lib/event/event.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct query_kernels;

/* w must outlive it. NULL: out of memory. */
struct query_kernels *query_kernels_new(struct world *w);
void query_kernels_free(struct query_kernels *k);

/* What was recorded of the time, by which counts are estimated; it must outlive k. */
void query_kernels_set_coverage(struct query_kernels *k, const struct coverage *c);

/* A launch of this process (world id); what launches no function is passed over. Names may come
 * later. False: out of memory. */
bool query_kernels_event(struct query_kernels *k, const struct event *ev, const struct op_def *op,
			 uint32_t process);
bool query_kernels_record(struct query_kernels *k, const struct record *rec);

/* By op, most time first; names are demangled. Appended to *rows. False: out of memory. */
bool query_kernels_rows(const struct query_kernels *k, struct ops_kernels *rows);

#endif

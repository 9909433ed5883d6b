/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of --by step: one for each loop whose iterations are steps, with what was counted in
 * them. What a step is is known only when the next one begins, and of the first ones later: what is
 * counted is held until then, so many events at most.
 */
#ifndef INGERO_QUERY_BY_STEPS_H
#define INGERO_QUERY_BY_STEPS_H

#include "lib/base/err.h"
#include "lib/event/groups.h"
#include "lib/event/event.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

/* 48 bytes each. Of more, those before are counted in the steps that are known. */
#define BY_STEPS_HELD 262144

struct by_steps;

/* w must outlive it. NULL: out of memory. */
struct by_steps *by_steps_new(struct world *w);
void by_steps_free(struct by_steps *b);

/* Every item of the stream. */
int by_steps_item(struct by_steps *b, const struct stream_item *item, struct err *e);
/* As query_by_event and query_by_add_time (query/group_by.h). */
bool by_steps_event(struct by_steps *b, const struct event *ev, const struct op_def *op,
		    uint32_t process, uint64_t self_ns);
bool by_steps_time(struct by_steps *b, const struct event *ev, const struct op_def *op,
		   uint32_t process, uint64_t self_ns, uint64_t lost_ns);
bool by_steps_finish(struct by_steps *b);
/* Replaces the table's rows by those so far. False: out of memory. */
bool by_steps_rows(struct by_steps *b, struct by_table *table);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring: whoever asks looks back a short time.
 */
#include "lib/account/killed.h"

#define SIGNAL 0x7f /* of a status: which ended it */

uint32_t cause_exited(const struct world *w, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(w, ctx->thread) : NULL;
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;

	return p && p->tgid == t->tid ? t->process : 0;
}

void cause_killed_event(struct cause_killed *k, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	uint32_t process = cause_exited(w, ev);
	uint64_t status = 0;

	if (op && process && event_get(ev, op, COL_STATUS, &status) && status & SIGNAL)
		k->v[k->n++ % CAUSE_KILLED] =
			(struct cause_killed_one){ process, ev->end_ns, status };
}

const struct cause_killed_one *cause_killed_child(const struct cause_killed *k,
						  const struct world *w, uint32_t process,
						  int64_t from_ns, int64_t to_ns)
{
	const struct world_process *parent = world_get_process(w, process), *p;

	for (uint64_t i = 1; parent && i <= k->n && i <= CAUSE_KILLED; i++) {
		const struct cause_killed_one *one = &k->v[(k->n - i) % CAUSE_KILLED];

		p = world_get_process(w, one->process);
		if (p && p->node == parent->node && p->parent == parent->tgid &&
		    one->time_ns >= from_ns && one->time_ns <= to_ns)
			return one;
	}
	return NULL;
}

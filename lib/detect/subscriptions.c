/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the detectors that subscribe to each op, computed once per op, so that other events cost
 * one look.
 */
#include "lib/account/watch.h"

#include <stdlib.h>

#include "lib/detect/watches.h"
#include "lib/account/analysis_state.h"

static const struct watch_def *const defs[] = {
	/* clang-format off */
	&watch_copy_bound,
	&watch_alloc_churn,
	&watch_gpu_oom,
	&watch_gpu_leak,
	&watch_kv_pressure,
	&watch_managed_thrash,
	&watch_model_load,
	&watch_errors,
	&watch_graph_recapture,
	&watch_graph_capture_failed,
	&watch_graph_launch_late,
	&watch_collective_straggler,
	&watch_clock_skew, /* after what it is learned from */
	&watch_call_hung,
	&watch_hang, /* after those of which the call is known */
	&watch_oom_kill,
	&watch_throttle,
	&watch_device_fault,
	&watch_net_loss,
	&watch_gpu_work,
	&watch_periodic_spike,
	&watch_cold_start,
	&watch_throughput_drop,
	NULL, /* ends the table */
	/* clang-format on */
};

bool watches_start(struct watches *w)
{
	for (unsigned i = 0; defs[i]; i++) {
		w->state[i] = calloc(1, defs[i]->size ? defs[i]->size : 1);
		if (!w->state[i])
			return false;
	}
	w->ears = calloc(1 << 16, sizeof(*w->ears));
	return w->ears != NULL;
}

void watches_free(struct watches *w)
{
	for (unsigned i = 0; defs[i]; i++) {
		if (w->state[i] && defs[i]->free)
			defs[i]->free(w->state[i]);
		free(w->state[i]);
	}
	free(w->ears);
	vec_free(&w->made);
	vec_free(&w->lists);
}

static watch_hear *get_listener(const struct watch_def *d, const struct op_def *op, unsigned want)
{
	watch_hear *own = want == WATCH_OFFCPU	? d->offcpu
			  : !op			? NULL
			  : want == WATCH_OUTER ? d->outer
						: d->inner;

	return own ? own : d->piece;
}

#define SPARED (WATCH_BEGINNING | WATCH_COUNTDOWN)

/* Of those who want it: who may be spared just that. False: out of memory. */
static bool list_make(struct watches *w, const struct op_def *op, unsigned want, unsigned spared,
		      struct watch_list *list)
{
	list->from = (uint32_t)w->lists.n;
	for (unsigned i = 0; defs[i]; i++) {
		const struct watch_def *d = defs[i];
		unsigned wants = d->wants ? d->wants(op) : 0;
		struct watch_ear ear = { get_listener(d, op, want), w->state[i] };

		if (!(wants & want) || (wants & SPARED) != spared ||
		    (wants & WATCH_ASLEEP && !(w->awake >> i & 1)))
			continue;
		if (!vec_push(&w->lists, ear))
			return false;
	}
	list->n = (uint32_t)w->lists.n - list->from;
	return true;
}

/* Lists of when fewer were awake are left behind: few ever wake. */
const struct watch_ears *watches_ears_made(struct cause *c, uint16_t op)
{
	const struct op_def *def = op ? world_op(c->w, op) : NULL;
	struct watches *w = &c->watches;
	struct watch_ears *ears = &w->ears[op];

	if (!vec_push(&w->made, op) || !list_make(w, def, WATCH_OUTER, 0, &ears->outer) ||
	    !list_make(w, def, WATCH_OUTER, WATCH_BEGINNING, &ears->beginning) ||
	    !list_make(w, def, WATCH_OUTER, WATCH_COUNTDOWN, &ears->countdown) ||
	    !list_make(w, def, WATCH_INNER, 0, &ears->inner) ||
	    !list_make(w, def, WATCH_OFFCPU, 0, &ears->offcpu))
		return NULL;
	ears->event = 0;
	for (unsigned i = 0; defs[i]; i++)
		ears->event |= (defs[i]->wants && defs[i]->wants(def) & WATCH_EVENT ? 1u : 0) << i;
	ears->memory = def && live_wants(def);
	ears->graph = def && graphs_want(def);
	ears->deaf = def && def->flags & OP_CALL && !ears->event && !ears->memory && !ears->graph;
	ears->made = true;
	return ears;
}

bool watches_event(struct cause *c, const struct event *ev)
{
	const struct watch_ears *ears = watches_ears_of(&c->watches, c, ev->op);
	bool well = ears != NULL;

	if (well && ears->memory)
		well = live_event(c->live, ev, world_op(c->w, ev->op));
	if (well && ears->graph)
		well = graphs_event(c->graphs, ev, world_op(c->w, ev->op));
	for (uint32_t m = well ? ears->event : 0; m && well; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		well = defs[i]->event(c->watches.state[i], c, ev, world_op(c->w, ev->op));
	}
	return well;
}

/* Calls that function of every watch that has it, until one fails. */
#define CALL_ALL(c, what, ...)                                                              \
	for (unsigned i_ = 0; defs[i_]; i_++)                                               \
		if (defs[i_]->what && !defs[i_]->what((c)->watches.state[i_], __VA_ARGS__)) \
			return false;                                                       \
	return true

bool watches_memory(void *cause, const struct live_told *t)
{
	struct cause *c = cause;

	CALL_ALL(c, memory, c, t);
}

bool watches_graph(void *cause, const struct graph_told *t)
{
	struct cause *c = cause;

	CALL_ALL(c, graph, c, t);
}

bool watches_record(struct cause *c, const struct record *r)
{
	CALL_ALL(c, record, c, r);
}

bool watches_end(struct cause *c)
{
	CALL_ALL(c, ends, c);
}

bool watches_forget(struct cause *c, uint32_t process)
{
	CALL_ALL(c, forget, c, process);
}

int watches_settle(struct cause *c, int64_t pane, struct err *e)
{
	int64_t before_ns = pane == INT64_MAX ? pane : pane * TALLY_PANE_NS;
	int rc = live_settle(c->live, before_ns) && graphs_settle(c->graphs, before_ns)
			 ? 0
			 : err_nomem(e);

	for (unsigned i = 0; defs[i] && rc == 0; i++) {
		if (defs[i]->settle)
			rc = defs[i]->settle(c->watches.state[i], c, pane, e);
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the detectors that subscribe to each op, computed once per op, so that other events cost
 * one look.
 */
#include "lib/account/detector.h"

#include <stdlib.h>

#include "lib/detect/detect_internal.h"
#include "lib/account/analysis_state.h"
#include "lib/account/tolls.h"

static const struct detector *const defs[] = {
#define DETECTOR(name) &detector_##name,
	DETECTORS(DETECTOR)
#undef DETECTOR
		NULL /* ends the table */
};

/* The k-th tolls of detector i. NULL: it has no more. */
static struct tolls *tolls_of(const struct detectors *w, unsigned i, unsigned k)
{
	return k < DETECTOR_TOLLS && defs[i]->tolls[k] ? (struct tolls *)w->state[i] + k : NULL;
}

bool detectors_start(struct detectors *w)
{
	for (unsigned i = 0; defs[i]; i++) {
		struct tolls *t;

		w->state[i] = calloc(1, defs[i]->size ? defs[i]->size : 1);
		if (!w->state[i])
			return false;
		for (unsigned k = 0; (t = tolls_of(w, i, k)); k++)
			*t = (struct tolls){ .def = defs[i]->tolls[k], .state = w->state[i] };
	}
	w->ops = calloc(1 << 16, sizeof(*w->ops));
	return w->ops != NULL;
}

void detectors_free(struct detectors *w)
{
	for (unsigned i = 0; defs[i] && w->state[i]; i++) {
		struct tolls *t;

		if (defs[i]->free)
			defs[i]->free(w->state[i]);
		for (unsigned k = 0; (t = tolls_of(w, i, k)); k++)
			tolls_free(t);
		free(w->state[i]);
	}
	free(w->ops);
	vec_free(&w->made);
	vec_free(&w->lists);
}

static detector_on_span *get_listener(const struct detector *d, const struct op_def *op,
				      unsigned want)
{
	detector_on_span *own = want == SUBSCRIBE_OFFCPU  ? d->on_offcpu
				: !op			  ? NULL
				: want == SUBSCRIBE_CALLS ? d->on_call
							  : d->on_inner_call;

	return own ? own : d->on_span;
}

#define SPARED (SUBSCRIBE_STARTUP_ONLY | SUBSCRIBE_AT_NTH_LAUNCH)

/* Of those who want it: who may be spared just that. False: out of memory. */
static bool list_make(struct detectors *w, const struct op_def *op, unsigned want, unsigned spared,
		      struct subscriber_list *list)
{
	list->from = (uint32_t)w->lists.n;
	for (unsigned i = 0; defs[i]; i++) {
		const struct detector *d = defs[i];
		unsigned wants = d->subscribe_op ? d->subscribe_op(op) : 0;
		struct subscriber own = { get_listener(d, op, want), w->state[i] };

		if (!(wants & want) || (wants & SPARED) != spared ||
		    (wants & SUBSCRIBE_LAZY && !(w->awake >> i & 1)))
			continue;
		if (!vec_push(&w->lists, own))
			return false;
	}
	list->n = (uint32_t)w->lists.n - list->from;
	return true;
}

/* Lists of when fewer were awake are left behind: few ever wake. */
const struct op_subscribers *detectors_subscribers_made(struct cause *c, uint16_t op)
{
	const struct op_def *def = op ? world_op(c->w, op) : NULL;
	struct detectors *w = &c->detectors;
	struct op_subscribers *to = &w->ops[op];

	if (!vec_push(&w->made, op) || !list_make(w, def, SUBSCRIBE_CALLS, 0, &to->outer) ||
	    !list_make(w, def, SUBSCRIBE_CALLS, SUBSCRIBE_STARTUP_ONLY, &to->beginning) ||
	    !list_make(w, def, SUBSCRIBE_CALLS, SUBSCRIBE_AT_NTH_LAUNCH, &to->countdown) ||
	    !list_make(w, def, SUBSCRIBE_INNER_CALLS, 0, &to->inner) ||
	    !list_make(w, def, SUBSCRIBE_OFFCPU, 0, &to->offcpu))
		return NULL;
	to->event = 0;
	for (unsigned i = 0; defs[i]; i++) {
		bool wants = defs[i]->subscribe_op && defs[i]->subscribe_op(def) & SUBSCRIBE_EVENTS;

		to->event |= (uint32_t)wants << i;
	}
	to->memory = def && live_wants(def);
	to->graph = def && graphs_want(def);
	to->no_event = def && def->flags & OP_CALL && !to->event && !to->memory && !to->graph;
	to->made = true;
	return to;
}

bool detectors_event(struct cause *c, const struct event *ev)
{
	const struct op_subscribers *to = detectors_subscribers_of(&c->detectors, c, ev->op);
	bool well = to != NULL;

	if (well && to->memory)
		well = live_event(c->live, ev, world_op(c->w, ev->op));
	if (well && to->graph)
		well = graphs_event(c->graphs, ev, world_op(c->w, ev->op));
	for (uint32_t m = well ? to->event : 0; m && well; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		well = defs[i]->on_event(c->detectors.state[i], c, ev, world_op(c->w, ev->op));
	}
	return well;
}

/* Calls that function of every detector that has it, until one fails. */
#define CALL_ALL(c, what, ...)                                                                \
	for (unsigned i_ = 0; defs[i_]; i_++)                                                 \
		if (defs[i_]->what && !defs[i_]->what((c)->detectors.state[i_], __VA_ARGS__)) \
			return false;                                                         \
	return true

bool detectors_memory(void *cause, const struct live_told *t)
{
	struct cause *c = cause;

	CALL_ALL(c, on_memory, c, t);
}

bool detectors_graph(void *cause, const struct graph_told *t)
{
	struct cause *c = cause;

	CALL_ALL(c, on_graph, c, t);
}

bool detectors_record(struct cause *c, const struct record *r)
{
	CALL_ALL(c, on_record, c, r);
}

bool detectors_end(struct cause *c)
{
	CALL_ALL(c, on_end, c);
}

bool detectors_forget_process(struct cause *c, uint32_t process)
{
	struct detectors *w = &c->detectors;

	for (unsigned i = 0; defs[i]; i++) {
		struct tolls *t;

		if (defs[i]->forget_process && !defs[i]->forget_process(w->state[i], c, process))
			return false;
		for (unsigned k = 0; (t = tolls_of(w, i, k)); k++)
			if (!tolls_forget(t, process))
				return false;
	}
	return true;
}

int detectors_flush_window(struct cause *c, int64_t pane, struct err *e)
{
	int64_t before_ns = pane == INT64_MAX ? pane : pane * TALLY_PANE_NS;
	int rc = live_settle(c->live, before_ns) && graphs_settle(c->graphs, before_ns)
			 ? 0
			 : err_nomem(e);

	for (unsigned i = 0; defs[i] && rc == 0; i++) {
		struct tolls *t;

		if (defs[i]->flush_window)
			rc = defs[i]->flush_window(c->detectors.state[i], c, pane, e);
		for (unsigned k = 0; rc == 0 && (t = tolls_of(&c->detectors, i, k)); k++)
			rc = tolls_settle(t, c, pane, e);
	}
	return rc;
}

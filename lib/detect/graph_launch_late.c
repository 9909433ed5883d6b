/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-launch-late: launching a CUDA graph takes far longer in itself than it usually does for
 * that process: the device's queue is full, the same executable graph still runs from the launch
 * before, or it was not uploaded. Time that the host took from the call (a CPU, a lock) belongs to
 * other kinds and is not counted here. A first launch is not late: it uploads the graph.
 */
#include "lib/detect/detect_internal.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/fmt.h"
#include "lib/account/names.h"
#include "lib/account/tolls.h"

#define LATE_TIMES   5	    /* what is usual */
#define LATE_NS	     100000 /* and at least so long */
#define KNOWN_AFTER  30	    /* launches; before that nothing is usual */
#define LOOKED_EVERY 64

struct launches {
	struct toll_row row;
	struct hist own; /* what calls took in themselves, first launches left out */
	uint64_t usual_ns;
	uint64_t unfinished; /* of the toll: launched again with no wait for the device since */
};

struct state {
	struct tolls tolls;
	VEC(int64_t) waited_ns; /* by world process: end of its last wait for the device */
	/* process and handle -> end of its last launch */
	struct map last_ns;
};

#define SEEN_MAX 65536

static unsigned subscribe_op(const struct op_def *op)
{
	if (!op)
		return 0;
	return op->id == OP_CUDA_GRAPH_LAUNCH || op->id == OP_CU_GRAPH_LAUNCH || op->flags & OP_SYNC
		       ? SUBSCRIBE_CALLS
		       : 0;
}

static bool add_launch(struct state *s, const struct cause *c, const struct line_piece *p)
{
	struct launches *k = tolls_row(&s->tolls, p->process, 0, NULL);
	uint64_t handle = 0, key, before, own;
	bool first;

	event_get(p->ev, p->op, COL_EXEC, &handle);
	key = hash_u64(handle ^ hash_u64(p->process));
	first = !map_get(&s->last_ns, key, &before);
	if (first &&
	    s->last_ns.n >= SEEN_MAX) /* forget all: their next launches count as first ones */
		map_clear(&s->last_ns);
	if (!k || !map_put(&s->last_ns, key, (uint64_t)p->end_ns))
		return false;
	if (first || !p->sound || p->open || p->ev->ret != 0)
		return true;
	own = line_own_ns(p, 0);
	hist_add(&k->own, own);
	if (k->own.n < KNOWN_AFTER)
		return true;
	if (k->own.n == KNOWN_AFTER || k->own.n % LOOKED_EVERY == 0)
		k->usual_ns = hist_quantile(&k->own, 0.25);
	if (own < LATE_NS || own < LATE_TIMES * k->usual_ns)
		return true;
	k->unfinished +=
		s->waited_ns.v[p->process] < (int64_t)before &&
		!cause_paused(c, p->process, 1u << TIER_WAITS, (int64_t)before, p->start_ns);
	return tolls_add(c, &s->tolls, &k->row, p->thread, p->ev, own - k->usual_ns);
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;

	while (s->waited_ns.n <= p->process) {
		if (!vec_push(&s->waited_ns, INT64_MIN))
			return false;
	}
	if (!(p->op->flags & OP_SYNC))
		return add_launch(s, c, p);
	s->waited_ns.v[p->process] = p->end_ns;
	return true;
}

static bool is_due(const struct cause *c, const struct toll_row *r, int64_t pane, double *share)
{
	const struct launches *k = (const struct launches *)r;

	/* Where most launches are long the device has more than enough to do. */
	return (r->toll.count * 10 <= k->own.n * 3 || r->toll.told.revision) &&
	       toll_due(c, &r->toll, pane, share);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct launches *k = (struct launches *)r;
	bool unfinished = 2 * k->unfinished > r->toll.count;

	f->upper_bound = true; /* the device may have had work meanwhile */
	fact_lost(f, c, " was held up launching CUDA graphs for ");
	buf_printf(&f->summary, ", usually %s each, in %s", fmt_ns(k->usual_ns).s, f->culprit.text);
	if (unfinished)
		buf_puts(&f->summary, "; mostly launched again before anybody waited");
	fact_evidence(f, "launches", (double)k->own.n, "");
	fact_evidence(f, "a launch usually takes", (double)k->usual_ns, "ns");
	fact_evidence(f, "late ones launched again what nobody had waited for",
		      (double)k->unfinished, "");
	if (unfinished)
		fact_fix_code(
			f,
			"Launch another instance of the graph, or wait where there is other work",
			"cudaGraphInstantiate(&second, graph, 0); /* and take turns */", 0,
			r->toll.ns,
			"from nothing, if the device has work all the time anyway, to all of it");
	else
		fact_fix_code(
			f, "Upload the graph before it is needed, and let fewer launches queue up",
			"cudaGraphUpload(exec, stream)", 0, r->toll.ns,
			"from nothing, if the device has work all the time anyway, to all of it");
}

static const struct tolls_def late = { .kind = "graph-launch-late",
				       .counted = "launches",
				       .row = sizeof(struct launches),
				       .due = is_due,
				       .blamed = "its own launches",
				       .tell = fill_finding };

static void free_state(void *state)
{
	struct state *s = state;

	vec_free(&s->waited_ns);
	map_free(&s->last_ns);
}

const struct detector detector_graph_launch_late = { .size = sizeof(struct state),
						     .tolls = { &late },
						     .subscribe_op = subscribe_op,
						     .on_span = on_call,
						     .free = free_state };

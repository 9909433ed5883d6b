/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects facts about a recording (coverage, losses, metrics) from its records. Samples of a
 * process, a cgroup, a GPU, a device or one CPU are not the node's and are passed over.
 */
#include "lib/query/ops_internal.h"

#include <stdlib.h>

#include "lib/base/hash.h"

#define LAYERS_MAX   65536  /* libraries of all processes; more are left out */
#define METRICS_MAX  262144 /* of all machines */
#define MACHINES_MAX 4096   /* of more it is not known what they have */

static uint32_t text_of(struct world *w, struct bytes text)
{
	return text.n ? world_string(w, text) : 0;
}

/* Among the keys of metrics, which are below it. */
static uint64_t layer_key(const struct world *w, const struct ops_layer *l)
{
	bool ends = bytes_equal(world_text(w, l->layer), bytes_of("stacks"));
	/* A module can have stacks that end in it for several reasons. */
	const uint32_t what[] = { l->process, l->node, l->layer, l->path, ends ? l->reason : 0 };

	return hash_bytes(what, sizeof(what), 0) | UINT64_C(1) << 63;
}

/* Each file of a recording repeats the record: the last one counts. */
static bool add_layer(struct ops_summary *a, struct map *by, struct world *w,
		      const struct record *rec)
{
	const struct rec_COVERAGE *c = &rec->u.COVERAGE;
	struct ops_layer new = { .process = c->process,
				 .node = c->node,
				 .layer = text_of(w, c->layer),
				 .path = text_of(w, c->path),
				 .reason = text_of(w, c->reason),
				 .link = text_of(w, c->link),
				 .requested = c->requested,
				 .attached = c->attached,
				 .failed = c->failed,
				 .gap_ns = c->gap_ns,
				 .delivered = c->delivered,
				 .bytes = c->bytes,
				 .build_ns = c->build_ns,
				 .searched = c->searched };
	uint64_t at;

	if (map_get(by, layer_key(w, &new), &at)) {
		a->layers.v[at] = new;
		return true;
	}
	return a->layers.n >= LAYERS_MAX ||
	       (vec_push(&a->layers, new) && map_put(by, layer_key(w, &new), a->layers.n - 1));
}

static uint64_t metric_key(uint16_t metric, uint32_t node)
{
	return (uint64_t)metric << 32 | node;
}

/* NULL with *nomem: out of memory, NULL without: there are too many. */
static struct ops_metric *metric_of(struct ops_summary *a, struct map *by, uint16_t metric,
				    uint32_t node, bool *nomem)
{
	uint64_t key = metric_key(metric, node), at;

	if (map_get(by, key, &at))
		return &a->metrics.v[at];
	if (a->metrics.n >= METRICS_MAX)
		return NULL;
	*nomem = !vec_push(&a->metrics, (struct ops_metric){ .metric = metric, .node = node }) ||
		 !map_put(by, key, a->metrics.n - 1);
	return *nomem ? NULL : &a->metrics.v[a->metrics.n - 1];
}

static bool add_sample(struct ops_summary *a, struct map *by, const struct record *rec)
{
	const struct rec_SAMPLE *s = &rec->u.SAMPLE;
	struct ops_metric *m;
	bool nomem = false;

	if (s->metric > UINT16_MAX || !metric_builtin((uint16_t)s->metric) ||
	    REC_HAS(rec, SAMPLE, process) || REC_HAS(rec, SAMPLE, cgroup) ||
	    REC_HAS(rec, SAMPLE, gpu) || REC_HAS(rec, SAMPLE, cpu) || REC_HAS(rec, SAMPLE, device))
		return true;
	m = metric_of(a, by, (uint16_t)s->metric, REC_HAS(rec, SAMPLE, node) ? s->node : 0, &nomem);
	if (!m)
		return !nomem;
	if (m->n++ == 0)
		m->first = m->last = m->max = s->value;
	m->grew += s->value > m->last ? s->value - m->last : 0;
	m->last = s->value;
	m->sum += s->value;
	m->max = s->value > m->max ? s->value : m->max;
	return true;
}

static bool add_machine(struct ops_summary *a, const struct record *rec)
{
	const struct rec_NODE *n = &rec->u.NODE;
	struct ops_machine new = {
		REC_HAS(rec, NODE, node) ? n->node : 0,
		REC_HAS(rec, NODE, cpus) ? n->cpus : 0,
		REC_HAS(rec, NODE, memory_bytes) ? n->memory_bytes : 0,
	};

	for (size_t i = 0; i < a->machines.n; i++) {
		if (a->machines.v[i].node == new.node) {
			a->machines.v[i] = new;
			return true;
		}
	}
	return a->machines.n >= MACHINES_MAX || vec_push(&a->machines, new);
}

static bool add_folded(struct ops_summary *a, const struct world *w, const struct rec_FOLDED *f)
{
	const struct op_def *op = f->op <= UINT16_MAX ? world_op(w, (uint16_t)f->op) : NULL;

	for (size_t i = 0; i < a->folded.n; i++) {
		if (a->folded.v[i].op == op) {
			a->folded.v[i].calls += f->calls;
			return true;
		}
	}
	return !op || !f->calls || vec_push(&a->folded, (struct ops_folded){ op, f->calls });
}

bool ops_facts_add_record(struct ops_summary *a, struct map *metrics, struct world *w,
			  const struct record *rec)
{
	switch (rec->kind) {
	case RECORD_CLOCK:
		if (record_tells_time(rec)) {
			a->real_minus_mono_ns = rec->u.CLOCK.real_ns - rec->u.CLOCK.mono_ns;
			a->has_real = true;
		}
		break;
	case RECORD_NODE:
		a->hostname = text_of(w, rec->u.NODE.hostname);
		a->kernel = text_of(w, rec->u.NODE.kernel);
		return add_machine(a, rec);
	case RECORD_SESSION:
		if (!REC_HAS(rec, SESSION, cpu_samples_hz))
			break;
		a->cpu_hz_differs |= a->cpu_hz && a->cpu_hz != rec->u.SESSION.cpu_samples_hz;
		a->cpu_hz = a->cpu_hz_differs ? 0 : rec->u.SESSION.cpu_samples_hz;
		break;
	case RECORD_UNCOVERED:
		return uncovered_record(&a->uncovered, rec);
	case RECORD_COVERAGE:
		return add_layer(a, metrics, w, rec) && uncovered_record(&a->uncovered, rec);
	case RECORD_COST:
		a->stops += rec->u.COST.stops;
		a->stopped_ns += rec->u.COST.stopped_ns;
		if (REC_HAS(rec, COST, calls_ns)) {
			a->cost_ns += rec->u.COST.calls_ns +
				      (REC_HAS(rec, COST, host_ns) ? rec->u.COST.host_ns : 0);
			a->cost_over_ns += (uint64_t)(rec->u.COST.until_ns - rec->u.COST.since_ns);
		}
		break;
	case RECORD_FOLDED:
		return add_folded(a, w, &rec->u.FOLDED);
	case RECORD_SAMPLED:
		if (bytes_equal(rec->u.SAMPLED.reason, bytes_of("budget")))
			a->given_up += rec->u.SAMPLED.left_out;
		else if (bytes_equal(rec->u.SAMPLED.reason, bytes_of("not kept")))
			a->not_kept += rec->u.SAMPLED.left_out;
		else
			a->sampled_out += rec->u.SAMPLED.left_out;
		break;
	case RECORD_SAMPLE:
		return add_sample(a, metrics, rec);
	default:
		break;
	}
	return true;
}

static int by_metric_and_node(const void *a, const void *b)
{
	const struct ops_metric *x = a, *y = b;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

bool ops_facts_sort(struct ops_summary *a, struct map *metrics)
{
	bool whole = true;

	if (a->metrics.n)
		qsort(a->metrics.v, a->metrics.n, sizeof(*a->metrics.v), by_metric_and_node);
	for (size_t i = 0; i < a->metrics.n && whole; i++)
		whole = map_put(metrics, metric_key(a->metrics.v[i].metric, a->metrics.v[i].node),
				i);
	return whole;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Machines have few GPUs: those of a row are looked for one after the other. */
#include "lib/query/ops_internal.h"

#include "lib/query/exact.h"

struct ops_counter *ops_counters_find(struct ops_counters *c, const struct op_def *op)
{
	uint64_t at;

	if (map_get(&c->by, op->id, &at))
		return &c->v.v[at];
	at = c->v.n;
	if (!vec_push(&c->v, (struct ops_counter){ .row.op = op }) || !map_put(&c->by, op->id, at))
		return NULL;
	return &c->v.v[at];
}

bool ops_counter_add(struct ops_counter *c, struct exact *x, uint64_t dur_ns)
{
	c->row.count++;
	if (!sketch_add(&c->durations, dur_ns))
		return false;
	if (!x)
		return true;
	c->exact = c->exact ? c->exact : exact_op(x, c->row.op->id);
	return c->exact && exact_count(x, c->exact, dur_ns);
}

void ops_counter_add_gpu(struct ops_counter *c, uint32_t gpu, const struct event *ev)
{
	struct ops_device *d = c->row.devices;
	unsigned i = 0;

	while (i < c->row.ndevices && d[i].gpu != gpu)
		i++;
	if (i == c->row.ndevices && gpu && i + 1 >= OPS_DEVICES) /* with those that are not known */
		for (i = 0; i < c->row.ndevices && d[i].gpu;)
			i++;
	if (i == c->row.ndevices)
		d[c->row.ndevices++].gpu = i + 1 < OPS_DEVICES ? gpu : 0;
	d[i].count++;
	d[i].errors += event_failed(ev->op, ev->ret);
	d[i].total_ns += ev->dur_ns;
}

struct ops_row ops_counter_row(const struct ops_counter *c, const struct exact *x)
{
	const struct sketch *d = &c->durations;
	struct ops_row row = c->row;
	uint64_t q[EXACT_QUANTILES];

	row.p50_ns = sketch_quantile(d, 0.50);
	row.p95_ns = sketch_quantile(d, 0.95);
	row.p99_ns = sketch_quantile(d, 0.99);
	row.exact = x && exact_get_quantiles(x, row.op->id, q);
	if (row.exact) {
		row.p50_ns = q[0];
		row.p95_ns = q[1];
		row.p99_ns = q[2];
	}
	row.min_ns = d->min;
	row.max_ns = d->max;
	row.total_ns = d->sum;
	sketch_powers(d, row.powers);
	row.durations = d;
	return row;
}

void ops_counters_free(struct ops_counters *c)
{
	for (size_t i = 0; i < c->v.n; i++) {
		sketch_free(&c->v.v[i].durations);
		coverage_row_free(&c->v.v[i].covered);
	}
	vec_free(&c->v);
	map_free(&c->by);
}

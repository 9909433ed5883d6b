/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls that are much slower than the median of their operation, as they come: a call is
 * held against those before it. */
#include "lib/export/slow_calls.h"

#define TIMES	  3
#define CALLS_MIN 10 /* with no more of them a median says nothing */
#define EVERY_NS  INT64_C(1000000000)

static struct slow_calls_op *op_of(struct slow_calls *s, uint32_t node, uint16_t op, int64_t end_ns)
{
	uint64_t key = (uint64_t)node << 16 | op, at;

	if (map_get(&s->by_op, key, &at))
		return &s->ops.v[at - 1];
	if (!vec_push(&s->ops, (struct slow_calls_op){ .known_ns = end_ns }) ||
	    !map_put(&s->by_op, key, s->ops.n))
		return NULL;
	return &s->ops.v[s->ops.n - 1];
}

bool slow_calls_add(struct slow_calls *s, uint32_t node, uint16_t op, int64_t end_ns,
		    uint64_t dur_ns, bool *slow)
{
	struct slow_calls_op *o = op_of(s, node, op, end_ns);

	*slow = false;
	if (!o)
		return false;
	if (end_ns > o->known_ns && (uint64_t)end_ns - (uint64_t)o->known_ns >= EVERY_NS) {
		o->known_ns = end_ns;
		if (o->durations.count > CALLS_MIN)
			o->median_ns = sketch_quantile(&o->durations, 0.5);
	}
	*slow = o->median_ns && dur_ns / TIMES >= o->median_ns && dur_ns > o->median_ns * TIMES;
	return sketch_add(&o->durations, dur_ns);
}

void slow_calls_free(struct slow_calls *s)
{
	for (size_t i = 0; i < s->ops.n; i++)
		sketch_free(&s->ops.v[i].durations);
	vec_free(&s->ops);
	map_free(&s->by_op);
}

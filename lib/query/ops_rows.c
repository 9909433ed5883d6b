/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the rows of a summary, with ties broken by ids: a recording always prints the same. */
#include "lib/query/ops_internal.h"

#include <stdlib.h>
#include <string.h>

static unsigned layer_rank(const struct op_def *op)
{
	static const char *const order[] = { "runtime", "driver", "graph", "nccl" };
	const char *name = source_layer(op->source);

	for (unsigned i = 0; name && i < sizeof(order) / sizeof(order[0]); i++)
		if (!strcmp(name, order[i]))
			return i;
	return 8;
}

static int by_layer_and_total(const void *a, const void *b)
{
	const struct ops_row *x = a, *y = b;
	unsigned rx = layer_rank(x->op), ry = layer_rank(y->op);

	if (rx != ry)
		return rx < ry ? -1 : 1;
	if (x->all.total_ns != y->all.total_ns)
		return x->all.total_ns > y->all.total_ns ? -1 : 1;
	return x->op->id < y->op->id ? -1 : x->op->id > y->op->id;
}

static int by_time_in_calls(const void *a, const void *b)
{
	const struct ops_process *x = a, *y = b;

	if (x->all.total_ns != y->all.total_ns)
		return x->all.total_ns > y->all.total_ns ? -1 : 1;
	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

void ops_rows_sort(struct ops_summary *s)
{
	if (s->rows.n)
		qsort(s->rows.v, s->rows.n, sizeof(*s->rows.v), by_layer_and_total);
	if (s->processes.n)
		qsort(s->processes.v, s->processes.n, sizeof(*s->processes.v), by_time_in_calls);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups the rows of a block by context for the archive level, with a stable sort. A reader gets
 * the order of events back by sorting by end; where events that end together would come out in
 * another order, a column holds the right one.
 */
#include "lib/ige/archive.h"

#include <string.h>

#include "lib/ige/row_order.h"

#define AHEAD 12 /* events: grouped ones lie all over memory, but which ones come is known */

void ige_archive_free(struct ige_archive *a)
{
	vec_free(&a->held);
	vec_free(&a->key);
	vec_free(&a->at);
	vec_free(&a->spare);
}

bool ige_archive_add(struct ige_archive *a, const struct event *ev, const struct op_def *def)
{
	a->bytes += 28 + 9 * def->ncols;
	return vec_push(&a->held, *ev);
}

/* Ranks among events of equal end, where rows in their place would not give the order. */
static bool rank_events(struct ige_archive *a, struct ige_rows *rows)
{
	const struct event *held = a->held.v;
	size_t n = a->held.n;
	uint32_t *place = a->spare.v;
	bool any = false;

	for (size_t row = 0; row < n; row++)
		place[a->at.v[row]] = (uint32_t)row;
	for (size_t i = 0, next; i < n; i = next) {
		bool falls = false;

		for (next = i + 1; next < n && held[next].end_ns == held[i].end_ns; next++)
			falls |= place[next] < place[next - 1];
		if (!falls)
			continue;
		if (!any && !vec_reserve(&rows->order, n))
			return false;
		if (!any)
			memset(rows->order.v, 0, n * sizeof(rows->order.v[0]));
		any = true;
		for (size_t k = i; k < next; k++)
			rows->order.v[place[k]] = k - i;
	}
	rows->order.n = any ? n : 0;
	return true;
}

bool ige_archive_rows(struct ige_archive *a, struct ige_rows *rows)
{
	size_t n = a->held.n;

	if (!vec_reserve(&a->key, n) || !vec_reserve(&a->at, n) || !vec_reserve(&a->spare, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		a->key.v[i] = a->held.v[i].ctx;
		a->at.v[i] = (uint32_t)i;
	}
	ige_order_by(a->at.v, a->spare.v, n, a->key.v);
	if (!rank_events(a, rows))
		return false;
	rows->grouped = true;
	for (size_t i = 0; i < n; i++) {
		const struct event *ev = &a->held.v[a->at.v[i]];

		if (i + AHEAD < n) {
			const char *later = (const char *)&a->held.v[a->at.v[i + AHEAD]];

			__builtin_prefetch(later);
			__builtin_prefetch(later + 64);
		}
		if (!ige_rows_add(rows, ev, ige_dict_op(rows->dict, ev->op)))
			return false;
	}
	a->held.n = 0;
	a->bytes = 0;
	return true;
}

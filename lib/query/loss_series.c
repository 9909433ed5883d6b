/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads lost time over spans: where in an interval a state lay is unknown, so that each is spread
 * evenly over all of it. */
#include "lib/query/sections_internal.h"

#include <stdlib.h>

#include "lib/attrib/parts.h"
#include "lib/stat/series.h"

#define SPAN_NS 1000000ll /* of short recordings; it doubles as they get longer */

/* To the end of the span that ns lies in. */
static int64_t span_end(const struct series *s, int64_t ns)
{
	int64_t in = ns % s->span_ns;

	return ns - in + (in < 0 ? 0 : s->span_ns);
}

/* ns of time within [from, to): in every span its share, and no nanosecond lost to rounding. */
static void spread_evenly(struct series *s, int64_t from, int64_t to, uint64_t ns)
{
	double whole = (double)(to - from);
	uint64_t done_ns = 0;
	int64_t at = from;

	/* So wide that a series that ends with it holds it. */
	series_add(s, from, 0, 0);
	series_add(s, to > from ? to - 1 : from, 0, 0);
	while (at < to && done_ns < ns) {
		int64_t end = span_end(s, at);
		uint64_t upto =
			end >= to ? ns : (uint64_t)((double)(end - from) / whole * (double)ns);

		if (upto > ns)
			upto = ns;
		if (upto > done_ns)
			series_add(s, at, upto - done_ns, 0);
		done_ns = upto > done_ns ? upto : done_ns;
		at = end;
	}
	if (done_ns < ns)
		series_add(s, from, ns - done_ns, 0);
}

bool query_loss_series_piece(struct query_loss_series *c, const struct line_piece *p)
{
	for (uint32_t left = p->parts ? p->parts->mask & PARTS_HOST : 0; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (p->parts->ns[i] == 0)
			continue;
		if (!c->lost[i]) {
			c->lost[i] = calloc(1, sizeof(*c->lost[i]));
			if (!c->lost[i])
				return false;
			c->lost[i]->span_ns = SPAN_NS;
		}
		spread_evenly(c->lost[i], p->start_ns, p->end_ns, p->parts->ns[i]);
	}
	return true;
}

void query_loss_series_rows(const struct query_loss_series *c, struct view *v)
{
	for (unsigned i = 0; i < PART_COUNT; i++)
		v->lost[i] = c->lost[i];
}

void query_loss_series_free(struct query_loss_series *c)
{
	for (unsigned i = 0; i < PART_COUNT; i++)
		free(c->lost[i]);
}

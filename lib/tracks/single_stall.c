/* SPDX-License-Identifier: Apache-2.0 */
/* Prints single stretches of a cause as if they were all of it: with their own line. */
#include "lib/tracks/single_stall.h"

#include <inttypes.h>

#include "lib/base/timetext.h"
#include "lib/tracks/reason.h"

/* Whether a long stretch of it means that something was slow. It does not if there was no request,
 * or if another report has it. */
static bool may_be_slow(const struct path_cause *c)
{
	switch (c->class) {
	case PATH_UNKNOWN:
	case PATH_TOO_DEEP:
	case PATH_RECORDER:
	case PATH_DEMAND:
	case PATH_OUTSIDE:
	case PATH_CHILD:
	case PATH_UNENDED:
		return false;
	case PATH_SLEEP:
		return c->pace != PACE_KEPT;
	default:
		return true;
	}
}

/* Several that are as long as the longest of them: it did not come once. */
static bool are_alike(const struct path_cause *c)
{
	return c->nlongs > 1 && c->longs.ns / c->nlongs >= c->longest_ns / 2;
}

bool once_is_told(const struct path_cause *c, uint64_t of_ns, uint64_t usual_ns)
{
	return may_be_slow(c) && usual_ns && c->longest_ns >= ONCE_NS && !are_alike(c) &&
	       (double)c->longest_ns >= ONCE_SHARE * (double)of_ns &&
	       c->longest_ns / ONCE_TIMES >= usual_ns;
}

void once_print(struct buf *out, const struct track_names *names, const struct first_calls *firsts,
		uint32_t anchor, const struct path_cause *c)
{
	const struct slow_first *first;
	struct path_cause one = *c;

	one.ns = c->longest_ns;
	one.pieces = 1;
	one.lines[0] = c->longest;
	one.nlines = 1;
	reason_print(out, names, &one);
	if (c->class != PATH_CALL && c->class != PATH_DEVICE)
		return;
	first = first_calls_find(firsts, c->longest_thread ? c->longest_thread : anchor,
				 c->longest.op, c->longest_from_ns);
	if (!first)
		return;
	buf_puts(out, ", ");
	slow_first_print(out, firsts, first);
}

bool repeated_is_told(const struct path_cause *c, uint64_t of_ns, uint64_t usual_ns)
{
	uint64_t each = c->nlongs ? c->longs.ns / c->nlongs : 0;

	return may_be_slow(c) && usual_ns && (c->nlongs >= REPEATED_LEAST || are_alike(c)) &&
	       (double)c->longs.ns >= ONCE_SHARE * (double)of_ns && each / ONCE_TIMES >= usual_ns &&
	       !once_is_told(c, of_ns, usual_ns);
}

void repeated_print(struct buf *out, const struct track_names *names, const struct path_cause *c)
{
	struct path_cause all = *c;
	char text[48];

	all.ns = c->longs.ns;
	all.longest_ns = 0;
	all.lines[0] = c->longs;
	all.nlines = 1;
	buf_printf(out, "%" PRIu64 " times %s ", c->nlongs,
		   duration_text(text, sizeof(text), c->longs.ns / c->nlongs));
	reason_print(out, names, &all);
	buf_printf(out, ", %s in all", duration_text(text, sizeof(text), c->longs.ns));
}

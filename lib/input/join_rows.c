/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the rows of several block views into one order. Up to a time that no sheet ends before,
 * their times are merged as lists of numbers, each with its lane in the lowest bits; where rows end
 * together, and around the end of a sheet, the tree goes row by row.
 */
#include <string.h>

#include "lib/input/join_internal.h"
#include "lib/base/bisect.h"
#include "lib/world/event_order.h"

#define LANE_BITS 6 /* INPUT_KWAY_MERGE lanes */
#define WORTH_IT  4 /* rows per lane; below it looking at all lanes costs more than it saves */
#define SPAN_MAX  (UINT64_C(1) << (63 - LANE_BITS))
_Static_assert(1 << LANE_BITS == INPUT_KWAY_MERGE, "a lane's number fits its bits");

static bool is_ascending(const uint64_t *end, uint32_t n)
{
	uint64_t falls = 0;

	/* Below 2^63, as ends in a block are, the sign of a difference tells. */
	for (uint32_t i = 1; i < n; i++)
		falls |= end[i] - end[i - 1];
	return !(falls >> 63);
}

void join_stand(struct join *j, const struct lane *l)
{
	const struct ige_block_view *s =
		l->state > 0 && l->item.weave ? l->item.weave->sheets[0] : NULL;
	struct place *p = &j->places[l - j->lanes];

	j->sheets[l - j->lanes] = s;
	*p = (struct place){ 0 };
	if (!s)
		return;
	p->end = s->decoder->a.column[IGE_END];
	p->base = input_tree_key(ige_block_view_base(s));
	p->n = (uint32_t)l->item.n;
	p->rises = is_ascending(p->end, p->n) && p->base + p->end[p->n - 1] >= p->base;
}

/* How many rows of a place end before `until`. */
static uint32_t before_time(const struct place *p, uint64_t until)
{
	uint32_t low = p->next, high = p->n;

	bisect(i, low, high, p->base + p->end[i] < until);
	return low - p->next;
}

/* From when until when rows can be taken of all lanes, none giving more than `each` of them. */
static bool find_span(const struct join *j, uint32_t each, uint64_t *from, uint64_t *until)
{
	*from = *until = INPUT_TREE_ENDED;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct place *p = &j->places[i];
		uint64_t first = join_key(j, i), last = first;

		if (first == INPUT_TREE_ENDED)
			continue;
		if (p->end && !p->rises)
			return false;
		if (p->end)
			last = p->base + p->end[p->n - p->next > each ? p->next + each : p->n - 1];
		*from = first < *from ? first : *from;
		*until = last < *until ? last : *until;
	}
	return *from < *until && *until != INPUT_TREE_ENDED && *until - *from < SPAN_MAX;
}

/* Does row ref come before row next, or together with it? */
static bool is_in_order(const struct join *j, uint32_t ref, uint32_t next)
{
	struct event x = ige_block_view_place(j->sheets[ref >> 16], ref & 0xffff),
		     y = ige_block_view_place(j->sheets[next >> 16], next & 0xffff);

	return world_event_order(j->world, &x, &y) <= 0;
}

/* Rows that end together stand lane by lane: whose first one comes first is next. */
static void put_in_order(struct join *j, uint32_t *refs, size_t n)
{
	uint32_t left[REFS];
	struct {
		uint32_t at, end;
	} lanes[INPUT_KWAY_MERGE];
	unsigned nlanes = 0;

	memcpy(left, refs, n * sizeof(*refs));
	for (uint32_t i = 0; i < n; i++) {
		if (!i || left[i] >> 16 != left[i - 1] >> 16)
			lanes[nlanes++].at = i;
		lanes[nlanes - 1].end = i + 1;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned best = 0;

		for (unsigned k = 1; k < nlanes; k++)
			if (!is_in_order(j, left[lanes[best].at], left[lanes[k].at]))
				best = k;
		refs[i] = left[lanes[best].at++];
		if (i)
			j->weave.ordered &= is_in_order(j, refs[i - 1], refs[i]);
		if (lanes[best].at < lanes[best].end)
			continue;
		nlanes--;
		memmove(&lanes[best], &lanes[best + 1], (nlanes - best) * sizeof(lanes[0]));
	}
}

static void order_ties(struct join *j, size_t from, size_t to)
{
	for (size_t i = from, next; i < to; i = next) {
		for (next = i + 1; next < to && j->ends[next] == j->ends[i]; next++)
			;
		if (next > i + 1)
			put_in_order(j, j->refs + i, next - i);
	}
}

/* Rows behind the n that are there already, as long as no sheet ends; how many they are. */
static size_t join_stretch(struct join *j, size_t n)
{
	size_t room = REFS - n < INPUT_KWAY_MERGE_ROOM ? REFS - n : INPUT_KWAY_MERGE_ROOM, more;
	uint64_t from, until, before = 0, tied = 0;
	uint32_t refs[INPUT_KWAY_MERGE];
	const uint64_t *keys;
	int64_t base_ns;

	if (j->n > INPUT_KWAY_MERGE || room < WORTH_IT * j->n ||
	    !find_span(j, (uint32_t)(room / j->n), &from, &until))
		return 0;
	input_kway_merge_begin(&j->strands);
	for (uint32_t i = 0; i < j->n; i++) {
		struct place *p = &j->places[i];
		const uint64_t *end;
		uint32_t count = p->end ? before_time(p, until) : 0;
		/* One more, so that none is 0. */
		uint64_t base = p->base - from + 1, *to;

		refs[i] = i << 16 | p->next;
		if (!count)
			continue;
		end = p->end + p->next;
		to = input_kway_merge_add(&j->strands, count);
		for (uint32_t k = 0; k < count; k++)
			to[k] = (base + end[k]) << LANE_BITS | i;
		p->next += count;
	}
	keys = input_kway_merge_merge(&j->strands, &more);
	base_ns = input_tree_time(from - 1);
	for (size_t i = 0; i < more; i++) {
		uint64_t time = keys[i] >> LANE_BITS;

		j->refs[n + i] = refs[keys[i] & (INPUT_KWAY_MERGE - 1)]++;
		j->ends[n + i] = base_ns + (int64_t)time;
		tied |= time == before;
		before = time;
	}
	if (tied)
		order_ties(j, n, n + more);
	for (uint32_t i = 0; i < j->n; i++)
		j->keys[i] = join_key(j, i);
	input_tree_build(&j->tree, j->keys, j->n);
	return more;
}

size_t join_rows(struct join *j)
{
	struct input_tree *tree = &j->tree;
	uint64_t last = 0;
	size_t n = 0, more;

	j->weave = (struct ige_merge_columns){ j->sheets, j->n, j->refs, j->ends, true };
	do
		n += more = join_stretch(j, n);
	while (more > WORTH_IT * (size_t)j->n);
	while (n < REFS) {
		uint32_t lane = input_tree_first(tree);
		uint64_t key = input_tree_first_key(tree);
		struct place *p = lane < j->n ? &j->places[lane] : NULL;

		if (!p || !p->end)
			break;
		j->refs[n] = lane << 16 | p->next;
		j->ends[n] = input_tree_time(key);
		/* What a stretch took ended before. */
		if (key <= last && n)
			j->weave.ordered &=
				key == last && is_in_order(j, j->refs[n - 1], j->refs[n]);
		last = key;
		n++;
		if (++p->next == p->n) {
			j->lanes[lane].next = p->n;
			j->unsettled = lane;
			break;
		}
		input_tree_replace(tree, p->base + p->end[p->next]);
	}
	return n;
}

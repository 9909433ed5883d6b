/* SPDX-License-Identifier: Apache-2.0 */
/* Each round cuts the span by RANK_ROOM, or ends the search by sorting what lies in it. */
#include "lib/stat/rank.h"

#include <stdlib.h>
#include <string.h>

static void open_round(struct rank_search *s)
{
	s->seen = 0;
	s->listed = s->n <= RANK_ROOM;
	for (s->shift = 0; s->span >> s->shift >= RANK_ROOM;)
		s->shift++;
	memset(s->room, 0, RANK_ROOM * sizeof(*s->room));
}

static int end_search(struct rank_search *s, uint64_t value)
{
	rank_search_free(s);
	s->value = value;
	s->found = true;
	return 0;
}

bool rank_search_begin(struct rank_search *s, uint64_t low, uint64_t span, uint64_t rank,
		       uint64_t n)
{
	*s = (struct rank_search){ .low = low, .span = span, .rank = rank, .n = n };
	if (!span) {
		end_search(s, low);
		return true;
	}
	s->room = malloc(RANK_ROOM * sizeof(*s->room));
	if (!s->room)
		return false;
	open_round(s);
	return true;
}

void rank_search_free(struct rank_search *s)
{
	free(s->room);
	/* Only the largest number is within 0 of it, and that one is refused. */
	*s = (struct rank_search){ .low = UINT64_MAX };
}

void rank_search_take_(struct rank_search *s, uint64_t v)
{
	if (!s->room)
		return;
	if (!s->listed)
		s->room[(v - s->low) >> s->shift]++;
	else if (s->seen < s->n)
		s->room[s->seen] = v;
	s->seen++;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int rank_search_round(struct rank_search *s)
{
	uint64_t before = 0;
	unsigned i;

	if (!s->room)
		return 0;
	if (s->seen != s->n || s->rank < 1 || s->rank > s->n) {
		rank_search_free(s);
		return -1;
	}
	if (s->listed) {
		qsort(s->room, s->n, sizeof(*s->room), by_value);
		return end_search(s, s->room[s->rank - 1]);
	}
	for (i = 0; before + s->room[i] < s->rank; i++)
		before += s->room[i];
	s->low += (uint64_t)i << s->shift;
	if (s->shift == 0)
		return end_search(s, s->low);
	s->span = ((uint64_t)1 << s->shift) - 1;
	s->rank -= before;
	s->n = s->room[i];
	open_round(s);
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Damage shows in the reader's report between two items: whatever was lost lies between their
 * times. */
#include "lib/input/input_counts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/ige/merge_columns.h"

#define HOLES_MAX 256 /* then the last one grows */

struct tallying {
	struct event_stream stream, *inner;
	struct input_tally *t;
	const struct ige_report *report;
};

static bool see_stack(struct input_tally *t, uint32_t stack)
{
	size_t at = stack / 8;

	if (at >= t->stack_seen.n) {
		size_t more = at + 1 - t->stack_seen.n + 64;

		if (!vec_reserve(&t->stack_seen, more))
			return false;
		memset(t->stack_seen.v + t->stack_seen.n, 0, more);
		t->stack_seen.n += more;
	}
	if (stack && !(t->stack_seen.v[at] >> stack % 8 & 1)) {
		t->stack_seen.v[at] |= (uint8_t)(1u << stack % 8);
		t->stacks++;
	}
	return true;
}

/* The stacks of a sheet's sites, each looked at once. */
static bool see_sheet(struct input_tally *t, const struct ige_block_view *s)
{
	const struct ige_dict_reader *dict = s->decoder->dict;
	const uint64_t *site = s->decoder->a.column[IGE_SITE];
	bool room = true;

	if (t->generation != dict->generation)
		t->site_seen.n = t->sites_seen = 0;
	t->generation = dict->generation;
	if (dict->sites.n > t->site_seen.n) {
		size_t more = dict->sites.n - t->site_seen.n;

		if (!vec_reserve(&t->site_seen, more))
			return false;
		memset(t->site_seen.v + t->site_seen.n, 0, more);
		t->site_seen.n += more;
	}
	/* 0 is never given out. Mostly there are none but those of the blocks before. */
	if (t->sites_seen + 1 >= dict->sites.n)
		return true;
	for (uint32_t i = 0; i < s->decoder->a.n && room; i++)
		if (!t->site_seen.v[site[i]]) {
			t->site_seen.v[site[i]] = true;
			t->sites_seen++;
			room = see_stack(t, dict->sites.v[site[i]].stack);
		}
	return room;
}

static bool see_record(struct input_tally *t, const struct record *r)
{
	int64_t ahead;

	t->records++;
	if (r->kind == RECORD_CHAIN) {
		uint64_t id =
			hash_bytes(r->u.CHAIN.id.p ? r->u.CHAIN.id.p : "", r->u.CHAIN.id.n, 0);

		if (map_get(&t->chain_seen, id, NULL))
			return true;
		t->chains++;
		return map_put(&t->chain_seen, id, 1);
	}
	if (r->kind != RECORD_CLOCK || !REC_HAS(r, CLOCK, real_ns))
		return true;
	/* Records hold any number. */
	ahead = (int64_t)((uint64_t)r->u.CLOCK.real_ns - (uint64_t)r->u.CLOCK.mono_ns);
	if (!t->clocks || ahead < t->ahead_min_ns)
		t->ahead_min_ns = ahead;
	if (!t->clocks || ahead > t->ahead_max_ns)
		t->ahead_max_ns = ahead;
	t->clocks++;
	if (r->u.CLOCK.uncertainty_ns > t->uncertainty_ns)
		t->uncertainty_ns = r->u.CLOCK.uncertainty_ns;
	return true;
}

/* Something was lost between the time so far and that of what follows it. */
static bool see_damage(struct input_tally *t, const struct ige_report *r, int64_t until)
{
	uint64_t damage = r->damaged_blocks + r->skipped_bytes;
	uint64_t missing = r->damaged_events - t->missing;
	struct input_hole *last = t->holes.n ? &t->holes.v[t->holes.n - 1] : NULL;

	if (damage == t->damage)
		return true;
	t->damage = damage;
	t->missing = r->damaged_events;
	if (last && (last->until_ns >= t->now_ns || t->holes.n == HOLES_MAX)) {
		last->until_ns = until;
		last->events += missing;
		return true;
	}
	return vec_push(&t->holes, (struct input_hole){ t->now_ns, until, missing });
}

static int64_t end_of(const struct stream_item *item, size_t i)
{
	const struct ige_block_view *s = item->weave ? item->weave->sheets[0] : NULL;

	return s ? ige_block_view_base(s) + (int64_t)s->decoder->a.column[IGE_END][i]
		 : item->events[i].end_ns;
}

static int tally_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct tallying *s = (struct tallying *)stream;
	struct input_tally *t = s->t;
	int rc = s->inner->next(s->inner, item, e);
	bool room = true;

	if (rc <= 0) {
		room = rc < 0 || see_damage(t, s->report, INT64_MAX);
		return room ? rc : err_nomem(e);
	}
	if (item->kind == STREAM_EVENTS && item->n) {
		const struct ige_block_view *sheet = item->weave ? item->weave->sheets[0] : NULL;
		int64_t first = end_of(item, 0), last = end_of(item, item->n - 1);

		room = see_damage(t, s->report, first);
		for (size_t i = 0; i < item->n && room && !sheet; i++)
			room = see_stack(t, item->events[i].stack);
		if (room && sheet)
			room = see_sheet(t, sheet);
		if (!t->events || first < t->first_ns)
			t->first_ns = first;
		if (!t->events || last > t->last_ns)
			t->last_ns = last;
		t->events += item->n;
		if (last > t->now_ns)
			t->now_ns = last;
	} else if (item->kind == STREAM_RECORD) {
		room = see_record(t, item->record);
	}
	t->lost += item->kind == STREAM_EVENTS ? item->lost : 0;
	return room ? 1 : err_nomem(e);
}

static void tally_close(struct event_stream *stream)
{
	free(stream);
}

struct event_stream *input_tally(struct event_stream *inner, struct input_tally *t,
				 const struct ige_report *report)
{
	struct tallying *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stream = (struct event_stream){ tally_next, tally_close };
	s->inner = inner;
	s->t = t;
	s->report = report;
	t->now_ns = INT64_MIN;
	return &s->stream;
}

void input_tally_free(struct input_tally *t)
{
	vec_free(&t->holes);
	vec_free(&t->stack_seen);
	vec_free(&t->site_seen);
	map_free(&t->chain_seen);
	memset(t, 0, sizeof(*t));
}

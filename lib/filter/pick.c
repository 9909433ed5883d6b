/* SPDX-License-Identifier: Apache-2.0 */
/* Removes events that are not selected from a stream's items. Cheap tests come first: evaluating an
 * expression costs as much as writing the event. */
#include "lib/filter/pick.h"

#include "lib/world/event_json.h"

static int test_event(struct filter_pick *p, const struct event *ev, bool *yes, struct err *e)
{
	struct jsonw j;

	*yes = filter_event(p->select, p->w, ev);
	if (!*yes || !p->expr)
		return 0;
	buf_reset(&p->line);
	jsonw_init(&j, &p->line, false);
	event_json(&j, p->w, p->told, ev, &p->stacks);
	if (p->line.failed)
		return err_nomem(e);
	return filter_expr_is(p->expr, buf_bytes(&p->line), yes, e);
}

static int pick_events(struct filter_pick *p, struct stream_item *item, struct err *e)
{
	p->events.n = 0;
	for (size_t i = 0; i < item->n; i++) {
		bool yes;
		int rc = test_event(p, &item->events[i], &yes, e);

		if (rc)
			return rc;
		if (yes && !vec_push(&p->events, item->events[i]))
			return err_nomem(e);
	}
	item->events = p->events.v;
	item->n = p->events.n;
	return 0;
}

/* A sample without machine or process belongs to the only machine and to all of its processes. */
bool filter_sample(const struct filter *s, const struct world *w, const struct rec_SAMPLE *r)
{
	uint32_t node = r->node ? r->node : world_count(w, WORLD_NODE) == 1;

	return filter_overlaps(s, r->time_ns, r->time_ns) && filter_node(s, w, node) &&
	       (!r->process || filter_process(s, w, r->process));
}

static bool is_record_selected(const struct filter *s, const struct world *w,
			       const struct record *r)
{
	return r->kind == RECORD_SAMPLE ? filter_sample(s, w, &r->u.SAMPLE)
					: filter_record_time(s, r);
}

int filter_pick_item(struct filter_pick *p, struct stream_item *item, bool *left, struct err *e)
{
	const struct filter *s = p->select;

	*left = true;
	if (item->kind == STREAM_RECORD)
		*left = is_record_selected(s, p->w, item->record);
	if (item->kind != STREAM_EVENTS ||
	    (!p->expr && !s->resolved && !s->pids.n && !s->patterns.n && !s->nodes.n))
		return 0;
	return pick_events(p, item, e);
}

void filter_pick_free(struct filter_pick *p)
{
	vec_free(&p->events);
	buf_free(&p->line);
	event_json_stacks_free(&p->stacks);
}

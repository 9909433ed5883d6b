/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the analysis beside reading, because a pipe cannot be read twice and the analysis record,
 * if there is one, comes last. When it comes, the stream's own chains hold.
 */
#include "lib/query/chains.h"

#include <stdlib.h>

#include "lib/account/ongoing_waits.h"

struct query_chains_run {
	struct cause_sink sink; /* first: on_record casts it back */
	const struct world *w;
	struct query_chains answer;
	struct chain_list own, carried;
	struct cause *cause;
	bool since_last; /* items came after the newest clean end */
};

static int on_record(struct cause_sink *s, const struct record *r, struct err *e)
{
	return chain_list_add(&((struct query_chains_run *)s)->own, r, e);
}

struct query_chains_run *query_chains_new(struct world *w, const struct cause_options *opt)
{
	struct query_chains_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->sink.record = on_record;
	run->w = w;
	run->cause = cause_new(w, opt, &run->sink);
	if (!run->cause) {
		free(run);
		return NULL;
	}
	return run;
}

/* A library whose calls are recorded. */
static bool is_cuda_layer(struct bytes layer)
{
	static const char *const layers[] = { "runtime", "driver", "nccl" };

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
		if (bytes_equal(layer, bytes_of(layers[i])))
			return true;
	return false;
}

int query_chains_add_record(struct query_chains *a, const struct world *w, const struct record *r,
			    struct err *e)
{
	const struct world_node *on;

	switch (r->kind) {
	case RECORD_SESSION:
		if (!a->has_start) {
			a->start_ns = r->u.SESSION.start_ns;
			a->has_start = true;
		}
		return 0;
	case RECORD_CLOCK:
		if (!a->has_real && record_tells_time(r)) {
			a->real_minus_mono_ns = r->u.CLOCK.real_ns - r->u.CLOCK.mono_ns;
			a->has_real = true;
		}
		if (r->u.CLOCK.mono_ns > a->end_ns)
			a->end_ns = r->u.CLOCK.mono_ns;
		return 0;
	case RECORD_ASLEEP:
		a->asleep = true;
		return 0;
	case RECORD_OPEN:
		a->open += r->u.OPEN.at_end && !r->u.OPEN.depth;
		if (r->u.OPEN.at_end && r->u.OPEN.time_ns > a->end_ns)
			a->end_ns = r->u.OPEN.time_ns;
		return 0;
	case RECORD_COVERAGE:
		a->coverage = true;
		a->library_seen |= is_cuda_layer(r->u.COVERAGE.layer);
		on = world_get_node(w, r->u.COVERAGE.node);
		return missing_record(&a->missing, r,
				      on ? world_text(w, on->name) : (struct bytes){ 0 })
			       ? 0
			       : err_nomem(e);
	default:
		return 1;
	}
}

static int add_carried(struct query_chains_run *run, const struct record *r, struct err *e)
{
	int rc = query_chains_add_record(&run->answer, run->w, r, e);

	return rc > 0 ? chain_list_add(&run->carried, r, e) : rc;
}

int query_chains_item(struct query_chains_run *run, const struct stream_item *item, struct err *e)
{
	struct query_chains *a = &run->answer;

	switch (item->kind) {
	case STREAM_EVENTS:
		a->events += item->n;
		a->lost += item->lost;
		if (item->n && !a->has_start) {
			a->start_ns = event_start(&item->events[0]);
			a->has_start = true;
		}
		if (item->n && item->events[item->n - 1].end_ns > a->end_ns)
			a->end_ns = item->events[item->n - 1].end_ns;
		run->since_last = true;
		break;
	case STREAM_RECORD:
		run->since_last = true;
		if (add_carried(run, item->record, e) < 0)
			return e ? e->code : ERR_NOMEM;
		break;
	case STREAM_SEGMENT:
		run->since_last = true;
		break;
	case STREAM_LAST:
		run->since_last = false;
		break;
	}
	return cause_item(run->cause, item, e);
}

#define LIVE_NS                                                                                    \
	60000000000 /* between what happened and who reads of it live, clocks that differ included \
		     */

bool query_chains_ongoing_wait(struct query_chains_run *run, const struct record *r, int64_t now_ns,
			       struct buf *out)
{
	int64_t ago_ns = (int64_t)((uint64_t)now_ns - (uint64_t)run->answer.real_minus_mono_ns -
				   (uint64_t)r->u.ASLEEP.time_ns);

	return run->answer.has_real && ago_ns < LIVE_NS && ago_ns > -LIVE_NS &&
	       cause_stands(run->cause, r, out);
}

bool query_chains_is_complete(const struct chain_list *carried, uint64_t events)
{
	struct json of = json_get(carried->analysis, "events");
	bool covers = carried->analyzed && json_double(of, 0) >= (double)events;

	json_free(of);
	return covers;
}

int query_chains_end(struct query_chains_run *run, const struct query_chains **answer,
		     struct err *e)
{
	struct query_chains *a = &run->answer;
	int rc = cause_finish(run->cause, e);

	if (rc < 0)
		return rc;
	a->unfinished = run->since_last;
	/* An analysis of a damaged or cut stream, or of one of several, covers less than is here:
	 * then ours holds. */
	a->found_analyzed = query_chains_is_complete(&run->carried, a->events) && !a->unfinished;
	a->list = a->found_analyzed ? run->carried : run->own;
	chain_list_sort(&a->list);
	*answer = a;
	return 0;
}

void query_chains_free(struct query_chains_run *run)
{
	if (!run)
		return;
	/* answer.list is one of the two, by value */
	cause_free(run->cause);
	chain_list_free(&run->own);
	chain_list_free(&run->carried);
	missing_free(&run->answer.missing);
	free(run);
}

void query_chains_clear(struct query_chains *a)
{
	chain_list_free(&a->list);
	missing_free(&a->missing);
	*a = (struct query_chains){ 0 };
}

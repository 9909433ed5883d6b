/* SPDX-License-Identifier: Apache-2.0 */
/* Passes each event, span and record to the report sections that use it. */
#include "lib/query/sections.h"

#include <stdlib.h>

#include "lib/query/sections_internal.h"
#include "lib/stat/series.h"
#include "lib/world/late_names.h"

#define RATE_SPAN_NS 10000000ll	  /* of short recordings; it doubles as they get longer */
#define SETTLE_NS    1000000000ll /* how often what lives is brought up to date */
#define SOURCES	     256

struct query_view {
	struct view answer;
	struct world *w;
	struct filter *sel;
	struct query_samples *samples;
	struct late_names late_names;
	struct query_disks disks;
	struct query_sockets sockets;
	struct query_details details;
	struct query_gpu_objects lives;
	struct query_comms comms;
	struct query_thread_time spent;
	struct query_time_buckets *lapse;
	struct query_loss_series course;
	struct series *rates[SOURCES]; /* by source; NULL: none of it */
	int64_t settled_ns;
};

static bool has_section(const struct query_view *v, unsigned sections)
{
	return v->answer.sections & sections;
}

struct query_view *query_view_new(struct world *w, struct filter *sel, unsigned sections)
{
	struct query_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->w = w;
	v->sel = sel;
	v->answer.sections = sections;
	v->settled_ns = INT64_MIN;
	v->samples = query_samples_new();
	v->lapse = query_time_buckets_new();
	if (!v->samples || !v->lapse ||
	    !query_gpu_objects_start(&v->lives, w, has_section(v, VIEW_BIT(MEMORY)),
				     has_section(v, VIEW_BIT(GRAPHS)))) {
		query_view_free(v);
		return NULL;
	}
	return v;
}

void query_view_free(struct query_view *v)
{
	if (!v)
		return;
	query_samples_free(v->samples);
	late_names_free(&v->late_names);
	query_disks_free(&v->disks);
	query_sockets_free(&v->sockets);
	query_details_free(&v->details);
	query_gpu_objects_free(&v->lives);
	query_comms_free(&v->comms);
	query_thread_time_free(&v->spent);
	query_time_buckets_free(v->lapse);
	query_loss_series_free(&v->course);
	for (unsigned i = 0; i < SOURCES; i++)
		free(v->rates[i]);
	vec_free(&v->answer.metrics);
	vec_free(&v->answer.gpus);
	vec_free(&v->answer.xids);
	vec_free(&v->answer.disks);
	vec_free(&v->answer.files);
	vec_free(&v->answer.sockets);
	vec_free(&v->answer.details);
	vec_free(&v->answer.graphs);
	vec_free(&v->answer.comms);
	vec_free(&v->answer.memory);
	vec_free(&v->answer.times);
	vec_free(&v->answer.rates);
	vec_free(&v->answer.courses);
	free(v);
}

static bool is_in_window(const struct query_view *v, int64_t time_ns)
{
	return !v->sel->resolved || (time_ns >= v->sel->since_ns && time_ns < v->sel->until_ns);
}

static bool of_process(const void *ctx, uint32_t process)
{
	const struct query_view *v = ctx;

	return filter_process(v->sel, v->w, process);
}

static bool count_rate(struct query_view *v, const struct event *ev, const struct op_def *op)
{
	struct series **s = &v->rates[op->source];

	if (!*s) {
		*s = calloc(1, sizeof(**s));
		if (!*s)
			return false;
		(*s)->span_ns = RATE_SPAN_NS;
	}
	series_add(*s, ev->end_ns, 1, 0);
	return true;
}

bool query_view_event(struct query_view *v, const struct event *ev, const struct op_def *op,
		      uint32_t process, bool selected, bool late)
{
	if (!v->sel->resolved || ev->end_ns < v->sel->until_ns)
		if (!query_gpu_objects_event(&v->lives, ev, op))
			return false;
	if (!selected)
		return true;
	if (has_section(v, VIEW_BIT(RATES)) && !count_rate(v, ev, op))
		return false;
	if (has_section(v, VIEW_BIT(LATENCY)) && !query_time_buckets_event(v->lapse, ev, op))
		return false;
	if (op->flags & OP_CALL)
		return !has_section(v, VIEW_BIT(NCCL)) ||
		       query_comms_event(&v->comms, ev, op, process);
	if (has_section(v, VIEW_BIT(IO)) && !query_disks_event(&v->disks, v->w, ev, op))
		return false;
	if (has_section(v, VIEW_BIT(NET)) && !query_sockets_event(&v->sockets, ev, op))
		return false;
	if (ev->op == OP_SCHED_OFFCPU && !late) /* comes as a piece */
		return true;
	return !has_section(v, VIEW_BIT(HOST)) || query_details_event(&v->details, v->w, ev, op);
}

bool query_view_piece(struct query_view *v, enum query_view_piece what, const struct line_piece *p)
{
	if (what == QUERY_VIEW_OFFCPU && has_section(v, VIEW_BIT(TIME)) &&
	    is_in_window(v, p->end_ns) && of_process(v, p->process) &&
	    !query_loss_series_piece(&v->course, p))
		return false;
	if (what == QUERY_VIEW_OFFCPU)
		return !has_section(v, VIEW_BIT(HOST)) || !p->ev || p->ev->op != OP_SCHED_OFFCPU ||
		       !filter_event(v->sel, v->w, p->ev) || query_details_offcpu(&v->details, p);
	return !has_section(v, VIEW_BIT(TIME)) || !is_in_window(v, p->end_ns) ||
	       !of_process(v, p->process) ||
	       (query_thread_time_piece(&v->spent, p, what == QUERY_VIEW_CALL) &&
		(!query_thread_time_makes_calls(&v->spent, p->thread) ||
		 query_time_buckets_piece(v->lapse, p)));
}

bool query_view_record(struct query_view *v, const struct record *rec)
{
	switch (rec->kind) {
	case RECORD_SAMPLE:
		return query_samples_record(v->samples, rec);
	case RECORD_NODE:
		query_details_record(&v->details, rec);
		return true;
	case RECORD_SESSION:
		if (REC_HAS(rec, SESSION, off_cpu) && rec->u.SESSION.off_cpu)
			v->answer.off_cpu = true;
		return true;
	case RECORD_FILE:
	case RECORD_SOCKET:
	case RECORD_PEER:
		return late_names_record(&v->late_names, v->w, rec);
	default:
		return true;
	}
}

bool query_view_advance(struct query_view *v, int64_t floor_ns)
{
	if (floor_ns != INT64_MAX &&
	    (floor_ns == INT64_MIN ||
	     (v->settled_ns != INT64_MIN && floor_ns - v->settled_ns < SETTLE_NS)))
		return true;
	v->settled_ns = floor_ns;
	return query_gpu_objects_advance(&v->lives, floor_ns);
}

static bool rate_rows(struct query_view *v)
{
	v->answer.rates.n = 0;
	for (unsigned i = 0; i < SOURCES; i++)
		if (v->rates[i] &&
		    !vec_push(&v->answer.rates, (struct view_rate){ (uint8_t)i, v->rates[i] }))
			return false;
	return true;
}

const struct view *query_view_rows(struct query_view *v, const struct culprits *culprits)
{
	struct view *a = &v->answer;
	bool good = query_samples_rows(v->samples, a) &&
		    query_disks_rows(&v->disks, v->w, &v->late_names, a) &&
		    query_sockets_rows(&v->sockets, &v->late_names, a) &&
		    query_details_rows(&v->details, v->w, &v->late_names, culprits, a) &&
		    query_gpu_objects_rows(&v->lives, v->w, of_process, v, a) &&
		    query_comms_rows(&v->comms, a) && query_thread_time_rows(&v->spent, a) &&
		    rate_rows(v) && query_time_buckets_rows(v->lapse, a);

	query_loss_series_rows(&v->course, a);
	return good && !world_failed(v->w) ? a : NULL;
}

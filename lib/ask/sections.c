/* SPDX-License-Identifier: Apache-2.0 */
/* Hands what it is told to whom it concerns; each part has its file. */
#include "lib/ask/sections.h"

#include <stdlib.h>

#include "lib/ask/comms.h"
#include "lib/ask/loss_series.h"
#include "lib/ask/event_details.h"
#include "lib/ask/disk_requests_query.h"
#include "lib/ask/time_buckets.h"
#include "lib/ask/lives.h"
#include "lib/ask/cpu_sample_rows.h"
#include "lib/ask/sockets.h"
#include "lib/ask/thread_time.h"
#include "lib/stat/series.h"
#include "lib/world/late_names.h"

#define RATE_SPAN_NS 10000000ll	  /* of short recordings; it doubles as they get longer */
#define SETTLE_NS    1000000000ll /* how often what lives is brought up to date */
#define SOURCES	     256

struct ask_view {
	struct view answer;
	struct world *w;
	struct select *sel;
	struct ask_samples *samples;
	struct late_names told;
	struct ask_disks disks;
	struct ask_sockets sockets;
	struct ask_details details;
	struct ask_lives lives;
	struct ask_comms comms;
	struct ask_thread_time spent;
	struct ask_time_buckets *lapse;
	struct ask_loss_series course;
	struct series *rates[SOURCES]; /* by source; NULL: none of it */
	int64_t settled_ns;
};

static bool wants(const struct ask_view *v, unsigned sections)
{
	return v->answer.sections & sections;
}

struct ask_view *ask_view_new(struct world *w, struct select *sel, unsigned sections)
{
	struct ask_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->w = w;
	v->sel = sel;
	v->answer.sections = sections;
	v->settled_ns = INT64_MIN;
	v->samples = ask_samples_new();
	v->lapse = ask_time_buckets_new();
	if (!v->samples || !v->lapse ||
	    !ask_lives_start(&v->lives, w, wants(v, VIEW_BIT(MEMORY)),
			     wants(v, VIEW_BIT(GRAPHS)))) {
		ask_view_free(v);
		return NULL;
	}
	return v;
}

void ask_view_free(struct ask_view *v)
{
	if (!v)
		return;
	ask_samples_free(v->samples);
	late_names_free(&v->told);
	ask_disks_free(&v->disks);
	ask_sockets_free(&v->sockets);
	ask_details_free(&v->details);
	ask_lives_free(&v->lives);
	ask_comms_free(&v->comms);
	ask_thread_time_free(&v->spent);
	ask_time_buckets_free(v->lapse);
	ask_loss_series_free(&v->course);
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

static bool within(const struct ask_view *v, int64_t time_ns)
{
	return !v->sel->resolved || (time_ns >= v->sel->since_ns && time_ns < v->sel->until_ns);
}

static bool of_process(const void *ctx, uint32_t process)
{
	const struct ask_view *v = ctx;

	return select_process(v->sel, v->w, process);
}

static bool rate(struct ask_view *v, const struct event *ev, const struct op_def *op)
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

bool ask_view_event(struct ask_view *v, const struct event *ev, const struct op_def *op,
		    uint32_t process, bool selected, bool late)
{
	if (!v->sel->resolved || ev->end_ns < v->sel->until_ns)
		if (!ask_lives_event(&v->lives, ev, op))
			return false;
	if (!selected)
		return true;
	if (wants(v, VIEW_BIT(RATES)) && !rate(v, ev, op))
		return false;
	if (wants(v, VIEW_BIT(LATENCY)) && !ask_time_buckets_event(v->lapse, ev, op))
		return false;
	if (op->flags & OP_CALL)
		return !wants(v, VIEW_BIT(NCCL)) || ask_comms_event(&v->comms, ev, op, process);
	if (wants(v, VIEW_BIT(IO)) && !ask_disks_event(&v->disks, v->w, ev, op))
		return false;
	if (wants(v, VIEW_BIT(NET)) && !ask_sockets_event(&v->sockets, ev, op))
		return false;
	if (ev->op == OP_SCHED_OFFCPU && !late) /* comes as a piece */
		return true;
	return !wants(v, VIEW_BIT(HOST)) || ask_details_event(&v->details, v->w, ev, op);
}

bool ask_view_piece(struct ask_view *v, enum ask_view_piece what, const struct line_piece *p)
{
	if (what == ASK_VIEW_OFFCPU && wants(v, VIEW_BIT(TIME)) && within(v, p->end_ns) &&
	    of_process(v, p->process) && !ask_loss_series_piece(&v->course, p))
		return false;
	if (what == ASK_VIEW_OFFCPU)
		return !wants(v, VIEW_BIT(HOST)) || !p->ev || p->ev->op != OP_SCHED_OFFCPU ||
		       !select_event(v->sel, v->w, p->ev) || ask_details_offcpu(&v->details, p);
	return !wants(v, VIEW_BIT(TIME)) || !within(v, p->end_ns) || !of_process(v, p->process) ||
	       (ask_thread_time_piece(&v->spent, p, what == ASK_VIEW_CALL) &&
		(!ask_thread_time_calls(&v->spent, p->thread) ||
		 ask_time_buckets_piece(v->lapse, p)));
}

bool ask_view_record(struct ask_view *v, const struct record *rec)
{
	switch (rec->kind) {
	case RECORD_SAMPLE:
		return ask_samples_record(v->samples, rec);
	case RECORD_NODE:
		ask_details_record(&v->details, rec);
		return true;
	case RECORD_SESSION:
		if (REC_HAS(rec, SESSION, off_cpu) && rec->u.SESSION.off_cpu)
			v->answer.off_cpu = true;
		return true;
	case RECORD_FILE:
	case RECORD_SOCKET:
	case RECORD_PEER:
		return late_names_record(&v->told, v->w, rec);
	default:
		return true;
	}
}

bool ask_view_floor(struct ask_view *v, int64_t floor_ns)
{
	if (floor_ns != INT64_MAX &&
	    (floor_ns == INT64_MIN ||
	     (v->settled_ns != INT64_MIN && floor_ns - v->settled_ns < SETTLE_NS)))
		return true;
	v->settled_ns = floor_ns;
	return ask_lives_settle(&v->lives, floor_ns);
}

static bool rate_rows(struct ask_view *v)
{
	v->answer.rates.n = 0;
	for (unsigned i = 0; i < SOURCES; i++)
		if (v->rates[i] &&
		    !vec_push(&v->answer.rates, (struct view_rate){ (uint8_t)i, v->rates[i] }))
			return false;
	return true;
}

const struct view *ask_view_rows(struct ask_view *v, const struct culprits *culprits)
{
	struct view *a = &v->answer;
	bool good = ask_samples_rows(v->samples, a) &&
		    ask_disks_rows(&v->disks, v->w, &v->told, a) &&
		    ask_sockets_rows(&v->sockets, &v->told, a) &&
		    ask_details_rows(&v->details, v->w, &v->told, culprits, a) &&
		    ask_lives_rows(&v->lives, v->w, of_process, v, a) &&
		    ask_comms_rows(&v->comms, a) && ask_thread_time_rows(&v->spent, a) &&
		    rate_rows(v) && ask_time_buckets_rows(v->lapse, a);

	ask_loss_series_rows(&v->course, a);
	return good && !world_failed(v->w) ? a : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an object for each track with steps. What made a step slow is the difference of its causes
 * to those of an average step: also where the larger one is a call or own code.
 */
#include "lib/tracks/steps_json.h"

#include <stdlib.h>

#include "lib/tracks/loop_place.h"
#include "lib/tracks/loop_text.h"
#include "lib/tracks/reason.h"
#include "lib/tracks/track_json.h"

/* A step is slow when it takes half as much again as the median does. */
#define SLOW(median) ((median) + (median) / 2)
#define SLOW_TOLD    8
#define REASONS_TOLD 3
#define REASON_LEAST 0.05 /* of what a slow step has more than the average one */

struct steps_writer {
	struct path_tracks *t;
	struct track_names *names;
	struct jsonw *j;
	int64_t start_ns;
	struct buf text; /* scratch */
	/* Of the track that is written: */
	size_t at;
	struct track track;
	struct track_parts parts;
	struct path_causes all, one;
};

static void put_text(struct steps_writer *p, const char *key)
{
	jsonw_key_bytes(p->j, key, buf_bytes(&p->text));
	p->j->out->failed |= p->text.failed;
	buf_reset(&p->text);
}

/* By class; they sum to the causes' time. */
static void put_parts(struct steps_writer *p, const struct path_causes *c)
{
	uint64_t ns[PATH_CLASSES] = { 0 };

	for (size_t i = 0; i < c->v.n; i++)
		ns[c->v.v[i].class] += c->v.v[i].ns;
	jsonw_key_object(p->j, "parts");
	for (unsigned i = 0; i < PATH_CLASSES; i++)
		if (ns[i])
			jsonw_key_u64(p->j, path_class_text((enum path_class)i), ns[i]);
	jsonw_object_end(p->j);
}

static bool is_same(const struct path_cause *a, const struct path_cause *b)
{
	return a->class == b->class && a->culprit == b->culprit && a->device == b->device &&
	       a->object == b->object && a->exclusion == b->exclusion &&
	       a->waiter == b->waiter && a->gil == b->gil && a->resumed == b->resumed &&
	       !a->poll.interval_us == !b->poll.interval_us;
}

/* How much of that an average step has. */
static double average_of(const struct steps_writer *p, const struct path_cause *c)
{
	for (size_t i = 0; i < p->all.v.n; i++)
		if (is_same(&p->all.v.v[i], c))
			return (double)p->all.v.v[i].ns / (double)p->track.loop->estimate;
	return 0;
}

static void put_reason(struct steps_writer *p, const struct path_cause *c, double more)
{
	jsonw_object_begin(p->j);
	reason_print(&p->text, p->names, c);
	put_text(p, "text");
	jsonw_key_str(p->j, "class", path_class_text(c->class));
	jsonw_key_bool(p->j, "work", path_cause_is_work(c));
	jsonw_key_u64(p->j, "ns", c->ns);
	jsonw_key_u64(p->j, "more_ns", (uint64_t)(more + 0.5));
	jsonw_object_end(p->j);
}

static void put_reasons(struct steps_writer *p, double beyond_ns)
{
	uint64_t told = 0;

	jsonw_key_array(p->j, "more");
	for (unsigned n = 0; n < REASONS_TOLD; n++) {
		double most = REASON_LEAST * beyond_ns;
		size_t best = p->one.v.n;

		for (size_t i = 0; i < p->one.v.n && i < 64; i++) {
			double more = (double)p->one.v.v[i].ns - average_of(p, &p->one.v.v[i]);

			if (told >> i & 1 || more <= most)
				continue;
			most = more;
			best = i;
		}
		if (best == p->one.v.n)
			break;
		told |= UINT64_C(1) << best;
		put_reason(p, &p->one.v.v[best], most);
	}
	jsonw_array_end(p->j);
}

static uint64_t recorder_ns(const struct path_causes *c)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->v.n; i++)
		ns += c->v.v[i].class == PATH_RECORDER ? c->v.v[i].ns : 0;
	return ns;
}

/* What the recorder took makes no step slow. *told is how many were written. */
static bool put_slow(struct steps_writer *p, const struct slow_step *s, uint64_t slow_ns,
		     unsigned *told)
{
	uint64_t ns = (uint64_t)(s->end_ns - s->begin_ns);
	double average = (double)p->track.loop->ns / (double)p->track.loop->estimate;

	if (!path_tracks_slow_parts(p->t, p->at, s, &p->parts))
		return false;
	loop_place_parts(p->names->w, p->track.loop, p->track.anchor, &p->parts);
	if (!path_causes_make(&p->one, p->names, p->track.anchor, &p->parts))
		return false;
	if (ns <= slow_ns + recorder_ns(&p->one) || *told >= SLOW_TOLD)
		return true;
	++*told;
	jsonw_object_begin(p->j);
	jsonw_key_u64(p->j, "number", s->number);
	jsonw_key_i64(p->j, "t_ns", s->begin_ns - p->start_ns);
	jsonw_key_u64(p->j, "dur_ns", ns);
	put_parts(p, &p->one);
	put_reasons(p, (double)ns - average);
	jsonw_object_end(p->j);
	return true;
}

static int compare_slow(const void *a, const void *b)
{
	const struct slow_step *x = *(const struct slow_step *const *)a,
			       *y = *(const struct slow_step *const *)b;
	int64_t p = x->end_ns - x->begin_ns, q = y->end_ns - y->begin_ns;

	return p != q ? p < q ? 1 : -1 : x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool put_all_slow(struct steps_writer *p, const struct step_stats *stats, uint64_t median)
{
	const struct slow_step *v[STEPS_SLOW];
	unsigned told = 0;
	bool ok = true;

	for (unsigned i = 0; i < stats->slow.n; i++)
		v[i] = &stats->slow.v[i];
	qsort(v, stats->slow.n, sizeof(v[0]), compare_slow);
	jsonw_key_array(p->j, "slow");
	for (unsigned i = 0; ok && i < stats->slow.n; i++)
		ok = put_slow(p, v[i], SLOW(median), &told);
	jsonw_array_end(p->j);
	return ok;
}

static void put_who(struct steps_writer *p)
{
	struct track_who who = track_who_of(p->names->w, p->track.anchor);

	jsonw_key_u64(p->j, "pid", who.pid);
	jsonw_key_bytes(p->j, "node", who.node);
	jsonw_key_bytes(p->j, "comm", who.comm);
	jsonw_key_u64(p->j, "tid", who.tid);
}

static void put_loop(struct steps_writer *p, const struct loop *l)
{
	loop_text_print(&p->text, p->names->w, l);
	put_text(p, "loop");
	if (l->period) {
		jsonw_key_u64(p->j, "calls", l->period);
		loop_text_print_call(&p->text, p->names->w, l);
		put_text(p, "call");
	}
	jsonw_key_u64(p->j, "count", l->count);
	if (l->uncertain) {
		jsonw_key_u64(p->j, "estimated_count", l->estimate);
		jsonw_key_bool(p->j, "at_least", l->least);
	}
	jsonw_key_i64(p->j, "first_ns", l->first_ns - p->start_ns);
	jsonw_key_i64(p->j, "last_ns", l->last_ns - p->start_ns);
	jsonw_key_u64(p->j, "total_ns", l->ns);
}

static bool put_track(struct steps_writer *p, const struct step_stats *stats)
{
	const struct loop *l = p->track.loop;
	uint64_t median = sketch_quantile(&l->dur, 0.5);
	bool ok;

	if (!path_tracks_parts(p->t, p->at, WINDOW_STEPS, &p->parts))
		return false;
	loop_place_parts(p->names->w, l, p->track.anchor, &p->parts);
	if (!path_causes_make(&p->all, p->names, p->track.anchor, &p->parts))
		return false;
	jsonw_object_begin(p->j);
	put_who(p);
	put_loop(p, l);
	jsonw_key_u64(p->j, "p50_ns", median);
	jsonw_key_u64(p->j, "p99_ns", sketch_quantile(&l->dur, 0.99));
	jsonw_key_u64(p->j, "max_ns", l->dur.count ? l->dur.max : 0);
	/* How many steps are slow, from the distribution; those told below are the longest. */
	jsonw_key_u64(p->j, "slow_count", sketch_between(&l->dur, SLOW(median) + 1, UINT64_MAX));
	put_parts(p, &p->all);
	ok = put_all_slow(p, stats, median);
	jsonw_object_end(p->j);
	return ok;
}

bool steps_json(struct path_tracks *t, int64_t start_ns, struct jsonw *j)
{
	struct steps_writer p = {
		.t = t, .names = path_tracks_names(t), .j = j, .start_ns = start_ns
	};
	unsigned told = 0;
	bool ok = true;

	jsonw_key_array(j, "steps");
	for (p.at = 0; ok && p.at < path_tracks_count(t) && told < TRACKS_TOLD; p.at++) {
		const struct step_stats *stats = path_tracks_steps(t, p.at);

		p.track = path_tracks_get(t, p.at);
		if (!stats || !p.track.loop || !p.track.loop->estimate)
			continue;
		told++;
		ok = put_track(&p, stats);
	}
	jsonw_array_end(j);
	buf_free(&p.text);
	vec_free(&p.parts.v);
	path_causes_free(&p.all);
	path_causes_free(&p.one);
	return ok;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the event stream: merges the events of all simulated threads into canonical order, with
 * records between them. A thread computes its next step when its last one is used up, so memory
 * holds one step per thread, whatever the duration.
 */
#include "lib/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#include "lib/sim/loop.h"
#include "lib/sim/play.h"
#include "lib/sim/stream.h"

static uint32_t thread_of(const struct sim_run *r, const struct sim_actor *a,
			  const struct event *ev)
{
	return ev->ctx == r->cast.cpu_ctx || ev->ctx == r->cast.hog_ctx ||
			       ev->ctx == r->cast.other_cpu_ctx
		       ? 0
	       : a->peer   ? r->o.threads + 2
	       : a->holder ? r->o.threads + 1
			   : a->index + 1;
}

/* Whether x is before y in canonical order. Thread ids are in the order of the actors. */
static bool is_before(const struct sim_run *r, const struct sim_actor *a, const struct event *x,
		      const struct sim_actor *b, const struct event *y)
{
	uint32_t tx, ty;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns;
	tx = thread_of(r, a, x);
	ty = thread_of(r, b, y);
	return tx != ty ? tx < ty : x->depth > y->depth;
}

/* The actor whose event is next; NULL at the end. */
static struct sim_actor *find_earliest(struct sim_stream *s)
{
	struct sim_actor *best = NULL;

	for (unsigned i = 0; i < s->nactors; i++) {
		struct sim_actor *a = &s->actors[i];

		while (a->taken == a->out.n)
			if (!sim_actor_step(a))
				break;
		if (a->taken == a->out.n)
			continue;
		if (!best ||
		    is_before(&s->run, a, &a->out.v[a->taken], best, &best->out.v[best->taken]))
			best = a;
	}
	return best;
}

static unsigned layer_of(const struct event *ev)
{
	unsigned source = ev->op >> 8;

	return source == SOURCE_CUDA ? 0 : source == SOURCE_DRIVER ? 1 : 2;
}

/* Fills the batch with events up to the next tick. Returns their number; 0: there are no more. */
static size_t fill_batch(struct sim_stream *s)
{
	size_t n = 0;

	while (n < SIM_BATCH) {
		struct sim_actor *a = find_earliest(s);
		const struct event *ev;

		if (!a)
			break;
		ev = &a->out.v[a->taken];
		if (ev->end_ns > s->tick_ns) {
			if (n)
				break;
			sim_say_samples(s, s->tick_ns);
			if (++s->seconds % 10 == 0)
				sim_say_clock(s, s->tick_ns, "tick");
			s->tick_ns += SIM_SECOND_NS;
			break;
		}
		s->delivered[layer_of(ev)]++;
		s->latest_ns = ev->end_ns;
		s->batch[n++] = *ev;
		a->taken++;
	}
	return n;
}

static int64_t floor_of(const struct sim_stream *s)
{
	int64_t floor = INT64_MAX;

	for (unsigned i = 0; i < s->nactors; i++) {
		const struct sim_actor *a = &s->actors[i];
		int64_t at = a->taken < a->out.n ? a->step_ns : a->now_ns;

		floor = at < floor ? at : floor;
	}
	return floor;
}

static int next(struct event_stream *base, struct stream_item *item, struct err *e)
{
	struct sim_stream *s = (struct sim_stream *)base;

	memset(item, 0, sizeof(*item));
	item->watermark_ns = s->latest_ns;
	item->floor_ns = floor_of(s);
	if (s->at == AT_SEGMENT) {
		item->kind = STREAM_SEGMENT;
		s->at = AT_EVENTS;
		sim_say_start(s);
		return 1;
	}
	for (;;) {
		if (s->next_pending < s->npending) {
			item->kind = STREAM_RECORD;
			item->record = &s->pending[s->next_pending++];
			return 1;
		}
		s->next_pending = s->npending = 0;
		if (s->at == AT_LAST) {
			item->kind = STREAM_LAST;
			s->at = AT_END;
			return 1;
		}
		if (s->at == AT_END)
			return 0;
		item->n = fill_batch(s);
		if (s->run.nomem)
			return err_nomem(e);
		if (item->n) {
			item->kind = STREAM_EVENTS;
			item->events = s->batch;
			item->watermark_ns = s->latest_ns;
			item->floor_ns = floor_of(s);
			return 1;
		}
		if (s->npending == 0) {
			sim_say_end(s);
			s->at = AT_LAST;
		}
	}
}

static void close_stream(struct event_stream *base)
{
	struct sim_stream *s = (struct sim_stream *)base;

	for (unsigned i = 0; i < s->nactors; i++)
		vec_free(&s->actors[i].out);
	free(s);
}

static void plan_truth(struct sim_run *r)
{
	const struct sim_cast *c = &r->cast;
	uint32_t victim = c->victim_pid;

	r->truth[PLANT_PREEMPTED] =
		(struct sim_truth){ "cpu-preempted", r->o.hog_comm, c->hog_pid, victim, 0, 0 };
	r->truth[PLANT_CONTENDED] =
		(struct sim_truth){ "cpu-contended", r->o.hog_comm, c->hog_pid, victim, 0, 0 };
	if (c->other_thread)
		for (unsigned i = PLANT_PREEMPTED; i <= PLANT_CONTENDED; i++)
			r->truth[i] = (struct sim_truth){
				"noisy-neighbour", r->o.hog_cgroup, 0, victim, 0, 0
			};
	r->truth[PLANT_THROTTLED] =
		(struct sim_truth){ "cpu-throttled", "/kubepods/pod-train/main", 0, victim, 0, 0 };
	r->truth[PLANT_LOCK] =
		(struct sim_truth){ "lock-wait", "loader", c->holder_tid, victim, 0, 0 };
	r->truth[PLANT_LOCK_VIA] =
		(struct sim_truth){ "lock-wait", r->o.hog_comm, c->hog_pid, victim, 0, 0 };
	r->truth[PLANT_PLAY] = (struct sim_truth){ "", "train", 0, victim, 0, 0 };
	if (r->o.play && r->o.play->kind)
		r->truth[PLANT_PLAY].kind = r->o.play->kind;
	if (r->o.play && r->o.play->culprit_thread)
		r->truth[PLANT_PLAY].culprit_pid = c->victim_pid + r->o.play->culprit_thread;
	if (r->o.play && r->o.play->culprit)
		r->truth[PLANT_PLAY].culprit = r->o.play->culprit;
	r->truth[PLANT_ERRORS] = (struct sim_truth){ "gpu-oom", "cudaMalloc", 0, victim, 0, 0 };
	r->truth[PLANT_STOLEN] = (struct sim_truth){ "stolen", "", 0, victim, 0, 0 };
	r->truth[PLANT_DISK] = (struct sim_truth){ "disk-stall", "8:16", 0, victim, 0, 0 };
	r->truth[PLANT_COLD] = (struct sim_truth){ "cold-start", "train", victim, victim, 0, 0 };
	r->truth[PLANT_COPY] = (struct sim_truth){ "copy-bound", "cudaMemcpy", 0, victim, 0, 0 };
	r->truth[PLANT_SPIKE] =
		(struct sim_truth){ "periodic-spike", "cudaMalloc", 0, victim, 0, 0 };
	r->truth[PLANT_SHARED] =
		(struct sim_truth){ "gpu-shared", "embed-server", c->peer_pid, victim, 0, 0 };
}

/* Who plays: the training threads, and whom a plant brings. */
static void add_actor(struct sim_stream *s, unsigned index, bool holder, bool peer)
{
	const struct sim_cast *c = &s->run.cast;
	struct sim_actor *a = &s->actors[s->nactors++];

	a->run = &s->run;
	a->index = index;
	a->holder = holder;
	a->peer = peer;
	a->ctx = holder ? c->holder_ctx : peer ? c->peer_ctx : c->thread_ctx[index];
	a->random.state = sim_at(s->run.o.seed, 100 + index, 0);
	a->now_ns = a->step_ns = SIM_BEGIN_NS + (int64_t)index * 7000;
	if (index && s->run.warm_ns)
		a->now_ns = a->step_ns = s->run.warm_ns + (int64_t)index * 7000;
}

int sim_open(struct event_stream **out, struct world *w, const struct sim_options *o, struct err *e)
{
	struct sim_stream *s;

	if (o->threads < 1 || o->threads > SIM_THREADS)
		return err_set(e, ERR_USAGE, "between 1 and %d threads can be generated",
			       SIM_THREADS);
	if (o->hog_percent + o->contend_percent + o->throttle_percent + o->lock_percent +
		    o->disk_percent + o->steal_percent + o->cold_percent + o->copy_percent +
		    o->spike_percent + o->share_percent >
	    80)
		return err_set(e, ERR_USAGE,
			       "plants may take at most 80 percent of the time together");
	if (o->hog_percent && (o->hog_period_us < 100 || o->hog_period_us > 1000000))
		return err_set(e, ERR_USAGE, "the hog's period must lie between 100 us and 1 s");
	if (o->spike_percent && (o->spike_every < 2 || o->spike_every > 1000000))
		return err_set(e, ERR_USAGE, "a spike comes every 2 to 1000000 steps");
	if (o->duration_ns > 7 * 86400ull * SIM_SECOND_NS)
		return err_set(e, ERR_USAGE, "at most seven days can be generated");
	if (o->launches > 100000 || o->step_us > 10000000 || o->device_us > 10000000 ||
	    o->driver_ns > 1000000000)
		return err_set(e, ERR_USAGE,
			       "a step may have at most 100000 launches and ten seconds of work");
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(e);
	s->base.next = next;
	s->base.close = close_stream;
	s->run.o = *o;
	if (!s->run.o.hog_comm)
		s->run.o.hog_comm = "log-compactor";
	s->run.begin_ns = s->latest_ns = SIM_BEGIN_NS;
	s->run.end_ns = SIM_BEGIN_NS + (int64_t)o->duration_ns;
	s->tick_ns = SIM_BEGIN_NS + SIM_SECOND_NS;
	sim_cast_fill(&s->run.cast, w, &s->run.o);
	if (world_failed(w)) {
		free(s);
		return err_nomem(e);
	}
	plan_truth(&s->run);
	sim_plants_prepare(&s->run);
	for (unsigned i = 0; i < o->threads; i++)
		add_actor(s, i, false, false);
	if (o->lock_percent)
		add_actor(s, o->threads, true, false);
	if (o->share_percent)
		add_actor(s, s->nactors, false, true);
	/* From then on an actor has a last event wherever a play asks for one. */
	for (unsigned i = 0; i < s->nactors; i++) {
		if (!vec_reserve(&s->actors[i].out, 1)) {
			close_stream(&s->base);
			return err_nomem(e);
		}
	}
	*out = &s->base;
	return 0;
}

const struct sim_truth *sim_truths(const struct event_stream *base, unsigned *n)
{
	*n = PLANTS;
	return ((const struct sim_stream *)base)->run.truth;
}

int64_t sim_real_minus_mono_ns(void)
{
	return SIM_REAL_NS - SIM_BEGIN_NS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream: records as a recorder would write them, and the actors' events merged into canonical
 * order. An actor is asked for its next step when its last one is used up, so memory holds one step
 * per thread whatever the duration.
 */
#include "lib/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#include "lib/sim/actor.h"

#define BATCH	      1024
#define BEGIN_NS      1000000000000 /* on the monotonic clock */
#define BOOT_AHEAD_NS 2000000000
#define REAL_NS	      1767225600000000000 /* 2026-01-01 00:00:00 UTC, when the recording begins */
#define SECOND_NS     1000000000

struct sim_stream {
	struct event_stream base;
	struct sim_run run;
	struct sim_actor actors[SIM_THREADS + 1];
	unsigned nactors;
	struct event batch[BATCH];
	struct record pending[24];
	unsigned npending, next_pending;
	enum { AT_SEGMENT, AT_EVENTS, AT_LAST, AT_END } at;
	int64_t tick_ns, latest_ns;
	uint64_t seconds, delivered[3]; /* by coverage layer */
};

static struct record *pend(struct sim_stream *s, enum record_kind kind)
{
	struct record *r = &s->pending[s->npending++];

	memset(r, 0, sizeof(*r));
	r->kind = (uint16_t)kind;
	return r;
}

static void pend_clock(struct sim_stream *s, int64_t now_ns, const char *source)
{
	struct record *r = pend(s, RECORD_CLOCK);

	REC_SET(r, CLOCK, mono_ns, now_ns);
	REC_SET(r, CLOCK, boot_ns, now_ns + BOOT_AHEAD_NS);
	REC_SET(r, CLOCK, real_ns, now_ns - BEGIN_NS + REAL_NS);
	REC_SET(r, CLOCK, uncertainty_ns, 120);
	REC_SET(r, CLOCK, source, bytes_of(source));
}

static void pend_coverage(struct sim_stream *s, int64_t now_ns)
{
	static const struct {
		const char *layer, *path, *site;
		uint32_t attached;
	} layers[3] = {
		{ "runtime", "/usr/local/cuda/lib64/libcudart.so.12", "+0", 16 },
		{ "driver", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "+10", 21 },
		{ "sched", "", "", 3 },
	};

	for (unsigned i = 0; i < 3; i++) {
		struct record *r = pend(s, RECORD_COVERAGE);

		REC_SET(r, COVERAGE, time_ns, now_ns);
		REC_SET(r, COVERAGE, process, s->run.cast.victim_process);
		REC_SET(r, COVERAGE, layer, bytes_of(layers[i].layer));
		REC_SET(r, COVERAGE, requested, layers[i].attached);
		REC_SET(r, COVERAGE, attached, layers[i].attached);
		REC_SET(r, COVERAGE, failed, 0);
		REC_SET(r, COVERAGE, delivered, s->delivered[i]);
		if (*layers[i].path)
			REC_SET(r, COVERAGE, path, bytes_of(layers[i].path));
		if (*layers[i].site)
			REC_SET(r, COVERAGE, site, bytes_of(layers[i].site));
	}
}

static void pend_sample(struct sim_stream *s, int64_t now_ns, enum metric_id metric, double value)
{
	struct record *r = pend(s, RECORD_SAMPLE);

	REC_SET(r, SAMPLE, time_ns, now_ns);
	REC_SET(r, SAMPLE, metric, metric);
	REC_SET(r, SAMPLE, value, value);
	if (metric == METRIC_PROC_RUN_DELAY_NS)
		REC_SET(r, SAMPLE, process, s->run.cast.victim_process);
	if (metric == METRIC_CGROUP_THROTTLED_NS || metric == METRIC_CGROUP_THROTTLED ||
	    metric == METRIC_CGROUP_PERIODS)
		REC_SET(r, SAMPLE, cgroup, s->run.cast.cgroup);
}

static void pend_samples(struct sim_stream *s, int64_t now_ns)
{
	const struct sim_options *o = &s->run.o;
	uint64_t delay = 0, throttled = s->actors[0].throttled_ns, times = s->actors[0].throttled;

	for (unsigned i = 0; i < s->nactors; i++)
		delay += s->actors[i].run_delay_ns;
	pend_sample(s, now_ns, METRIC_CPU_BUSY, 40 + o->hog_percent / 4.0);
	pend_sample(s, now_ns, METRIC_LOAD_1, o->threads + o->hog_percent / 100.0);
	pend_sample(s, now_ns, METRIC_MEM_USED, 12.0 * (1 << 30));
	pend_sample(s, now_ns, METRIC_PSI_CPU_SOME, (double)(delay / 1000));
	pend_sample(s, now_ns, METRIC_STEAL_NS, 0);
	pend_sample(s, now_ns, METRIC_PROC_RUN_DELAY_NS, (double)delay);
	if (o->throttle_percent) {
		pend_sample(s, now_ns, METRIC_CGROUP_THROTTLED_NS, (double)throttled);
		pend_sample(s, now_ns, METRIC_CGROUP_THROTTLED, (double)times);
		pend_sample(s, now_ns, METRIC_CGROUP_PERIODS,
			    (double)((now_ns - s->run.begin_ns) / SIM_QUOTA_NS));
	}
}

static void pend_start(struct sim_stream *s)
{
	struct sim_run *r = &s->run;
	struct record *rec = pend(s, RECORD_SESSION);

	REC_SET(rec, SESSION, start_ns, r->begin_ns);
	REC_SET(rec, SESSION, tool, bytes_of("ingero-demo"));
	REC_SET(rec, SESSION, target, bytes_of("generated"));
	REC_SET(rec, SESSION, off_cpu, 1);
	REC_SET(rec, SESSION, seed, r->o.seed);
	rec = pend(s, RECORD_NODE);
	REC_SET(rec, NODE, node, r->cast.node);
	REC_SET(rec, NODE, hostname, bytes_of("gpu-host-1"));
	REC_SET(rec, NODE, kernel, bytes_of("generated"));
	REC_SET(rec, NODE, arch, bytes_of("x86_64"));
	REC_SET(rec, NODE, cpus, s->nactors);
	REC_SET(rec, NODE, memory_bytes, 64ull << 30);
	pend_clock(s, r->begin_ns, "start");
	pend_coverage(s, r->begin_ns);
}

static void pend_end(struct sim_stream *s)
{
	struct sim_run *r = &s->run;

	pend_samples(s, s->latest_ns);
	pend_coverage(s, s->latest_ns);
	pend_clock(s, s->latest_ns, "end");
	for (unsigned i = 0; i < PLANTS; i++) {
		const struct sim_truth *t = &r->truth[i];
		struct record *rec;

		if (t->count == 0)
			continue;
		rec = pend(s, RECORD_TRUTH);
		REC_SET(rec, TRUTH, time_ns, s->latest_ns);
		REC_SET(rec, TRUTH, kind, bytes_of(t->kind));
		REC_SET(rec, TRUTH, culprit, bytes_of(t->culprit));
		REC_SET(rec, TRUTH, culprit_pid, t->culprit_pid);
		REC_SET(rec, TRUTH, victim_pid, t->victim_pid);
		REC_SET(rec, TRUTH, lost_ns, t->lost_ns);
		REC_SET(rec, TRUTH, count, t->count);
	}
}

static uint32_t thread_of(const struct sim_run *r, const struct sim_actor *a,
			  const struct event *ev)
{
	return ev->ctx == r->cast.cpu_ctx ? 0 : a->holder ? r->o.threads + 1 : a->index + 1;
}

/* Canonical order. Thread ids were minted in the order of the actors. */
static bool before(const struct sim_run *r, const struct sim_actor *a, const struct event *x,
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
static struct sim_actor *earliest(struct sim_stream *s)
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
		    before(&s->run, a, &a->out.v[a->taken], best, &best->out.v[best->taken]))
			best = a;
	}
	return best;
}

static unsigned layer_of(const struct event *ev)
{
	unsigned source = ev->op >> 8;

	return source == SOURCE_CUDA ? 0 : source == SOURCE_DRIVER ? 1 : 2;
}

/* Events up to the next tick. 0 when there are none left at all. */
static size_t fill(struct sim_stream *s)
{
	size_t n = 0;

	while (n < BATCH) {
		struct sim_actor *a = earliest(s);
		const struct event *ev;

		if (!a)
			break;
		ev = &a->out.v[a->taken];
		if (ev->end_ns > s->tick_ns) {
			if (n)
				break;
			pend_samples(s, s->tick_ns);
			if (++s->seconds % 10 == 0)
				pend_clock(s, s->tick_ns, "tick");
			s->tick_ns += SECOND_NS;
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
		pend_start(s);
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
		item->n = fill(s);
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
			pend_end(s);
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
	r->truth[PLANT_THROTTLED] =
		(struct sim_truth){ "cpu-throttled", "/kubepods/pod-train/main", 0, victim, 0, 0 };
	r->truth[PLANT_LOCK] =
		(struct sim_truth){ "lock-wait", "loader", c->holder_tid, victim, 0, 0 };
	r->truth[PLANT_LOCK_VIA] =
		(struct sim_truth){ "lock-wait", r->o.hog_comm, c->hog_pid, victim, 0, 0 };
	r->truth[PLANT_DISK] = (struct sim_truth){ "disk-stall", "8:16", 0, victim, 0, 0 };
}

int sim_open(struct event_stream **out, struct world *w, const struct sim_options *o, struct err *e)
{
	struct sim_stream *s;

	if (o->threads < 1 || o->threads > SIM_THREADS)
		return err_set(e, ERR_USAGE, "between 1 and %d threads can be generated",
			       SIM_THREADS);
	if (o->hog_percent + o->contend_percent + o->throttle_percent + o->lock_percent +
		    o->disk_percent >
	    80)
		return err_set(e, ERR_USAGE,
			       "plants may take at most 80 percent of the time together");
	if (o->hog_percent && (o->hog_period_us < 100 || o->hog_period_us > 1000000))
		return err_set(e, ERR_USAGE, "the hog's period must lie between 100 us and 1 s");
	if (o->duration_ns > 7 * 86400ull * SECOND_NS)
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
	s->run.begin_ns = s->latest_ns = BEGIN_NS;
	s->run.end_ns = BEGIN_NS + (int64_t)o->duration_ns;
	s->tick_ns = BEGIN_NS + SECOND_NS;
	sim_cast_fill(&s->run.cast, w, &s->run.o);
	if (world_failed(w)) {
		free(s);
		return err_nomem(e);
	}
	plan_truth(&s->run);
	s->nactors = o->threads + (o->lock_percent != 0);
	for (unsigned i = 0; i < s->nactors; i++) {
		struct sim_actor *a = &s->actors[i];

		a->run = &s->run;
		a->index = i;
		a->holder = i == o->threads;
		a->ctx = a->holder ? s->run.cast.holder_ctx : s->run.cast.thread_ctx[i];
		a->random.state = sim_at(o->seed, 100 + i, 0);
		a->now_ns = a->step_ns = BEGIN_NS + (int64_t)i * 7000;
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
	return REAL_NS - BEGIN_NS;
}

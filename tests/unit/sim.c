/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated recordings agree with themselves: order, containment, coverage of waits, and the truth
 * they state is what their events say.
 */
#include "lib/sim/sim.h"

#include "lib/base/hash.h"
#include "tests/tap.h"

#define MAX_SLICES (1 << 20)
#define TRUTHS	   16

static struct {
	int64_t start, end;
	uint32_t cpu, who;
} slices[MAX_SLICES];
static size_t nslices;

struct sums {
	uint64_t events, disorder, orphan, uncovered, watermark, floor;
	uint64_t hog_preempted, hog_contended, throttled, lock, disk, errors, hash, first_wait;
	uint64_t nhog_preempted, nhog_contended, nthrottled, nlock, ndisk;
	uint64_t calls_at_depth[4], segments, lasts, truths, clocks, samples;
	uint64_t first_calls, first_ns, execs, copy_ns,
		ncopies; /* what plants add, by its events */
	uint64_t waited_ns, peer_calls, slow_allocs;
};

/* Starts of what is open on each thread are not known in a stream in end order, so containment is
 * checked from the inside: what ended at depth d+1 since the last event at depth d lies inside the
 * next event at depth d. */
struct inner {
	int64_t first_start[8], last_end[8];
	bool any[8];
};

static uint64_t overlap(uint32_t cpu, int64_t a, int64_t b, uint32_t who)
{
	uint64_t ns = 0;

	for (size_t i = nslices; i-- > 0 && slices[i].end > a - 200000000;) {
		int64_t s = slices[i].start > a ? slices[i].start : a,
			e = slices[i].end < b ? slices[i].end : b;

		if (slices[i].cpu == cpu && (!who || slices[i].who == who) && e > s)
			ns += (uint64_t)(e - s);
	}
	return ns;
}

static bool contained(struct inner *in, const struct event *ev)
{
	unsigned d = ev->depth;
	bool good = true;

	if (d + 1 < 8 && in->any[d + 1]) {
		good = in->first_start[d + 1] >= event_start(ev) &&
		       in->last_end[d + 1] <= ev->end_ns;
		in->any[d + 1] = false;
	}
	if (in->any[d])
		good = good && event_start(ev) >= in->last_end[d];
	else
		in->first_start[d] = event_start(ev);
	in->any[d] = true;
	in->last_end[d] = ev->end_ns;
	return good;
}

static uint32_t hog_thread(const struct world *w, const char *comm)
{
	for (uint32_t i = 1; i <= world_count(w, WORLD_THREAD); i++) {
		struct bytes name = world_text(w, world_get_thread(w, i)->comm);

		if (bytes_equal(name, bytes_of(comm)))
			return i;
	}
	return 0;
}

static void wait(struct sums *s, const struct event *ev, const struct op_def *def, uint32_t hog,
		 bool victim)
{
	uint64_t wait_ns = 0, throttled = 0, cpu = 0, kind = 0, blocked, took;

	event_get(ev, def, COL_WAIT_NS, &wait_ns);
	event_get(ev, def, COL_THROTTLED_NS, &throttled);
	event_get(ev, def, COL_CPU_IN, &cpu);
	event_get(ev, def, COL_OBJECT_KIND, &kind);
	blocked = ev->dur_ns - wait_ns;
	if (overlap((uint32_t)cpu, ev->end_ns - (int64_t)wait_ns, ev->end_ns, 0) !=
	    wait_ns - throttled)
		s->uncovered++;
	if (!victim)
		return;
	took = overlap((uint32_t)cpu, ev->end_ns - (int64_t)wait_ns, ev->end_ns, hog);
	if (blocked) {
		s->hog_contended += took;
		s->nhog_contended += took != 0;
	} else {
		s->hog_preempted += took;
		s->nhog_preempted += took != 0;
	}
	s->throttled += throttled;
	s->nthrottled += throttled != 0;
	if (kind == OBJECT_FUTEX) {
		s->lock += blocked;
		s->nlock++;
	}
	if (kind == OBJECT_DISK) {
		s->disk += blocked;
		s->ndisk++;
	}
}

static void plants(struct sums *s, struct world *w, const struct event *ev,
		   const struct world_ctx *ctx)
{
	const struct world_thread *t = world_get_thread(w, ctx->thread);
	const struct world_process *p = world_get_process(w, t->process);

	s->execs += ev->op == OP_PROC_EXEC;
	s->peer_calls += p->uid == 1001 && (op_builtin(ev->op)->flags & OP_CALL);
	if (ev->op == OP_CU_INIT || ev->op == OP_CU_DEVICE_PRIMARY_CTX_RETAIN ||
	    ev->op == OP_CU_KERNEL_GET_FUNCTION) {
		s->first_calls++;
		s->first_ns += ev->dur_ns;
	}
	if (ev->op == OP_CUDA_MEMCPY) {
		s->copy_ns += ev->dur_ns;
		s->ncopies++;
	}
	s->slow_allocs += ev->op == OP_CUDA_MALLOC && ev->dur_ns > 3000000 && p->uid == 1000 &&
			  ev->dur_ns < 20000000;
}

static void event(struct sums *s, struct world *w, const struct event *ev, struct inner *inner,
		  uint32_t hog)
{
	const struct op_def *def = op_builtin(ev->op);
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);

	s->events++;
	s->hash = hash_bytes(&ev->end_ns, sizeof(ev->end_ns), s->hash);
	s->hash = hash_bytes(&ev->dur_ns, sizeof(ev->dur_ns), s->hash + ev->op);
	s->errors += ev->ret != 0;
	if (ev->op == OP_SCHED_OCCUPIED) {
		uint64_t cpu = 0, who = 0;

		event_get(ev, def, COL_CPU, &cpu);
		event_get(ev, def, COL_OCCUPANT, &who);
		if (nslices < MAX_SLICES) {
			slices[nslices].start = event_start(ev);
			slices[nslices].end = ev->end_ns;
			slices[nslices].cpu = (uint32_t)cpu;
			/* A neighbour's two commands are one culprit. */
			if (who && who == hog_thread(w, "zstd"))
				who = hog;
			slices[nslices++].who = (uint32_t)who;
		}
		return;
	}
	if (def->track == TRACK_THREAD && !contained(&inner[ctx->thread], ev))
		s->orphan++;
	if (def->flags & OP_CALL)
		s->calls_at_depth[ev->depth]++;
	plants(s, w, ev, ctx);
	if (ev->op == OP_SCHED_OFFCPU) {
		const struct world_thread *t = world_get_thread(w, ctx->thread);

		wait(s, ev, def, hog, t->tid == world_get_process(w, t->process)->tgid);
	}
}

static struct sums drain(const struct sim_options *o, struct sim_truth truth[TRUTHS],
			 uint64_t told[TRUTHS])
{
	struct world *w = world_new();
	struct sums s = { 0 };
	struct event_stream *in;
	struct stream_item item;
	struct err e;
	struct event last = { .end_ns = INT64_MIN };
	uint32_t last_thread = 0, hog;
	static struct inner inner[256];
	int64_t mark = INT64_MIN, floor = INT64_MIN;
	const struct sim_truth *t;
	unsigned n;
	int rc;

	memset(inner, 0, sizeof(inner));
	nslices = 0;
	rc = sim_open(&in, w, o, &e);
	if (rc)
		exit(1);
	hog = hog_thread(w, "log-compactor");
	while ((rc = in->next(in, &item, &e)) > 0) {
		s.segments += item.kind == STREAM_SEGMENT;
		s.lasts += item.kind == STREAM_LAST;
		if (item.kind == STREAM_RECORD) {
			s.truths += item.record->kind == RECORD_TRUTH;
			s.clocks += item.record->kind == RECORD_CLOCK;
			s.samples += item.record->kind == RECORD_SAMPLE;
			if (item.record->kind == RECORD_TRUTH && s.truths <= TRUTHS)
				told[s.truths - 1] = item.record->u.TRUTH.lost_ns;
		}
		for (size_t i = 0; i < item.n; i++) {
			const struct event *ev = &item.events[i];
			uint32_t thread = world_get_ctx(w, ev->ctx)->thread;

			s.watermark += ev->end_ns < mark;
			s.floor += event_start(ev) < floor;
			if (ev->end_ns < last.end_ns ||
			    (ev->end_ns == last.end_ns &&
			     (thread < last_thread ||
			      (thread == last_thread && thread && ev->depth >= last.depth))))
				s.disorder++;
			last = *ev;
			last_thread = thread;
			event(&s, w, ev, inner, hog);
		}
		mark = item.watermark_ns;
		floor = item.floor_ns;
	}
	is_int(rc, 0, "the stream ends");
	t = sim_truths(in, &n);
	memcpy(truth, t, n * sizeof(*t));
	in->close(in);
	world_free(w);
	return s;
}

enum {
	PREEMPTED,
	CONTENDED,
	THROTTLED,
	LOCK,
	LOCK_VIA,
	DISK,
	STOLEN,
	COLD,
	COPY,
	SPIKE,
	SHARED,
	ERRORS,
	PLAY
};

static void check(const char *name, const struct sim_options *o)
{
	struct sim_truth t[TRUTHS];
	uint64_t told[TRUTHS] = { 0 };
	struct sums s = drain(o, t, told);
	unsigned planted = 0;

	printf("# %s: %" PRIu64 " events\n", name, s.events);
	is_u64(s.disorder, 0, "%s: canonical order", name);
	is_u64(s.orphan, 0, "%s: calls contain what happened inside them", name);
	is_u64(s.uncovered, 0, "%s: slices cover every wait", name);
	is_u64(s.watermark, 0, "%s: nothing ends before the watermark", name);
	is_u64(s.floor, 0, "%s: nothing starts before the floor", name);
	is_u64(s.calls_at_depth[0] + s.first_calls, s.calls_at_depth[1],
	       "%s: one driver call in each runtime call, more in the first ones", name);
	is_u64(s.segments, 1, "%s: one segment", name);
	is_u64(s.lasts, 1, "%s: one end", name);
	is_u64(s.hog_preempted, t[PREEMPTED].lost_ns, "%s: time preempted", name);
	is_u64(s.nhog_preempted, t[PREEMPTED].count, "%s: preemptions", name);
	is_u64(s.hog_contended, t[CONTENDED].lost_ns, "%s: time contended", name);
	is_u64(s.nhog_contended, t[CONTENDED].count, "%s: late wake-ups", name);
	is_u64(s.throttled, t[THROTTLED].lost_ns, "%s: time throttled", name);
	is_u64(s.nthrottled, t[THROTTLED].count, "%s: times throttled", name);
	is_u64(s.lock, t[LOCK].lost_ns + t[LOCK_VIA].lost_ns, "%s: time for the lock", name);
	is_u64(s.nlock, t[LOCK].count, "%s: waits for the lock", name);
	is_u64(s.disk, t[DISK].lost_ns, "%s: time for the disk", name);
	is_u64(s.ndisk, t[DISK].count, "%s: reads", name);
	is_u64(s.execs, t[COLD].count != 0, "%s: a process that starts is seen to", name);
	ok(s.first_ns <= t[COLD].lost_ns, "%s: the first calls took no more than is planted", name);
	is_u64(s.copy_ns, t[COPY].lost_ns, "%s: time in copies", name);
	is_u64(s.ncopies, t[COPY].count, "%s: copies", name);
	if (t[SPIKE].count)
		is_u64(s.slow_allocs, t[SPIKE].count, "%s: allocations that took long", name);
	ok((s.peer_calls > 0) == (t[SHARED].count > 0), "%s: the other process makes calls", name);
	for (unsigned i = 0; i < PLAY + 1; i++)
		if (t[i].count && i != STOLEN)
			is_u64(told[planted++], t[i].lost_ns, "%s: told in the recording: %s", name,
			       t[i].kind);
	is_u64(s.truths, planted, "%s: one record per plant", name);
}

static double share(const struct sim_options *o, unsigned plant)
{
	struct sim_truth t[TRUTHS];
	uint64_t told[TRUTHS];

	drain(o, t, told);
	return (double)t[plant].lost_ns / (double)o->duration_ns;
}

int main(void)
{
	struct sim_options o;
	struct sim_truth t[TRUTHS];
	uint64_t told[TRUTHS];
	struct sums a, b;
	unsigned n;
	const struct sim_scenario *sc = sim_scenarios(&n);
	struct err e;
	struct event_stream *in;
	struct world *w;

	for (unsigned i = 0; i < n; i++) {
		sim_scenario_options(sc[i].name, &o);
		o.duration_ns = 3000000000;
		check(sc[i].name, &o);
	}
	sim_options_init(&o);
	o.threads = 5;
	o.seed = 77;
	o.hog_percent = o.contend_percent = o.throttle_percent = o.lock_percent = o.disk_percent =
		16;
	o.lock_holder_preempted = true;
	o.duration_ns = 3000000000;
	check("everything at once", &o);

	sim_options_init(&o);
	a = drain(&o, t, told);
	b = drain(&o, t, told);
	is_u64(a.hash, b.hash, "the same options give the same events");
	is_u64(a.truths, 0, "a clean recording states no truth");
	ok(a.clocks == 3 && a.samples >= 60,
	   "clocks at start, ten seconds and end; samples each second");
	o.seed = 2;
	b = drain(&o, t, told);
	ok(a.hash != b.hash, "another seed gives others");
	o.error_every = 4;
	b = drain(&o, t, told);
	ok(b.errors > 10, "allocations fail when asked to");

	sim_options_init(&o);
	o.hog_percent = 20;
	is_near(share(&o, PREEMPTED) + share(&o, CONTENDED), 0.19, 0.03,
		"a hog of 20 %% takes about that");
	sim_options_init(&o);
	o.contend_percent = 20;
	is_near(share(&o, CONTENDED), 0.20, 0.01, "late wake-ups of 20 %%");
	sim_options_init(&o);
	o.throttle_percent = 30;
	is_near(share(&o, THROTTLED), 0.31, 0.02, "throttled for 30 %%");
	sim_options_init(&o);
	o.lock_percent = 20;
	is_near(share(&o, LOCK), 0.18, 0.03, "a lock held for 20 %%");
	sim_options_init(&o);
	o.disk_percent = 20;
	is_near(share(&o, DISK), 0.20, 0.01, "a disk that takes 20 %%");

	sim_scenario_options("cold-start", &o);
	is_near(share(&o, COLD), 0.04, 0.001, "a cold start of 4 %%");
	sim_scenario_options("memcpy-bottleneck", &o);
	is_near(share(&o, COPY), 0.40, 0.005, "copies of 40 %%");
	sim_scenario_options("periodic-spike", &o);
	is_near(share(&o, SPIKE), 0.05, 0.001, "spikes of 5 %%");
	sim_scenario_options("gpu-steal", &o);
	o.threads = 1;
	is_near(share(&o, SHARED), 0.25, 0.03, "a shared device of 25 %%");
	o.share_percent = 50;
	is_near(share(&o, SHARED), 0.50, 0.05, "a shared device of 50 %%");
	sim_scenario_options("cpu-contention", &o);
	sim_scenario_dose(&o, 30);
	is_int(o.hog_percent + o.contend_percent, 30, "a dose is shared among what is planted");

	w = world_new();
	sim_options_init(&o);
	o.disk_percent = 81;
	is_int(sim_open(&in, w, &o, &e), ERR_USAGE, "more than 80 %% is refused");
	o.disk_percent = 0;
	o.threads = 0;
	is_int(sim_open(&in, w, &o, &e), ERR_USAGE, "no threads are refused");
	is_int(sim_scenario_options("nonsense", &o), -1, "unknown scenarios are refused");
	world_free(w);
	return tap_done();
}

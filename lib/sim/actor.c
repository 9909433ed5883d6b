/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates one thread of a generated recording: its clock, and when it loses the CPU and gets it
 * back. Every nanosecond of a wait is covered by a slice or marked as throttled, but slices exist
 * only while the thread waits, as in a real recording.
 */
#include "lib/sim/actor.h"

#include <string.h>

enum {
	LANE_HOG = 1,
	LANE_LOCK = 2,
	LANE_THROTTLE = 3,
	LANE_STEAL = 4,
	LANE_SHARE = 5,
	LANE_WORKER = 16
};

bool sim_hog_peak(const struct sim_run *r, int64_t t)
{
	int64_t third = (int64_t)(r->o.duration_ns / 3);

	return r->o.hog_wave && t >= r->begin_ns + third && t < r->begin_ns + 2 * third;
}

/* How much of its even share the hog takes in the period that begins at t, in percent: the mean is
 * 100. */
static unsigned hog_weight(const struct sim_run *r, int64_t t)
{
	return !r->o.hog_wave ? 100 : sim_hog_peak(r, t) ? 160 : 70;
}

/* The first window that ends after t. Each period has one window, `percent` of the period long plus
 * or minus a quarter, at a random place. */
static struct sim_window find_window(const struct sim_run *r, uint64_t lane, uint64_t period,
				     unsigned percent, int64_t t, uint64_t *index)
{
	struct sim_window w = { INT64_MAX, INT64_MAX };
	uint64_t k = t > r->begin_ns ? (uint64_t)(t - r->begin_ns) / period : 0;

	if (percent == 0)
		return w;
	for (;; k++) {
		uint64_t h = sim_at(r->o.seed, lane, k);
		uint64_t len = period * percent / 100, room;

		if (lane == LANE_HOG)
			len = len * hog_weight(r, r->begin_ns + (int64_t)(k * period)) / 100;
		len = len * 3 / 4 + len / 2 * (h & 0xffff) / 0xffff;
		if (len > period * 19 / 20)
			len = period * 19 / 20;
		room = period - len;
		w.start_ns =
			r->begin_ns + (int64_t)(k * period + room * (h >> 16 & 0xffff) / 0x10000);
		w.end_ns = w.start_ns + (int64_t)len;
		if (w.end_ns > t)
			break;
	}
	if (index)
		*index = k;
	return w;
}

struct sim_window sim_hog_window(const struct sim_run *r, int64_t t)
{
	return find_window(r, LANE_HOG, r->o.hog_period_us * 1000u, r->o.hog_percent, t, NULL);
}

struct sim_window sim_steal_window(const struct sim_run *r, int64_t t)
{
	return find_window(r, LANE_STEAL, 7 * SIM_MS, r->o.steal_percent, t, NULL);
}

struct sim_window sim_share_window(const struct sim_run *r, int64_t t)
{
	return find_window(r, LANE_SHARE, 400 * SIM_MS, r->share_windows, t, NULL);
}

struct sim_window sim_lock_window(const struct sim_run *r, int64_t t, uint64_t *k)
{
	return find_window(r, LANE_LOCK, 25 * SIM_MS, r->o.lock_percent, t, k);
}

/* A quota lasts for the first part of each period. */
struct sim_window sim_throttle_window(const struct sim_run *r, int64_t t)
{
	struct sim_window w = { INT64_MAX, INT64_MAX };
	int64_t k = t > r->begin_ns ? (t - r->begin_ns) / SIM_QUOTA_NS : 0;
	uint64_t len = SIM_QUOTA_NS / 100 * r->o.throttle_percent;

	if (len == 0)
		return w;
	len += len / 16 * (sim_at(r->o.seed, LANE_THROTTLE, (uint64_t)k) & 0xffff) / 0xffff;
	w.end_ns = r->begin_ns + (k + 1) * SIM_QUOTA_NS;
	w.start_ns = w.end_ns - (int64_t)len;
	return w;
}

struct sim_window sim_worker_window(const struct sim_run *r, unsigned cpu, int64_t t)
{
	struct sim_window w = { INT64_MAX, INT64_MAX };
	const int64_t period = 50 * SIM_MS;

	if (r->o.quiet)
		return w;
	for (int64_t k = t > r->begin_ns ? (t - r->begin_ns) / period : 0;; k++) {
		uint64_t h = sim_at(r->o.seed, LANE_WORKER + cpu, (uint64_t)k);

		w.start_ns = r->begin_ns + k * period + (int64_t)(h >> 16 & 0xffffff);
		w.end_ns = w.start_ns + 5000 + (int64_t)(h & 0x3fff);
		if (w.end_ns > t)
			return w;
	}
}

struct event *sim_actor_event(struct sim_actor *a, uint16_t op, int64_t start_ns, uint32_t stack)
{
	static _Thread_local struct event scratch;
	struct event ev = { .end_ns = a->now_ns,
			    .dur_ns = (uint64_t)(a->now_ns - start_ns),
			    .op = op,
			    .depth = (uint16_t)a->depth,
			    .ctx = a->ctx,
			    .stack = stack };

	if (!vec_push(&a->out, ev)) {
		a->run->nomem = true;
		scratch = ev;
		return &scratch;
	}
	return &a->out.v[a->out.n - 1];
}

#define SIM_TURN_NS (100 * SIM_MS)

void sim_actor_slice(struct sim_actor *a, uint32_t occupant, int64_t start_ns, int64_t end_ns)
{
	const struct op_def *def = op_builtin(OP_SCHED_OCCUPIED);
	const struct sim_cast *c = &a->run->cast;
	bool hog = occupant == c->hog_thread;
	int64_t now = a->now_ns;
	struct event *ev;

	if (end_ns <= start_ns)
		return;
	/* It takes turns with the other command of its cgroup. */
	if (hog && c->other_thread && start_ns / SIM_TURN_NS % 2)
		occupant = c->other_thread;
	a->now_ns = end_ns;
	ev = sim_actor_event(a, OP_SCHED_OCCUPIED, start_ns, 0);
	a->now_ns = now;
	ev->ctx = hog ? c->hog_ctx : c->cpu_ctx;
	if (c->other_node && a->index % 2) {
		ev->ctx = c->other_cpu_ctx;
		occupant = occupant == c->idle_thread	  ? c->other_idle_thread
			   : occupant == c->worker_thread ? c->other_worker_thread
							  : occupant;
	}
	ev->depth = 0;
	event_set(ev, def, COL_CPU, a->index);
	event_set(ev, def, COL_OCCUPANT, occupant);
}

/* The hog holds the CPU during w, and a kernel worker for a moment in the middle of every long
 * window. Only what lies behind `from` is seen. Returns what the hog itself took. */
static uint64_t hog_slices(struct sim_actor *a, struct sim_window w, int64_t from)
{
	const struct sim_cast *c = &a->run->cast;
	int64_t a_ns = w.start_ns > from ? w.start_ns : from, b_ns = w.end_ns;
	int64_t mid = w.start_ns + (w.end_ns - w.start_ns) / 2, back = mid + 40000;

	if (w.end_ns - w.start_ns < 2 * SIM_MS || a_ns >= back) {
		sim_actor_slice(a, c->hog_thread, a_ns, b_ns);
		return (uint64_t)(b_ns - a_ns);
	}
	sim_actor_slice(a, c->hog_thread, a_ns, mid);
	sim_actor_slice(a, c->worker_thread, a_ns > mid ? a_ns : mid, back);
	sim_actor_slice(a, c->hog_thread, back, b_ns);
	return (uint64_t)((a_ns < mid ? mid - a_ns : 0) + b_ns - back);
}

static bool is_within(struct sim_window w, int64_t t)
{
	return w.start_ns <= t && t < w.end_ns;
}

static void count_loss(struct sim_actor *a, enum sim_plant plant, uint64_t ns)
{
	if (ns == 0)
		return;
	a->run->truth[plant].lost_ns += ns;
	a->run->truth[plant].count++;
}

/* Waits from ready_ns until no other task has the CPU. Returns when it is free. */
static int64_t wait_for_cpu(struct sim_actor *a, const struct sim_sleep *why, int64_t ready_ns,
			    uint64_t *throttled, uint64_t *hogged)
{
	const struct sim_run *r = a->run;
	bool planted = a->index == 0 && !a->holder;
	int64_t t = ready_ns;

	if (why && why->late_ns) {
		struct sim_window w = { t, t + (int64_t)why->late_ns };

		*hogged += hog_slices(a, w, t);
		t = w.end_ns;
	}
	for (;;) {
		struct sim_window w = sim_throttle_window(r, t);

		if (planted && is_within(w, t)) {
			*throttled += (uint64_t)(w.end_ns - t);
			t = w.end_ns;
			continue;
		}
		w = sim_hog_window(r, t);
		if (planted && is_within(w, t)) {
			*hogged += hog_slices(a, w, t);
			t = w.end_ns;
			continue;
		}
		w = sim_worker_window(r, a->index, t);
		if (!is_within(w, t))
			return t;
		sim_actor_slice(a, r->cast.worker_thread, t, w.end_ns);
		t = w.end_ns;
	}
}

/* What a hypervisor takes between these times. */
static uint64_t stolen_within(const struct sim_actor *a, int64_t from, int64_t to)
{
	uint64_t ns = 0;

	while (from < to && a->index == 0 && !a->holder) {
		struct sim_window w = sim_steal_window(a->run, from);

		if (w.start_ns >= to)
			break;
		ns += (uint64_t)((w.end_ns < to ? w.end_ns : to) -
				 (w.start_ns > from ? w.start_ns : from));
		from = w.end_ns;
	}
	return ns;
}

/* why NULL: it was preempted. */
static void off_cpu(struct sim_actor *a, const struct sim_sleep *why, int64_t ready_ns)
{
	const struct op_def *def = op_builtin(OP_SCHED_OFFCPU);
	int64_t start = a->now_ns, end;
	uint64_t throttled = 0, hogged = 0, stolen;
	struct event *ev;

	end = wait_for_cpu(a, why, ready_ns, &throttled, &hogged);
	if (why && end == ready_ns) { /* an idle CPU takes a moment to wake up */
		end += 1500 + (int64_t)sim_below(&a->random, 2500);
		sim_actor_slice(a, a->run->cast.idle_thread, ready_ns, end);
	}
	count_loss(a, why ? PLANT_CONTENDED : PLANT_PREEMPTED, hogged);
	count_loss(a, PLANT_THROTTLED, throttled);
	stolen = stolen_within(a, ready_ns, end);
	count_loss(a, PLANT_STOLEN, stolen);
	a->run_delay_ns += (uint64_t)(end - ready_ns);
	a->throttled_ns += throttled;
	a->throttled += throttled != 0;
	a->now_ns = end;
	ev = sim_actor_event(a, OP_SCHED_OFFCPU, start, why ? why->stack : 0);
	event_set(ev, def, COL_WAIT_NS, (uint64_t)(end - ready_ns));
	event_set(ev, def, COL_THROTTLED_NS, throttled);
	event_set(ev, def, COL_CPU_OUT, a->index);
	event_set(ev, def, COL_CPU_IN, a->index);
	event_set(ev, def, COL_STOLEN_NS, stolen);
	if (!why)
		return;
	event_set(ev, def, COL_OBJECT_KIND, why->object_kind);
	event_set(ev, def, COL_WAKER_KIND, why->waker_kind);
	if (why->syscall >= 0)
		event_set(ev, def, COL_SYSCALL, (uint64_t)why->syscall);
	if (why->object)
		event_set(ev, def, COL_OBJECT, why->object);
	if (why->waker)
		event_set(ev, def, COL_WAKER, why->waker);
	if (why->object_kind == OBJECT_FUTEX) {
		event_set(ev, def, COL_FUTEX_OP, 0);
		event_set(ev, def, COL_FUTEX_VAL, 2);
	}
}

void sim_actor_sleep(struct sim_actor *a, const struct sim_sleep *why, int64_t ready_ns)
{
	off_cpu(a, why, ready_ns);
}

/* The time of the next interruption of this CPU, at or after now. */
static int64_t next_interruption(const struct sim_actor *a)
{
	const struct sim_run *r = a->run;
	int64_t at = sim_worker_window(r, a->index, a->now_ns).start_ns;

	if (a->index == 0 && !a->holder) {
		int64_t hog = sim_hog_window(r, a->now_ns).start_ns,
			quota = sim_throttle_window(r, a->now_ns).start_ns,
			steal = sim_steal_window(r, a->now_ns).start_ns;

		at = steal < at ? steal : at;
		at = hog < at ? hog : at;
		at = quota < at ? quota : at;
	}
	return at > a->now_ns ? at : a->now_ns;
}

/* The hypervisor steals the CPU until the end of w. */
static void add_stolen_time(struct sim_actor *a, struct sim_window w)
{
	int64_t start = a->now_ns;

	a->now_ns = w.end_ns;
	event_set(sim_actor_event(a, OP_SCHED_STOLEN, start, 0), op_builtin(OP_SCHED_STOLEN),
		  COL_CPU, a->index);
	count_loss(a, PLANT_STOLEN, (uint64_t)(w.end_ns - start));
}

void sim_actor_work(struct sim_actor *a, uint64_t ns)
{
	for (;;) {
		int64_t at = next_interruption(a);

		if (at - a->now_ns >= (int64_t)ns) {
			a->now_ns += (int64_t)ns;
			return;
		}
		ns -= (uint64_t)(at - a->now_ns);
		a->now_ns = at;
		if (a->index == 0 && !a->holder && is_within(sim_steal_window(a->run, at), at))
			add_stolen_time(a, sim_steal_window(a->run, at));
		else
			off_cpu(a, NULL, at);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates the training loop: copy a batch in, launch forward and backward kernels, prepare the
 * next batch while the device works, copy the loss out, wait for the stream, so that the device is
 * never idle for long. Every runtime call contains the driver call that does its work. The lock
 * holder's loop: sleep until its next window, hold the lock, release it.
 */
#include "lib/sim/loop.h"
#include "lib/sim/play.h"

enum { SYS_FUTEX = 202, SYS_CLOCK_NANOSLEEP = 230, SYS_EPOLL_WAIT = 232 }; /* x86-64 */

#define LOCK_ADDRESS	0x7f52a8c01340
#define WORKSPACE_BYTES (32u << 20)

/* Take the lock: free unless its holder is in a window. */
static void take_lock(struct sim_actor *a, enum sim_site site)
{
	const struct sim_cast *c = &a->run->cast;
	struct sim_sleep why = { .object_kind = OBJECT_FUTEX,
				 .object = LOCK_ADDRESS,
				 .syscall = SYS_FUTEX,
				 .waker_kind = WAKER_TASK,
				 .waker = c->holder_thread,
				 .stack = c->wait_stack[site] };
	uint64_t k, via = 0, all;
	struct sim_window w;

	if (a->index != 0 || a->run->o.lock_percent == 0)
		return;
	w = sim_lock_window(a->run, a->now_ns, &k);
	if (w.start_ns > a->now_ns || w.end_ns - a->now_ns < 2000)
		return;
	all = (uint64_t)(w.end_ns - a->now_ns);
	if (a->run->o.lock_holder_preempted && k % 2) {
		int64_t from = w.start_ns + (w.end_ns - w.start_ns) / 2, to = w.end_ns - 30000;

		from = from > a->now_ns ? from : a->now_ns;
		via = to > from ? (uint64_t)(to - from) : 0;
	}
	if (via)
		sim_planted(a, PLANT_LOCK_VIA, via);
	sim_planted(a, PLANT_LOCK, all - via);
	sim_actor_sleep(a, &why, w.end_ns);
}

static void read_batch(struct sim_actor *a)
{
	uint64_t ns = sim_owed(a, a->run->o.disk_percent, a->disk_ns);

	if (ns < 3 * SIM_MS)
		return;
	ns = ns > 12 * SIM_MS ? 12 * SIM_MS : ns;
	a->disk_ns += ns;
	sim_planted(a, PLANT_DISK, ns);
	act_disk_read(a, SITE_LOAD, 1 << 20, ns);
}

void sim_launch(struct sim_actor *a, enum sim_site site, unsigned i)
{
	struct sim_call c;

	sim_call_begin(a, &c, site, 700);
	a->depth--; /* in the runtime's call, before the driver's */
	if (i == 0)
		take_lock(a, site);
	sim_cold_launch(a, site, i);
	a->depth++;
	c.inner_ns = a->now_ns;
	act_launched(a, &c, 0x401000 + (site == SITE_BACKWARD) * 0x800 + i * 0x40,
		     a->run->o.device_us * 1000u / (a->run->o.launches + 1));
}

void sim_copy(struct sim_actor *a, enum sim_site site, uint64_t bytes)
{
	act_copy(a, site, site == SITE_COPY_IN || site == SITE_SERVE_IN, bytes, 2000 + bytes / 20);
}

void sim_synchronize(struct sim_actor *a, enum sim_site site)
{
	struct sim_call c;
	uint64_t late = 0;

	sim_call_begin(a, &c, site, 500);
	sim_work(a, 1500);
	if (a->device_ns > a->now_ns + 5000) {
		late = sim_owed(a, a->run->o.contend_percent, a->late_ns);
		late = late < a->run->o.contend_us * 1000ull ? 0
		       : late > 6 * SIM_MS		     ? 6 * SIM_MS
							     : late;
		a->late_ns += late;
		sim_shared_wait(a);
	}
	act_synchronized(a, &c, late);
}

/* Allocates the step's workspace, or frees that of the step before. */
static void alloc_or_free_workspace(struct sim_actor *a, bool allocate)
{
	enum sim_site site = allocate ? SITE_ALLOC : SITE_FREE;
	uint64_t ptr = 0x7f4000000000 + a->index * 0x100000000u;
	bool fails = allocate && a->run->o.error_every &&
		     a->allocations % a->run->o.error_every == a->run->o.error_every - 1;

	if (!allocate && !a->allocated)
		return;
	a->allocations += allocate;
	a->allocated = allocate && !fails;
	act_allocate(a, site, allocate, ptr, WORKSPACE_BYTES, fails ? 2 : 0, 42000);
	if (fails)
		sim_planted(a, PLANT_ERRORS, 0);
}

static void train_step(struct sim_actor *a)
{
	const struct sim_options *o = &a->run->o;

	read_batch(a);
	sim_stage(a);
	sim_reserve(a);
	sim_copy(a, SITE_COPY_IN, 256 << 10);
	if (a->steps % 32 == 0)
		alloc_or_free_workspace(a, true);
	for (unsigned i = 0; i < o->launches; i++)
		sim_launch(a, i < (o->launches + 1) / 2 ? SITE_FORWARD : SITE_BACKWARD, i);
	sim_work(a, o->step_us * 1000u); /* the next batch, while the device works */
	sim_copy(a, SITE_COPY_OUT, 4);
	sim_synchronize(a, SITE_SYNC);
	if (a->steps % 32 == 31)
		alloc_or_free_workspace(a, false);
}

static void holder_step(struct sim_actor *a)
{
	const struct sim_cast *c = &a->run->cast;
	struct sim_sleep why = { .object_kind = OBJECT_TIMER,
				 .syscall = SYS_CLOCK_NANOSLEEP,
				 .waker_kind = WAKER_TIMER };
	struct sim_window w;
	uint64_t k;

	w = sim_lock_window(a->run, a->now_ns, &k);
	if (w.start_ns - 50000 > a->now_ns)
		sim_actor_sleep(a, &why, w.start_ns - 50000);
	if (a->run->o.lock_holder_preempted && k % 2) {
		const struct op_def *def = op_builtin(OP_SCHED_OFFCPU);
		int64_t from = w.start_ns + (w.end_ns - w.start_ns) / 2, to = w.end_ns - 30000;

		if (to > from) {
			struct event *ev;

			sim_actor_slice(a, c->hog_thread, from, to);
			a->now_ns = to;
			ev = sim_actor_event(a, OP_SCHED_OFFCPU, from, 0);
			event_set(ev, def, COL_WAIT_NS, (uint64_t)(to - from));
			event_set(ev, def, COL_THROTTLED_NS, 0);
			event_set(ev, def, COL_CPU_OUT, a->index);
			event_set(ev, def, COL_CPU_IN, a->index);
			event_set(ev, def, COL_STOLEN_NS, 0);
			a->run_delay_ns += (uint64_t)(to - from);
		}
	}
	a->now_ns = w.end_ns + 1000;
}

/* A request at a time while it has any, else it waits for one. */
static void peer_step(struct sim_actor *a)
{
	const struct sim_options *o = &a->run->o;
	struct sim_sleep why = { .object_kind = OBJECT_POLL,
				 .syscall = SYS_EPOLL_WAIT,
				 .waker_kind = WAKER_SOFTIRQ,
				 .stack = a->run->cast.wait_stack[SITE_REQUEST] };
	struct sim_window w = sim_share_window(a->run, a->now_ns);

	if (w.start_ns > a->now_ns) {
		if (w.start_ns >= a->run->end_ns)
			a->now_ns = a->run->end_ns;
		else
			sim_actor_sleep(a, &why, w.start_ns);
		return;
	}
	sim_work(a, 40000);
	sim_copy(a, SITE_SERVE_IN, 64 << 10);
	for (unsigned i = 0; i < o->launches / 2 + 1; i++)
		sim_launch(a, SITE_SERVE, i);
	sim_copy(a, SITE_SERVE_OUT, 16 << 10);
	sim_synchronize(a, SITE_SERVE_SYNC);
}

bool sim_actor_step(struct sim_actor *a)
{
	a->out.n = a->taken = 0;
	if (a->now_ns >= a->run->end_ns || a->run->nomem)
		return false;
	a->step_ns = a->now_ns;
	if (a->run->o.play)
		a->run->o.play->step(a);
	else if (a->holder)
		holder_step(a);
	else if (a->peer)
		peer_step(a);
	else if (!sim_cold_start(a))
		train_step(a);
	a->steps++;
	return true;
}

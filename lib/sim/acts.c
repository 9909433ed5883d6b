/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates single acts of a thread: launch, copy, wait, allocate, read, sleep. Each act advances
 * the thread's clock and adds its events: a runtime call contains the driver call that does its
 * work, a wait for the device is an off-CPU interval inside both.
 */
#include "lib/sim/acts.h"

enum { SYS_READ = 0, SYS_POLL = 7, SYS_RECVFROM = 45, SYS_CLOCK_NANOSLEEP = 230 }; /* x86-64 */

/* When ns of device work are done that begin at from, with another process's work in between. */
static int64_t shared_end(const struct sim_run *r, int64_t from, int64_t ns)
{
	while (r->o.share_percent) {
		struct sim_window w = sim_share_window(r, from);
		int64_t inside;

		if (w.start_ns > from) {
			int64_t before = w.start_ns - from;

			if (before >= ns)
				break;
			ns -= before;
			from = w.start_ns;
		}
		inside = (w.end_ns - from) * 100 / r->share_slower;
		if (inside >= ns)
			return from + ns * r->share_slower / 100;
		ns -= inside;
		from = w.end_ns;
	}
	return from + ns;
}

void sim_submit(struct sim_actor *a, uint64_t device_ns)
{
	int64_t from = a->device_ns > a->now_ns ? a->device_ns : a->now_ns,
		alone = a->alone_ns > a->now_ns ? a->alone_ns : a->now_ns,
		ns = (int64_t)sim_around(&a->random, device_ns);

	a->device_ns = shared_end(a->run, from, ns);
	a->alone_ns = alone + ns;
}

void sim_call_begin(struct sim_actor *a, struct sim_call *c, unsigned site, uint64_t runtime_ns)
{
	c->site = site;
	c->outer_ns = a->now_ns;
	a->depth++;
	sim_work(a, runtime_ns);
	c->inner_ns = a->now_ns;
	a->depth++;
}

struct event *sim_call_driver(struct sim_actor *a, const struct sim_call *c, uint16_t op)
{
	a->depth--;
	return sim_actor_event(a, op, c->inner_ns, a->run->cast.driver_stack[c->site]);
}

struct event *sim_call_runtime(struct sim_actor *a, const struct sim_call *c, uint16_t op,
			       uint64_t after_ns)
{
	sim_work(a, after_ns);
	a->depth--;
	return sim_actor_event(a, op, c->outer_ns, a->run->cast.runtime_stack[c->site]);
}

void act_launched(struct sim_actor *a, const struct sim_call *c, uint64_t func, uint64_t device_ns)
{
	struct event *ev;

	sim_work(a, a->run->o.driver_ns);
	sim_submit(a, device_ns);
	ev = sim_call_driver(a, c, OP_CU_LAUNCH);
	sim_set(ev, COL_FUNC, func + 0x55000000);
	sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
	ev = sim_call_runtime(a, c, OP_CUDA_LAUNCH, 300);
	sim_set(ev, COL_FUNC, func);
	sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
	sim_work(a, 1200);
}

void act_launch(struct sim_actor *a, unsigned site, uint64_t func, uint64_t device_ns)
{
	struct sim_call c;

	sim_call_begin(a, &c, site, 700);
	act_launched(a, &c, func, device_ns);
}

void act_copy(struct sim_actor *a, unsigned site, bool in, uint64_t bytes, uint64_t device_ns)
{
	struct sim_call c;
	struct event *ev;

	sim_call_begin(a, &c, site, 900);
	sim_work(a, a->run->o.driver_ns + 900);
	sim_submit(a, device_ns);
	ev = sim_call_driver(a, &c, in ? OP_CU_MEMCPY_HTOD_ASYNC : OP_CU_MEMCPY_DTOH_ASYNC);
	for (unsigned layer = 0; layer < 2; layer++) {
		if (layer)
			ev = sim_call_runtime(a, &c, OP_CUDA_MEMCPY_ASYNC, 400);
		sim_set(ev, COL_BYTES, bytes);
		sim_set(ev, COL_DIRECTION, in ? 1 : 2);
		sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
	}
	sim_work(a, 800);
}

void act_device_wait(struct sim_actor *a, unsigned site, uint64_t late_ns)
{
	struct sim_sleep why = { .object_kind = OBJECT_GPU,
				 .syscall = SYS_POLL,
				 .waker_kind = WAKER_HARDIRQ,
				 .stack = a->run->cast.wait_stack[site],
				 .late_ns = late_ns };

	if (a->device_ns > a->now_ns + 5000)
		sim_actor_sleep(a, &why, a->device_ns);
}

void act_synchronized(struct sim_actor *a, const struct sim_call *c, uint64_t late_ns)
{
	act_device_wait(a, c->site, late_ns);
	sim_work(a, 900);
	sim_set(sim_call_driver(a, c, OP_CU_STREAM_SYNC), COL_STREAM, SIM_STREAM_HANDLE);
	sim_set(sim_call_runtime(a, c, OP_CUDA_STREAM_SYNC, 300), COL_STREAM, SIM_STREAM_HANDLE);
	sim_work(a, 2000);
}

void act_synchronize(struct sim_actor *a, unsigned site)
{
	struct sim_call c;

	sim_call_begin(a, &c, site, 500);
	sim_work(a, 1500);
	act_synchronized(a, &c, 0);
}

void act_allocate(struct sim_actor *a, unsigned site, bool allocate, uint64_t ptr, uint64_t bytes,
		  int32_t ret, uint64_t driver_ns)
{
	struct sim_call c;
	struct event *ev;

	sim_call_begin(a, &c, site, 1100);
	sim_work(a, driver_ns);
	ev = sim_call_driver(a, &c, allocate ? OP_CU_MEM_ALLOC : OP_CU_MEM_FREE);
	for (unsigned layer = 0; layer < 2; layer++) {
		if (layer)
			ev = sim_call_runtime(a, &c, allocate ? OP_CUDA_MALLOC : OP_CUDA_FREE, 500);
		ev->ret = ret; /* the same number in both layers' codes, for what is planted here */
		if (allocate)
			sim_set(ev, COL_BYTES, bytes);
		if (ret == 0)
			sim_set(ev, COL_PTR, ptr);
	}
	sim_work(a, 500);
}

void act_sleep_for(struct sim_actor *a, unsigned site, uint64_t ns)
{
	struct sim_sleep why = { .object_kind = OBJECT_TIMER,
				 .syscall = SYS_CLOCK_NANOSLEEP,
				 .waker_kind = WAKER_TIMER,
				 .stack = a->run->cast.wait_stack[site] };

	sim_actor_sleep(a, &why, a->now_ns + (int64_t)ns);
}

void act_socket_wait(struct sim_actor *a, unsigned site, uint64_t ns)
{
	struct sim_sleep why = { .object_kind = OBJECT_SOCKET,
				 .object = 17, /* the descriptor */
				 .syscall = SYS_RECVFROM,
				 .waker_kind = WAKER_SOFTIRQ,
				 .stack = a->run->cast.wait_stack[site] };

	sim_actor_sleep(a, &why, a->now_ns + (int64_t)ns);
}

void act_disk_read(struct sim_actor *a, unsigned site, uint64_t bytes, uint64_t ns)
{
	struct sim_sleep why = { .object_kind = OBJECT_DISK,
				 .object = SIM_DISK,
				 .syscall = SYS_READ,
				 .waker_kind = WAKER_HARDIRQ,
				 .stack = a->run->cast.wait_stack[site] };
	int64_t start = a->now_ns, ready = start + (int64_t)ns;
	struct event *ev;

	a->now_ns = ready - 3000;
	ev = sim_actor_event(a, OP_IO_BLOCK, start + 8000, 0);
	ev->depth = 0;
	sim_set(ev, COL_DEVICE, SIM_DISK);
	sim_set(ev, COL_SECTOR, 2048 + a->steps * 2048);
	sim_set(ev, COL_BYTES, bytes);
	sim_set(ev, COL_WRITE, 0);
	sim_set(ev, COL_QUEUE_NS, 5000 + sim_below(&a->random, 15000));
	a->now_ns = start;
	sim_actor_sleep(a, &why, ready);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants causes that make calls slow by themselves or add calls; none of them takes a CPU. The
 * planted time is what the same calls would not take otherwise; for copies, the copies themselves.
 */
#include "lib/sim/loop.h"

uint64_t sim_owed(const struct sim_actor *a, unsigned percent, uint64_t spent)
{
	uint64_t due = (uint64_t)(a->now_ns - a->run->begin_ns) / 100 * percent;

	return a->index == 0 && due > spent ? due - spent : 0;
}

/* ---- a cold start ---- */

/* What the first calls take longer, in milliseconds of a start that loses 1300: as a process that
 * loads a model of moderate size does, scaled to what was asked for. The first allocation makes the
 * context. */
#define COLD_INIT    60u
#define COLD_RETAIN  280u
#define COLD_ALLOCS  4u
#define COLD_IMPORTS 250u /* not lost: the program's own start */
static const unsigned cold_allocs[COLD_ALLOCS] = { 210, 150, 120, 100 };
static const unsigned cold_launches[] = { 150, 80, 50 };
#define COLD_LAUNCH_LATER 12u

static unsigned cold_weight(unsigned launch)
{
	return launch < sizeof(cold_launches) / sizeof(cold_launches[0]) ? cold_launches[launch]
									 : COLD_LAUNCH_LATER;
}

static uint64_t cold_ns(const struct sim_run *r, unsigned weight)
{
	uint64_t sum = COLD_INIT + COLD_RETAIN;

	for (unsigned i = 0; i < COLD_ALLOCS; i++)
		sum += cold_allocs[i];
	for (unsigned i = 0; i < r->o.launches; i++)
		sum += cold_weight(i);
	return r->o.duration_ns / 100 * r->o.cold_percent / sum * weight;
}

/* A driver call that only a first time needs. */
static struct event *cold_call(struct sim_actor *a, uint16_t op, enum sim_site site, uint64_t ns)
{
	int64_t start = a->now_ns;

	a->depth++;
	sim_actor_work(a, ns);
	sim_planted(a, PLANT_COLD, ns);
	a->depth--;
	return sim_actor_event(a, op, start, a->run->cast.driver_stack[site]);
}

static void cold_alloc(struct sim_actor *a, unsigned i)
{
	const struct sim_run *r = a->run;
	uint64_t bytes = (uint64_t)(512 - 96 * i) << 20, ptr = 0x7f3000000000 + i * 0x40000000ull;
	int64_t outer = a->now_ns, inner;
	struct event *ev;

	a->depth++;
	sim_work(a, 1100);
	if (i == 0) {
		cold_call(a, OP_CU_INIT, SITE_INIT, cold_ns(r, COLD_INIT));
		cold_call(a, OP_CU_DEVICE_PRIMARY_CTX_RETAIN, SITE_RETAIN, cold_ns(r, COLD_RETAIN));
	}
	inner = a->now_ns;
	a->depth++;
	sim_work(a, 42000);
	if (i > 0) {
		uint64_t ns = cold_ns(r, cold_allocs[i - 1]);

		sim_actor_work(a, ns);
		sim_planted(a, PLANT_COLD, ns);
	}
	for (unsigned layer = 0; layer < 2; layer++) {
		a->depth--;
		ev = sim_actor_event(a, layer ? OP_CUDA_MALLOC : OP_CU_MEM_ALLOC,
				     layer ? outer : inner,
				     layer ? r->cast.runtime_stack[SITE_MODEL]
					   : r->cast.driver_stack[SITE_MODEL]);
		sim_set(ev, COL_BYTES, bytes);
		sim_set(ev, COL_PTR, ptr);
		sim_work(a, 500);
	}
}

bool sim_cold_start(struct sim_actor *a)
{
	if (a->run->o.cold_percent == 0 || a->index != 0 || a->steps != 0)
		return false;
	a->step_ns = a->now_ns += SIM_COLD_START_NS;
	sim_actor_event(a, OP_PROC_EXEC, a->now_ns, 0);
	sim_work(a, COLD_IMPORTS * SIM_MS);
	for (unsigned i = 0; i <= COLD_ALLOCS; i++) {
		cold_alloc(a, i);
		sim_work(a, 5 * SIM_MS); /* the layer's weights are made */
	}
	return true;
}

void sim_cold_launch(struct sim_actor *a, enum sim_site site, unsigned i)
{
	struct event *ev;

	if (a->run->o.cold_percent == 0 || a->index != 0 || i < a->launched)
		return;
	a->launched = i + 1;
	ev = cold_call(a, OP_CU_KERNEL_GET_FUNCTION,
		       site == SITE_BACKWARD ? SITE_LOAD_BACKWARD : SITE_LOAD_FORWARD,
		       cold_ns(a->run, cold_weight(i)));
	sim_set(ev, COL_FUNC, 0x55401000 + i * 0x40);
}

/* ---- copies from pageable memory ---- */

#define STAGE_BYTES (16u << 20)
#define STAGE_NS    1864000u /* 9 GB/s: the driver copies through a pinned buffer of its own */

void sim_stage(struct sim_actor *a)
{
	const struct sim_cast *c = &a->run->cast;
	uint64_t chunks = sim_owed(a, a->run->o.copy_percent, a->copy_ns) / STAGE_NS, ns;
	int64_t outer = a->now_ns, inner;
	struct event *ev;

	if (chunks == 0)
		return;
	a->depth++;
	sim_work(a, 900);
	inner = a->now_ns;
	a->depth++;
	ns = chunks * STAGE_NS;
	sim_actor_work(a, ns - ns / 32 + sim_below(&a->random, ns / 16));
	for (unsigned layer = 0; layer < 2; layer++) {
		a->depth--;
		ev = sim_actor_event(
			a, layer ? OP_CUDA_MEMCPY : OP_CU_MEMCPY_HTOD, layer ? outer : inner,
			layer ? c->runtime_stack[SITE_STAGE] : c->driver_stack[SITE_STAGE]);
		sim_set(ev, COL_BYTES, chunks * STAGE_BYTES);
		sim_set(ev, COL_DIRECTION, 1);
		if (layer) {
			sim_planted(a, PLANT_COPY, ev->dur_ns);
			a->copy_ns += ev->dur_ns;
		}
		sim_work(a, 500);
	}
}

/* ---- one allocation of many takes long ---- */

/* Allocates so many bytes, or frees when bytes is 0; the driver takes slow_ns longer. */
static void alloc_or_free_block(struct sim_actor *a, uint64_t bytes, uint64_t slow_ns)
{
	const struct sim_cast *c = &a->run->cast;
	enum sim_site site = bytes ? SITE_RESERVE : SITE_RELEASE;
	int64_t outer = a->now_ns, inner;

	a->depth++;
	sim_work(a, 1100);
	inner = a->now_ns;
	a->depth++;
	sim_work(a, 42000);
	sim_actor_work(a, slow_ns);
	for (unsigned layer = 0; layer < 2; layer++) {
		uint16_t op = layer ? (bytes ? OP_CUDA_MALLOC : OP_CUDA_FREE)
				    : (bytes ? OP_CU_MEM_ALLOC : OP_CU_MEM_FREE);
		struct event *ev;

		a->depth--;
		ev = sim_actor_event(a, op, layer ? outer : inner,
				     layer ? c->runtime_stack[site] : c->driver_stack[site]);
		if (bytes)
			sim_set(ev, COL_BYTES, bytes);
		sim_set(ev, COL_PTR, 0x7f2000000000);
		sim_work(a, 500);
	}
}

void sim_reserve(struct sim_actor *a)
{
	const struct sim_options *o = &a->run->o;
	uint64_t ns = 0;

	if (o->spike_percent == 0 || a->index != 0)
		return;
	if (a->steps % o->spike_every == o->spike_every - 1) {
		ns = sim_owed(a, o->spike_percent, a->spike_ns);
		a->spike_ns += ns;
		sim_planted(a, PLANT_SPIKE, ns);
	}
	if (a->steps)
		alloc_or_free_block(a, 0, 0);
	alloc_or_free_block(a, (1 + a->steps % 16) << 21,
			    ns); /* sizes differ, as of a growing cache */
}

/* ---- another process on the device ---- */

void sim_plants_prepare(struct sim_run *r)
{
	const struct sim_options *o = &r->o;
	unsigned step_us = o->device_us + 60, loss;

	if (o->cold_percent)
		r->warm_ns = r->begin_ns + SIM_COLD_START_NS + 2 * (int64_t)COLD_IMPORTS * SIM_MS +
			     (int64_t)(o->duration_ns / 100 * o->cold_percent);
	if (!o->share_percent)
		return;
	/* While it is there the thread loses this share of its time; that makes the device work so
	 * much slower. */
	r->share_windows = o->share_percent + 30 > 95 ? 95 : o->share_percent + 30;
	loss = 100 * o->share_percent / r->share_windows;
	r->share_slower = 100 + 100 * loss * step_us / ((o->device_us + 1) * (100 - loss));
}

void sim_shared_wait(struct sim_actor *a)
{
	int64_t alone = a->alone_ns > a->now_ns ? a->alone_ns : a->now_ns;

	if (!a->peer && a->device_ns > alone)
		sim_planted(a, PLANT_SHARED, (uint64_t)(a->device_ns - alone));
}

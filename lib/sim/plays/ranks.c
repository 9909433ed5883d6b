/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays of ranks of one job on one machine, a process each: every step ends with an all-reduce that
 * is done when the last rank has entered. All times are functions of the step's number, so that
 * ranks agree without communication.
 */
#include "lib/sim/plays/plays.h"

#include <signal.h>

enum site { AT_INIT, AT_COMPUTE, AT_FORWARD, AT_REDUCE, AT_SYNC };

static const struct sim_site_def sites[SIM_SITES] = {
	[AT_INIT] = { "init_process_group", "ncclCommInitRank", "cuCtxSynchronize", 21 },
	[AT_COMPUTE] = { "prepare_batch", NULL, NULL, 33 },
	[AT_FORWARD] = { "forward_pass", "cudaLaunchKernel", "cuLaunchKernel", 57 },
	[AT_REDUCE] = { "all_reduce_gradients", "ncclAllReduce", "cuLaunchKernel", 74 },
	[AT_SYNC] = { "optimizer_step", "cudaStreamSynchronize", "cuStreamSynchronize", 88 },
};

#define STEP_NS	    20000000 /* of a rank that is not late */
#define DEVICE_NS   6000000  /* all-reduce and what precedes it */
#define INIT_NS	    50000000
#define COMM_ID	    0x6e63636c31323334
#define LATE_RANK   2
#define SPREAD_NS   200000 /* ranks differ by as much in any step */
#define HANGS_AFTER 0.6	   /* of the recording */
#define LONG_NS	    8000000000
#define BYTES	    (64u << 20)
#define LANE_SPREAD 40

static uint64_t spread_ns(const struct sim_run *r, unsigned rank, uint64_t step)
{
	return sim_at(r->o.seed, LANE_SPREAD + rank, step) % SPREAD_NS;
}

/* What the late rank is late by, beyond the rest, in a step of that number: in every other step. */
static uint64_t late_ns(const struct sim_run *r, uint64_t step)
{
	uint64_t percent = r->o.play_percent;

	/* so that percent of the time is lost: every other step takes longer by twice percent of
	 * the steps' mean length */
	return step % 2 ? 2 * (STEP_NS + DEVICE_NS) * percent / (100 - percent) : 0;
}

/* By how much the clock of the second machine stands ahead. */
#define SKEW_NS(percent) ((int64_t)(percent)*2 * SIM_MS)

/* When the last rank enters the all-reduce of a step, of one whose step began at t. */
static int64_t all_entered(const struct sim_actor *a, int64_t t, uint64_t step)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < a->run->o.threads; i++) {
		uint64_t ns = STEP_NS + spread_ns(a->run, i, step) +
			      (i == LATE_RANK ? late_ns(a->run, step) : 0);

		latest = ns > latest ? ns : latest;
	}
	return t + (int64_t)latest;
}

/* The same where no rank is late. */
static int64_t all_entered_even(const struct sim_actor *a, int64_t t, uint64_t step)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < a->run->o.threads; i++) {
		uint64_t ns = spread_ns(a->run, i, step);

		latest = ns > latest ? ns : latest;
	}
	return t + (int64_t)(STEP_NS + latest);
}

static void join_communicator(struct sim_actor *a)
{
	struct sim_call c;
	struct event *ev;

	int64_t begin = a->run->begin_ns + a->skew_ns;

	sim_call_begin(a, &c, AT_INIT, 2000);
	sim_actor_work(a, (uint64_t)(begin + INIT_NS - a->now_ns));
	sim_call_driver(a, &c, OP_CU_CTX_SYNC);
	ev = sim_call_runtime(a, &c, OP_NCCL_COMM_INIT_RANK, 0);
	sim_set(ev, COL_COMM, 0x7f1000 + a->index * 0x100u);
	sim_set(ev, COL_RANK, a->index);
	sim_set(ev, COL_RANKS, a->run->o.threads);
	sim_set(ev, COL_COMM_ID, COMM_ID);
	a->play[0] = (uint64_t)(begin + INIT_NS + 100000); /* when the step begins */
}

static void all_reduce(struct sim_actor *a, uint64_t sequence)
{
	struct sim_call c;
	struct event *ev;

	sim_call_begin(a, &c, AT_REDUCE, 3000);
	sim_work(a, 4000);
	sim_call_driver(a, &c, OP_CU_LAUNCH);
	ev = sim_call_runtime(a, &c, OP_NCCL_ALL_REDUCE, 800);
	sim_set(ev, COL_STREAM, SIM_STREAM_HANDLE);
	sim_set(ev, COL_COMM, 0x7f1000 + a->index * 0x100u);
	sim_set(ev, COL_BYTES, BYTES);
	sim_set(ev, COL_SEQUENCE, sequence);
	sim_set(ev, COL_RANK, a->index);
}

/* Starts a wait for the device that does not return before the recording ends. */
static void hang_until_end(struct sim_actor *a, unsigned site)
{
	struct sim_run *r = a->run;
	struct sim_open_call call = { r->cast.thread[a->index], r->cast.runtime_stack[site],
				      OP_CUDA_STREAM_SYNC, 0, a->now_ns };

	if (r->nopen + 2 <= SIM_OPEN_MAX) {
		r->open[r->nopen++] = call;
		call.op = OP_CU_STREAM_SYNC;
		call.depth = 1;
		call.start_ns += 1000;
		call.stack = r->cast.driver_stack[site];
		r->open[r->nopen++] = call;
	}
	if (r->o.play->kind &&
	    r->truth[PLANT_PLAY].count == 0) /* however many ranks wait, it is one */
		sim_planted(a, PLANT_PLAY, (uint64_t)(r->end_ns - a->now_ns));
	a->now_ns = r->end_ns;
}

/* Launches eight kernels, then computes until `until`. */
static void compute_until(struct sim_actor *a, int64_t until)
{
	for (unsigned i = 0; i < 8; i++)
		act_launch(a, AT_FORWARD, 0x401000 + i * 0x40, DEVICE_NS / 16);
	if (until > a->now_ns)
		sim_actor_work(a, (uint64_t)(until - a->now_ns));
}

/* Waits for the device, which is done at `done`; then the next step begins on all ranks. */
static void finish_step(struct sim_actor *a, int64_t done)
{
	a->device_ns = done;
	act_synchronize(a, AT_SYNC);
	a->play[0] = (uint64_t)(done + 100000);
	if (a->now_ns < (int64_t)a->play[0])
		a->now_ns = (int64_t)a->play[0];
}

/* How much later than all others the late rank enters, ns; 0 in steps without a plant. */
static uint64_t planted_ns(const struct sim_run *r, uint64_t step)
{
	uint64_t own = spread_ns(r, LATE_RANK, step) + late_ns(r, step), others = 0;

	for (unsigned i = 0; i < r->o.threads; i++) {
		uint64_t at = spread_ns(r, i, step);

		others = i != LATE_RANK && at > others ? at : others;
	}
	return late_ns(r, step) && own > others ? own - others : 0;
}

static void straggler_step(struct sim_actor *a)
{
	uint64_t k = a->steps ? a->steps - 1 : 0, late = 0;
	int64_t begin = (int64_t)a->play[0], entered;

	if (a->steps == 0) {
		join_communicator(a);
		return;
	}
	entered = all_entered(a, begin, k);
	if (a->index == LATE_RANK) {
		late = late_ns(a->run, k);
		if (planted_ns(a->run, k))
			sim_planted(a, PLANT_PLAY, planted_ns(a->run, k));
	}
	compute_until(a, begin + (int64_t)(STEP_NS + spread_ns(a->run, a->index, k) + late));
	all_reduce(a, k);
	finish_step(a, entered + DEVICE_NS);
}

/* Nobody is late, but the clock of the second machine stands ahead. */
static void skewed_step(struct sim_actor *a)
{
	uint64_t k = a->steps ? a->steps - 1 : 0;
	int64_t begin = (int64_t)a->play[0];

	if (a->steps == 0) {
		a->skew_ns = a->index % 2 ? SKEW_NS(a->run->o.play_percent) : 0;
		if (a->index == 1 && a->skew_ns)
			sim_planted(a, PLANT_PLAY, 0);
		join_communicator(a);
		return;
	}
	compute_until(a, begin + (int64_t)(STEP_NS + spread_ns(a->run, a->index, k)));
	all_reduce(a, k);
	finish_step(a, all_entered_even(a, begin, k) + DEVICE_NS);
}

/* A wait that covers no collective: each rank waits for what it computed itself, and none for the
 * others. */
static void apart_step(struct sim_actor *a)
{
	uint64_t k = a->steps ? a->steps - 1 : 0;

	if (a->steps == 0) {
		a->play[1] =
			a->index % 2 ? STEP_NS * 2 : 0; /* so far behind is the second machine */
		join_communicator(a);
		sim_actor_work(a, a->play[1]);
		a->play[0] += a->play[1];
		return;
	}
	compute_until(a, (int64_t)(a->play[0] + STEP_NS + spread_ns(a->run, a->index, k)));
	all_reduce(a, k);
	a->out.v[a->out.n - 1].x[op_column(op_builtin(OP_NCCL_ALL_REDUCE), COL_STREAM)] =
		SIM_STREAM_HANDLE + 0x100;
	finish_step(a, a->now_ns + DEVICE_NS / 2);
}

/* Ranks prepare very differently long, but all wait for devices that are busy with what was
 * submitted before. */
static void ahead_step(struct sim_actor *a)
{
	if (a->steps == 0) {
		join_communicator(a);
		return;
	}
	compute_until(a, (int64_t)a->play[0] + STEP_NS / 4 +
				 (a->index == LATE_RANK ? STEP_NS / 2 : 0));
	all_reduce(a, a->steps - 1);
	finish_step(a, a->now_ns + 2 * STEP_NS);
}

/* One rank stays away from an all-reduce for ever: computing, or dead. */
static void stay_away(struct sim_actor *a, bool dies)
{
	int64_t begin = (int64_t)a->play[0], length = a->run->end_ns - a->run->begin_ns;
	uint64_t k = a->steps ? a->steps - 1 : 0, last;

	if (a->steps == 0) {
		join_communicator(a);
		return;
	}
	last = (uint64_t)(HANGS_AFTER * (double)length) / (STEP_NS + DEVICE_NS + 400000);
	if (k >= last && a->index == LATE_RANK) {
		sim_actor_work(a, STEP_NS);
		if (!dies)
			return;
		sim_set(sim_actor_event(a, OP_PROC_EXIT, a->now_ns, 0), COL_STATUS, SIGSEGV);
		a->now_ns = a->run->end_ns;
		return;
	}
	compute_until(a, begin + STEP_NS + (int64_t)spread_ns(a->run, a->index, k));
	all_reduce(a, k);
	if (k >= last)
		hang_until_end(a, AT_SYNC);
	else
		finish_step(a, all_entered(a, begin, k) + DEVICE_NS);
}

static void rank_hang_step(struct sim_actor *a)
{
	stay_away(a, false);
}

static void rank_dies_step(struct sim_actor *a)
{
	stay_away(a, true);
}

static void call_hang_step(struct sim_actor *a)
{
	int64_t length = a->run->end_ns - a->run->begin_ns, done = a->now_ns - a->run->begin_ns;

	compute_until(a, a->now_ns + STEP_NS);
	if ((double)done > HANGS_AFTER * (double)length)
		hang_until_end(a, AT_SYNC);
	else
		act_synchronize(a, AT_SYNC);
}

/* Every wait for the device takes eight seconds; the recording ends in the midst of one. */
static void long_step(struct sim_actor *a)
{
	compute_until(a, a->now_ns + STEP_NS);
	if (a->now_ns + LONG_NS > a->run->end_ns) {
		hang_until_end(a, AT_SYNC);
	} else {
		a->device_ns = a->now_ns + LONG_NS;
		act_synchronize(a, AT_SYNC);
	}
}

const struct sim_play play_straggler = {
	.name = "straggler",
	.summary = "one rank of four enters every other all-reduce late",
	.kind = "collective-straggler",
	.culprit = "train-2",
	.culprit_thread = LATE_RANK,
	.percent = 20,
	.threads = 4,
	.processes = true,
	.sites = sites,
	.step = straggler_step,
};

const struct sim_play play_ranks_ahead = {
	.name = "ranks-ahead",
	.summary = "ranks enter collectives far apart, and nobody waits for it",
	.threads = 4,
	.processes = true,
	.sites = sites,
	.step = ahead_step,
};

const struct sim_play play_rank_hang = {
	.name = "rank-hang",
	.summary = "one rank of four stays away from an all-reduce",
	.kind = "collective-hang",
	.culprit = "train-2",
	.culprit_thread = LATE_RANK,
	.threads = 4,
	.processes = true,
	.sites = sites,
	.step = rank_hang_step,
};

const struct sim_play play_rank_dies = {
	.name = "rank-dies",
	.summary = "one rank of four ends in the midst of its work, and the others wait for it",
	.kind = "collective-hang",
	.culprit = "train-2",
	.culprit_thread = LATE_RANK,
	.threads = 4,
	.processes = true,
	.sites = sites,
	.step = rank_dies_step,
};

const struct sim_play play_call_hang = {
	.name = "call-hang",
	.summary = "a wait for the device never ends",
	.kind = "call-hung",
	.sites = sites,
	.step = call_hang_step,
};

const struct sim_play play_long_steps = {
	.name = "long-steps",
	.summary = "waits for the device take eight seconds each, and that is usual",
	.sites = sites,
	.step = long_step,
};

const struct sim_play play_clock_skew = {
	.name = "clock-skew",
	.summary = "the clock of a second machine stands ahead",
	.kind = "clock-skew",
	.culprit = "gpu-host-2",
	.percent = 20,
	.threads = 4,
	.processes = true,
	.two_nodes = true,
	.sites = sites,
	.step = skewed_step,
};

const struct sim_play play_two_nodes = {
	.name = "two-nodes",
	.summary = "one rank of four, on two machines, enters every other all-reduce late",
	.kind = "collective-straggler",
	.culprit = "train-2",
	.culprit_thread = LATE_RANK,
	.percent = 20,
	.threads = 4,
	.processes = true,
	.two_nodes = true,
	.sites = sites,
	.step = straggler_step,
};

const struct sim_play play_ranks_apart = {
	.name = "ranks-apart",
	.summary = "a second machine runs steps behind, and nobody waits for its collectives",
	.threads = 4,
	.processes = true,
	.two_nodes = true,
	.sites = sites,
	.step = apart_step,
};

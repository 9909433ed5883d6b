/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated recordings with known truth: a training-like process, and whatever was planted to take
 * its time, as an event_stream in canonical order. Everything in it agrees with everything else:
 * calls contain what happened inside them, off-CPU intervals lie where they say, occupancy
 * slices cover every wait. What was planted is counted while it is generated and told in TRUTH
 * records at the end. A pure function of the options: same bytes on every machine.
 */
#ifndef INGERO_SIM_SIM_H
#define INGERO_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

/* Percentages are of wall time, 0 to 80; together at most 80. Plants act on the process's first
 * thread. */
#define SIM_NODE "gpu-host-1"

struct sim_play;

struct sim_options {
	uint64_t seed;
	uint64_t duration_ns;
	unsigned threads;     /* that make CUDA calls, each on a CPU of its own; 1 to 64 */
	unsigned launches;    /* kernels per step */
	unsigned step_us;     /* CPU time of preparing a batch, outside calls */
	unsigned driver_ns;   /* CPU time of a driver call that submits work */
	unsigned device_us;   /* device time of a step's kernels */
	unsigned error_every; /* this many allocations apart, one fails: a gpu-oom truth without
				 lost time; 0 none */
	const char *node; /* name of the machine, and with the seed its identity; NULL: SIM_NODE */
	bool quiet;	  /* no short preemptions by kernel workers either */

	/* cpu-preempted (and, where it meets a wake-up, cpu-contended): another process takes the
	 * CPU. */
	unsigned hog_percent;
	unsigned hog_period_us;
	const char *hog_comm;
	/* The cgroup it runs in; NULL: nothing is said of it. Where that does not lie above the
	 * victim's
	 * (/kubepods/pod-train/main), this is noisy-neighbour, and it takes turns with another
	 * command there. */
	const char *hog_cgroup;
	/* cpu-contended: the same process, but it only starts while the victim sleeps, and makes
	 * its wake-up late. */
	unsigned contend_percent;
	unsigned contend_us; /* at least so long each time */
	/* What the hog takes is not spread evenly: it works most in the second third of the
	 * recording, and then on all other CPUs of the machine as well. */
	bool hog_wave;
	unsigned cpus; /* of the machine; 0: one for each thread that makes CUDA calls */
	/* cpu-throttled: the cgroup's quota is used up at the end of each period of 100 ms. */
	unsigned throttle_percent;
	/* lock-wait: a thread of the same process holds a mutex. The truth's culprit_pid is its
	 * thread id. */
	unsigned lock_percent;
	/* The holder in turn is kept from releasing half of the time, by the hog on its CPU: told
	 * as a lock-wait truth whose culprit is the hog, for that half. */
	bool lock_holder_preempted;
	/* A hypervisor takes the first thread's CPU, while it runs and while it waits. Its truth is
	 * no kind of chain: it is only told by sim_truths. */
	unsigned steal_percent;
	/* Something else than the training loop; none of the plants above are its own. */
	const struct sim_play *play;
	unsigned play_percent; /* of wall time */
	/* disk-stall: reads of a batch go to a slow disk; culprit is the device ("8:16"), pid 0. */
	unsigned disk_percent;
	/* cold-start: the process begins within the recording, and its first calls take this share
	 * of the recording longer than the same calls do later: context, large allocations, first
	 * launch of each kernel. Culprit is the process. */
	unsigned cold_percent;
	/* copy-bound: batches are copied from pageable memory, and the thread waits. Lost is the
	 * time in these copies; the culprit is the call ("cudaMemcpy"), pid 0. */
	unsigned copy_percent;
	/* periodic-spike: of one allocation per step every spike_every-th takes long; the culprit
	 * is the call
	 * ("cudaMalloc"), pid 0. */
	unsigned spike_percent;
	unsigned spike_every;
	/* gpu-shared: another process works on the same device now and then, and kernels then take
	 * turns. Lost is what synchronizing calls of all threads wait longer; the share comes out
	 * near this, the truth says what it was. */
	unsigned share_percent;
};

void sim_options_init(struct sim_options *o); /* ten seconds of a clean loop, one thread */

/* w stays the caller's and must outlive the stream. ERR_USAGE when the options make no sense. */
int sim_open(struct event_stream **out, struct world *w, const struct sim_options *o,
	     struct err *e);

struct sim_truth {
	const char *kind;    /* as chains name it */
	const char *culprit; /* command */
	uint32_t culprit_pid, victim_pid;
	uint64_t lost_ns, count;
};

/* What was planted so far, one entry per kind (count 0: it was not); complete once the stream has
 * ended. */
const struct sim_truth *sim_truths(const struct event_stream *s, unsigned *n);

/* Ready-made options under a name. */
struct sim_scenario {
	const char *name, *summary;
	bool tour; /* one of those that a newcomer is shown */
};
const struct sim_scenario *sim_scenarios(unsigned *n);
int sim_scenario_options(const char *name, struct sim_options *o); /* -1: no such scenario */
/* The name of a scenario that goes by several, else name itself. */
const char *sim_scenario_name(const char *name);
/* Let what a scenario plants take that share instead. */
void sim_scenario_dose(struct sim_options *o, unsigned percent);

/* What the recording's clock lies behind UTC. */
int64_t sim_real_minus_mono_ns(void);

#endif

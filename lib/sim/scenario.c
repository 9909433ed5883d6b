/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready-made recordings: one per kind of culprit, and one without any.
 */
#include "lib/sim/sim.h"

#include <pthread.h>
#include <string.h>

#include "lib/sim/play.h"

#define SCENARIOS_MAX 64

void sim_options_init(struct sim_options *o)
{
	*o = (struct sim_options){ .seed = 1,
				   .duration_ns = 10000000000,
				   .threads = 1,
				   .launches = 8,
				   .step_us = 900,
				   .driver_ns = 2600,
				   .device_us = 1500,
				   .hog_period_us = 16000,
				   .contend_us = 500,
				   .spike_every = 100,
				   .hog_comm = "log-compactor" };
}

static const struct sim_scenario loops[] = {
	{ "incident", "another process takes the CPU of a training loop", true },
	{ "cold-start", "the first calls of a process take long", true },
	{ "memcpy-bottleneck", "copies take the time, not kernels", true },
	{ "periodic-spike", "one allocation of a hundred takes long", true },
	{ "cpu-contention", "another process makes wake-ups late and takes the CPU", true },
	{ "gpu-steal", "another process works on the same device", true },
	{ "noisy-neighbour", "another container takes the CPU, by two of its commands" },
	{ "host-service", "a command takes the CPU that is in no container of its own" },
	{ "contended", "another process makes the loop's wake-ups late" },
	{ "throttled", "the container's CPU quota is used up in every period" },
	{ "lock", "a thread of the process itself holds a lock" },
	{ "disk", "batches are read from a slow disk" },
	{ "errors", "every fourth allocation fails" },
	{ "clean", "nothing is wrong" },
};

static struct {
	struct sim_scenario v[SCENARIOS_MAX];
	unsigned n;
} all;

static void list_all(void)
{
	all.n = sizeof(loops) / sizeof(loops[0]);
	memcpy(all.v, loops, sizeof(loops));
	for (const struct sim_play *const *p = sim_plays(); *p && all.n < SCENARIOS_MAX; p++)
		all.v[all.n++] = (struct sim_scenario){ (*p)->name, (*p)->summary, false };
}

/* Threads of a server ask at the same time. */
const struct sim_scenario *sim_scenarios(unsigned *n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, list_all);
	*n = all.n;
	return all.v;
}

const char *sim_scenario_name(const char *name)
{
	static const char *const shared[] = { "gpu-contention", "contention" };

	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (!strcmp(name, shared[i]))
			return "gpu-steal";
	return name;
}

static int play_options(const char *name, struct sim_options *o)
{
	o->play = sim_play_named(name);
	if (!o->play)
		return -1;
	o->play_percent = o->play->percent;
	o->threads = o->play->threads ? o->play->threads : 1;
	return 0;
}

int sim_scenario_options(const char *name, struct sim_options *o)
{
	sim_options_init(o);
	o->duration_ns = 30000000000;
	o->threads = 2;
	if (!strcmp(name, "incident")) {
		o->hog_percent = 21;
		/* Waits for the device that end late are rare and long: the 99th percentile tells,
		 * not the median. */
		o->hog_period_us = 16000;
		o->contend_percent = 4;
		o->contend_us = 3000;
		o->hog_wave = true;
		o->cpus = 8;
		/* Most of its CPU time is in calls, so that is where the verdict lies. */
		o->step_us = 150;
		o->launches = 12;
		o->driver_ns = 38000;
		o->device_us = 950;
	} else if (!strcmp(name, "noisy-neighbour")) {
		o->hog_percent = 20;
		o->hog_cgroup = "/kubepods/pod-etl/main";
	} else if (!strcmp(name, "host-service")) {
		o->hog_percent = 20;
		o->hog_cgroup = "/kubepods";
	} else if (!strcmp(name, "contended"))
		o->contend_percent = 15;
	else if (!strcmp(name, "throttled"))
		o->throttle_percent = 25;
	else if (!strcmp(name, "lock"))
		o->lock_percent = 20;
	else if (!strcmp(name, "disk"))
		o->disk_percent = 15;
	else if (!strcmp(name, "cold-start"))
		o->cold_percent = 4;
	else if (!strcmp(name, "memcpy-bottleneck"))
		o->copy_percent = 40;
	else if (!strcmp(name, "periodic-spike")) {
		o->spike_percent = 5;
		o->spike_every = 100;
	} else if (!strcmp(name, "cpu-contention")) {
		o->contend_percent = 10;
		o->hog_percent = 10;
		o->hog_period_us = 5000;
	} else if (!strcmp(name, "gpu-steal")) {
		o->share_percent = 25;
		o->step_us = 300;
		o->device_us = 2500;
	} else if (!strcmp(name, "errors"))
		o->error_every = 4;
	else if (strcmp(name, "clean") != 0)
		return play_options(name, o);
	return 0;
}

void sim_scenario_dose(struct sim_options *o, unsigned percent)
{
	unsigned *plants[] = { &o->hog_percent,	 &o->contend_percent, &o->throttle_percent,
			       &o->lock_percent, &o->disk_percent,    &o->cold_percent,
			       &o->copy_percent, &o->spike_percent,   &o->share_percent,
			       &o->play_percent };
	unsigned planted = 0, left = percent;

	for (unsigned i = 0; i < sizeof(plants) / sizeof(plants[0]); i++)
		planted += *plants[i];

	/* Shared among those that there are, as they stand to each other. */
	for (unsigned i = 0; i < sizeof(plants) / sizeof(plants[0]) && planted; i++) {
		unsigned was = *plants[i];

		*plants[i] = planted == was ? left : percent * was / planted;
		left -= *plants[i];
		planted -= was;
		percent = left;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready-made recordings: one per kind of culprit, and one without any.
 */
#include "lib/sim/sim.h"

#include <string.h>

void sim_options_init(struct sim_options *o)
{
	*o = (struct sim_options){ .seed = 1,
				   .duration_ns = 10000000000,
				   .threads = 1,
				   .launches = 8,
				   .step_us = 900,
				   .driver_ns = 2600,
				   .device_us = 300,
				   .hog_period_us = 16000,
				   .hog_comm = "log-compactor" };
}

static const struct sim_scenario scenarios[] = {
	{ "incident", "another process takes the CPU of a training loop" },
	{ "contended", "another process makes the loop's wake-ups late" },
	{ "throttled", "the container's CPU quota is used up in every period" },
	{ "lock", "a thread of the process itself holds a lock" },
	{ "disk", "batches are read from a slow disk" },
	{ "errors", "every fourth allocation fails" },
	{ "clean", "nothing is wrong" },
};

const struct sim_scenario *sim_scenarios(unsigned *n)
{
	*n = sizeof(scenarios) / sizeof(scenarios[0]);
	return scenarios;
}

int sim_scenario_options(const char *name, struct sim_options *o)
{
	sim_options_init(o);
	o->duration_ns = 30000000000;
	o->threads = 2;
	if (!strcmp(name, "incident")) {
		o->hog_percent = 25;
		/* Most of its CPU time is in calls, so that is where the verdict lies. */
		o->step_us = 150;
		o->launches = 12;
		o->driver_ns = 38000;
		o->device_us = 950;
	} else if (!strcmp(name, "contended"))
		o->contend_percent = 15;
	else if (!strcmp(name, "throttled"))
		o->throttle_percent = 25;
	else if (!strcmp(name, "lock"))
		o->lock_percent = 20;
	else if (!strcmp(name, "disk"))
		o->disk_percent = 15;
	else if (!strcmp(name, "errors"))
		o->error_every = 4;
	else if (strcmp(name, "clean") != 0)
		return -1;
	return 0;
}

void sim_scenario_dose(struct sim_options *o, unsigned percent)
{
	unsigned *plants[] = { &o->hog_percent, &o->contend_percent, &o->throttle_percent,
			       &o->lock_percent, &o->disk_percent };

	for (unsigned i = 0; i < sizeof(plants) / sizeof(plants[0]); i++)
		if (*plants[i])
			*plants[i] = percent;
}

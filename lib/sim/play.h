/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A play: a scenario whose threads do something else than the training loop. It brings its own call
 * sites and one step, and counts what it plants (sim_planted with PLANT_PLAY). One file in
 * sim/plays/ holds plays of one subject; the table is in play.c. A play of a kind that comes with a
 * dose plants nothing at dose 0.
 */
#ifndef INGERO_SIM_PLAY_H
#define INGERO_SIM_PLAY_H

#include "lib/sim/loop.h"
#include "lib/sim/cast.h"

struct sim_play {
	const char *name, *summary;
	const char *kind; /* of the chain that is right; NULL: nothing is wrong, however it looks */
	const char *culprit; /* as the truth names it; NULL: the process's own command */
	/* Index of the thread that is the culprit, where each thread is a process; 0: none. */
	unsigned culprit_thread;
	unsigned percent; /* of wall time planted unless a dose is asked for; 0: it has no dose */
	unsigned threads; /* 0: one */
	bool processes;	  /* each thread is a process of its own: train, train-1 ... */
	bool two_nodes;	  /* every other one of them on a second machine */
	const struct sim_site_def *sites;  /* SIM_SITES at most, ended by one without function */
	void (*step)(struct sim_actor *a); /* of thread a->index; must move its clock */
};

/* NULL: no play of that name. */
const struct sim_play *sim_play_named(const char *name);
/* All of them, NULL ends. */
const struct sim_play *const *sim_plays(void);

#endif

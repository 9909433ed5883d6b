/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that is recorded, from its start to its status: it waits until the recording has
 * begun, gets the signal that ended us if it does not follow by itself, and is never ended
 * otherwise.
 */
#ifndef INGERO_RECORD_COMMAND_H
#define INGERO_RECORD_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/record/command_launch.h"

/* Zero-initialised: there is none. */
struct record_command {
	struct command_launch launch;
	bool launched;
	bool dropped;	/* it never ran */
	bool told;	/* our signal was handed on */
	int exec_errno; /* why it could not be executed, once told */
	int64_t interrupted_ns;
};

/* As command_launch_start. */
int record_command_start(struct record_command *c, char *const *argv, uid_t uid, gid_t gid,
			 void (*prepare)(void), struct err *e);

/* Once a turn. received: the signal that came to end us, 0 none. Whether the recording is over for
 * the command's sake, or, where there is none, for the signal's. */
bool record_command_over(struct record_command *c, int received);

/* What it is recorded for is there: it runs, or there is none. */
bool record_command_runs(const struct record_command *c);

/* The recording ended before it began. run: nobody reads us any more, the command runs all the
 * same. */
void record_command_settle(struct record_command *c, bool run);

/* Whether the command still runs after the recording. */
bool record_command_goes_on(struct record_command *c);
/* Waits until the command ends or received() returns a signal. */
void record_command_wait(struct record_command *c, int (*received)(void));

#endif

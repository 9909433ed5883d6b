/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a command for the recording: it exists, and can be named as a target, before it runs its
 * first instruction. Under sudo it runs as the user who typed sudo, with that user's groups and
 * home, never as root.
 */
#ifndef INGERO_RECORD_COMMAND_LAUNCH_H
#define INGERO_RECORD_COMMAND_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"

struct command_launch {
	pid_t pid;
	int go;	    /* pipe to the waiting child */
	int failed; /* pipe from it: an errno when exec failed, nothing when it went well; -1 once
		       told */
	int exec_errno; /* why it could not be executed, once told */
	int status;	/* of wait(2), once reaped */
	bool reaped;
};

/* uid 0: stay who we are. gid: where the machine does not know the user. prepare runs in the child
 * (restores signals); may be NULL. */
int command_launch_start(struct command_launch *l, char *const *argv, uid_t uid, gid_t gid,
			 void (*prepare)(void), struct err *e);

/* Let it run. After this command_launch_poll tells how it went. */
void command_launch_go(struct command_launch *l);

/* It shall not run after all: it ends with status 125. */
void command_launch_drop(struct command_launch *l);

/* True once it ended. *exec_errno: why it could not be executed, 0 when it ran. */
bool command_launch_poll(struct command_launch *l, int *exec_errno);

/* After a poll: it was executed and is what was asked for. */
static inline bool command_launch_runs(const struct command_launch *l)
{
	return l->failed < 0 && !l->exec_errno;
}

/* The status a shell would give: exit code, or 128 + signal. */
int command_launch_status(const struct command_launch *l);

#endif

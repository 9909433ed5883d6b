/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C goes to the whole group of the terminal, kill to us alone: the command gets a moment to
 * show which it was. */
#include "lib/record/command.h"

#include <signal.h>
#include <time.h>

#include "lib/host/clock.h"

#define FOLLOW_NS 1000000000ll /* until the signal is handed on */
#define WAIT_NS	  3000000000ll /* until the recording ends without it */

int record_command_start(struct record_command *c, char *const *argv, uid_t uid, gid_t gid,
			 void (*prepare)(void), struct err *e)
{
	int rc = command_launch_start(&c->launch, argv, uid, gid, prepare, e);

	c->launched = rc == 0;
	return rc;
}

static bool handle_interrupt(struct record_command *c, int received)
{
	int64_t now = host_clock_mono(), since;

	if (!c->interrupted_ns) {
		c->interrupted_ns = now;
		return true;
	}
	since = now - c->interrupted_ns;
	if (since > FOLLOW_NS && !c->told) {
		c->told = true;
		kill(c->launch.pid, received);
	}
	return since < WAIT_NS;
}

bool record_command_over(struct record_command *c, int received)
{
	if (!c->launched)
		return received != 0;
	if (command_launch_poll(&c->launch, &c->exec_errno))
		return true;
	return received && !handle_interrupt(c, received);
}

bool record_command_runs(const struct record_command *c)
{
	return !c->launched || command_launch_runs(&c->launch);
}

void record_command_settle(struct record_command *c, bool run)
{
	if (!c->launched || c->launch.go < 0)
		return;
	c->dropped = !run;
	if (run)
		command_launch_go(&c->launch);
	else
		command_launch_drop(&c->launch);
}

bool record_command_goes_on(struct record_command *c)
{
	return c->launched && !command_launch_poll(&c->launch, &c->exec_errno);
}

void record_command_wait(struct record_command *c, int (*received)(void))
{
	struct timespec nap = { .tv_nsec = 10000000 };

	while (!command_launch_poll(&c->launch, &c->exec_errno) && !received())
		nanosleep(&nap, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's measuring of how long BPF programs run, of all of them on the machine: switched on
 * and off by a process of ours that can do nothing else, so that the recorder needs not keep
 * CAP_SYS_ADMIN for it.
 */
#ifndef INGERO_RECORD_METER_H
#define INGERO_RECORD_METER_H

#include <stdbool.h>
#include <sys/types.h>

struct record_meter {
	pid_t pid;
	int fd;	 /* to that process; -1: there is none */
	bool on; /* the kernel measures */
};

/* Starts that process. If that fails it never measures. */
void record_meter_start(struct record_meter *m);
/* Whether the kernel measures now. Where it does not, for want of the right to, it never will, and
 * the process is ended. */
bool record_meter_on(struct record_meter *m);
void record_meter_off(struct record_meter *m);
/* A meter of zeroes, that was never started, may be stopped too. */
void record_meter_stop(struct record_meter *m);

#endif

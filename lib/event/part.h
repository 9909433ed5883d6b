/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states a stretch of a thread's time is divided into by the analysis, under the names that
 * chain and analysis records use. Every nanosecond is in exactly one.
 */
#ifndef INGERO_EVENT_PART_H
#define INGERO_EVENT_PART_H

#include "lib/base/bytes.h"

enum part {
	PART_SELF,	   /* on CPU in its own code */
	PART_PREEMPTED,	   /* runnable, taken off the CPU for somebody else */
	PART_RUNQ,	   /* woken, waiting for a CPU that somebody else held */
	PART_CPU_IDLE,	   /* woken, waiting for a CPU that idled, or was given to it at once, to
			      switch: wake-up latency */
	PART_WAIT_UNKNOWN, /* waiting for a CPU, occupant not recorded */
	PART_THROTTLED,	   /* its cgroup's CPU quota was used up */
	PART_STOLEN,	   /* the hypervisor ran something else */
	PART_DISK,	   /* blocked on block I/O */
	PART_LOCK,	   /* blocked on a mutex until its holder released it */
	PART_FAULT,	   /* blocked in a page fault */
	PART_STOPPED,	   /* stopped or traced */
	PART_ATTACH,	   /* the recorder stopped it to attach its probes, or these held it up */
	PART_RECORDER,	   /* runnable, the recorder itself had the CPU */
	PART_SLEEP,	   /* asked for a sleep */
	PART_IDLE, /* waiting on a condition, semaphore or barrier: for work, not for a lock */
	PART_SOCKET,
	PART_POLL,
	PART_FD,    /* blocked on another file descriptor: pipe, eventfd, terminal */
	PART_CHILD, /* waiting for a child process */
	PART_BLOCKED,
	PART_DEVICE,  /* waiting for the GPU, blocked or spinning */
	PART_UNKNOWN, /* events were lost, cut off at an end, or contradict each other */
	PART_COUNT
};

/* "self", "preempted" …: the names in JSON. And for people: "on CPU, own code" … */
const char *part_name(enum part part);
const char *part_text(enum part part);
/* PART_COUNT: none is called that. */
enum part part_of(struct bytes name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of path time: what a segment on a critical path means for the anchor, and who caused it.
 */
#ifndef INGERO_PATH_PATH_CLASS_H
#define INGERO_PATH_PATH_CLASS_H

#include "lib/path/segment.h"

enum path_class {
	PATH_UNKNOWN,
	PATH_OWN,
	PATH_CALL,
	PATH_DEVICE,
	PATH_RECLAIM,
	PATH_COMPACT,
	PATH_FAULT,
	PATH_STOLEN,
	PATH_THROTTLED,
	PATH_WAKE_UP,
	PATH_TAKEN,	/* another thread had the CPU, and the path does not need that one */
	PATH_CPU_OTHER, /* it is not known which thread had the CPU */
	PATH_YIELD, /* it handed its CPU on by itself (sched_yield), outside calls that wait for the
		       device */
	PATH_LOCK,
	PATH_SLEEP,
	PATH_DISK,
	PATH_CHILD,
	PATH_STOPPED,
	PATH_FROZEN,
	PATH_DEMAND,  /* no request came: a socket that was accepted, or is listened on */
	PATH_REPLY,   /* no answer came: a socket that was connected */
	PATH_SEND,    /* the other end of a socket did not take what was sent */
	PATH_LOSSY,   /* a socket whose connection lost segments meanwhile */
	PATH_OUTSIDE, /* another socket, or several descriptors */
	PATH_BLOCKED,
	PATH_RECORDER, /* the recorder stopped it to attach, held it at a probe, or had its CPU */
	PATH_UNENDED,
	PATH_TOO_DEEP,
	PATH_CLASSES
};

const char *path_class_text(enum path_class class);

enum path_class path_class_of(const struct segment *s);

/* The thread that a segment of `thread` on the path of an anchor is attributed to; 0: the anchor
 * itself, or none. If the anchor itself was stopped or frozen, it is the thread that continued
 * it. */
uint32_t path_class_culprit(enum path_class class, const struct segment *s, uint32_t anchor,
			    uint32_t thread);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandbox for a server after its start, when it only reads, computes and answers. All other rights
 * are dropped permanently, so that an exploit by a request can do little. Uses Landlock (files,
 * connections) and seccomp (system calls), each where the kernel has it.
 */
#ifndef INGERO_HOST_CONFINE_H
#define INGERO_HOST_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

struct host_confine {
	const char *const
		*folders; /* in which files may be written; what is not there is passed over */
	size_t nfolders;
	bool children; /* may be made; they are confined as their parent is, and cannot become
			  another program either */
	bool connects; /* to others, by TCP */
};

enum { HOST_CONFINED_CALLS = 1, HOST_CONFINED_FILES = 2, HOST_CONFINED_CONNECTIONS = 4 };

/* The calling thread and all that it makes from here on: to be called before there are others. Of
 * files nothing can be written but in folders and /dev/null; no program can be executed; system
 * calls that trace, load, mount, change rights or clocks fail with EPERM. What of it is in force;
 * 0: the kernel has none of it, or it is a build whose sanitizer needs what is refused. */
unsigned host_confine(const struct host_confine *c);

#endif

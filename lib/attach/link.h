/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting BPF programs on user code, with the raw system call: the library that Debian 12 ships
 * does not know the newer link types. Three ways, the cheapest first: one session link (entry and
 * return in one program, Linux 6.13), a pair of multi links (6.6), two perf events per symbol
 * (5.15). None is filtered by process: a filtered one misses children.
 */
#ifndef INGERO_ATTACH_LINK_H
#define INGERO_ATTACH_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

enum probe_link { PROBE_LINK_AUTO, PROBE_LINK_SESSION, PROBE_LINK_MULTI, PROBE_LINK_PERF };

/* As the kernel numbers them; the build's headers may be older. */
#define PROBE_ATTACH_MULTI   48
#define PROBE_ATTACH_SESSION 57

/* The programs' descriptors: session in entry for PROBE_LINK_SESSION, where exit is -1. */
struct probe_programs {
	enum probe_link link;
	int entry, exit;
};

/* One place to probe. */
struct probe_site {
	uint64_t offset; /* in the file */
	uint64_t cookie;
};

/* Vecs of descriptors: of what is on entries (and returns, in sessions), and of what is on returns
 * alone. */
struct probe_fd_list {
	int *v;
	size_t n, cap;
};
struct probe_fds {
	struct probe_fd_list entries, returns;
};

const char *probe_link_name(enum probe_link link); /* "session" */

/* Puts the programs on every site of the file at path; the links' descriptors are added to *fds,
 * closing them detaches. failed[i] is set for sites the kernel refused, first gets the first
 * reason, which calls the file by name. Returns the number attached. */
size_t probe_link_attach(const struct probe_programs *p, const char *path, const char *name,
			 const struct probe_site *sites, size_t n, bool *failed,
			 struct probe_fds *fds, struct err *first);

/* How long anybody waits for a kernel that does not end the closing of a link: it takes hundredths
 * of a second, but minutes where the kernel's own workers get no CPU. */
#define PROBE_DETACH_MS 2000

/* Entries first, so that calls which are open still find their return; of each all at once. The
 * probes are gone at once; that no program of theirs runs any more is waited for, at most twice
 * PROBE_DETACH_MS. false: the kernel had not said so by then; what it still holds is left to
 * processes of their own. */
bool probe_link_detach(struct probe_fds *fds);

/* No more events from these links, at once; they are still there. Only perf links can do this. */
void probe_link_silence(const struct probe_fds *fds);

/* Leaves the links to processes of their own: detaching perf links takes a tenth of a second each,
 * which nobody should wait for. The caller's descriptors are closed when it ends. */
void probe_link_abandon(struct probe_fds *fds);

/* Detaches in a new thread, which ends when the kernel has released the links; *fds is empty at
 * once. */
void probe_link_close_later(struct probe_fds *fds);

/* All of from to to. False: no memory, and nothing has moved. */
bool probe_link_move(struct probe_fds *to, struct probe_fds *from);

#endif

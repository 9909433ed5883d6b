/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this kernel take our probes? Found out by doing it: each kind of link is put on a function
 * of this program, the function is called, and the calls are counted as they come out of the ring.
 * All is taken away again.
 */
#ifndef INGERO_ATTACH_PROBE_SELFTEST_H
#define INGERO_ATTACH_PROBE_SELFTEST_H

#include <stddef.h>

#include "lib/base/verdict.h"
#include "lib/attach/link.h"

/* Programs of one source that not every kernel takes, as they were attached. */
struct probe_selftest_source {
	char name[24]; /* "block", "file" ... */
	unsigned requested, attached;
	char hooks[64];	  /* kinds of those attached, "tracepoint, kprobe" */
	char reason[200]; /* why not all are; "" they are */
};

#define PROBE_SELFTEST_SOURCES 16
struct probe_selftest {
	const char *links[4]; /* kinds whose calls were all seen, ended by NULL; cheapest first */
	struct probe_selftest_source sources[PROBE_SELFTEST_SOURCES];
	size_t nsources;
};

/* btf: instead of the kernel's own; NULL. Adds the lines probes, stacks, host, scheduler. Needs the
 * rights. */
void probe_selftest(struct probe_selftest *out, struct verdicts *to, const char *btf);

#endif

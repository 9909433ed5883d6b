/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this kernel take our probes? Found out by doing it: each kind of link is put on a function of this program,
 * the function is called, and the calls are counted as they come out of the ring. All is taken away again.
 */
#ifndef INGERO_PROBE_TRYOUT_H
#define INGERO_PROBE_TRYOUT_H

#include "lib/base/verdict.h"
#include "lib/probe/link.h"

struct probe_tryout {
	const char *links[4]; /* kinds whose calls were all seen, ended by NULL; cheapest first */
};

/* btf: instead of the kernel's own; NULL. Adds the lines probes, stacks, host, scheduler. Needs the rights. */
void probe_tryout(struct probe_tryout *out, struct verdicts *to, const char *btf);

#endif

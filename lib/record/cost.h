/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the recorded programs. Two parts of a call's cost are known in different
 * ways: what the kernel's traps cost is calibrated at the start, by a child that calls a probed
 * function of ours; what the programs cost is measured by the kernel, with the stacks that are
 * really walked, in one second of ten (measuring costs something, too). What a trap makes slower
 * behind it is neither: see AFTERMATH_NS.
 */
#ifndef INGERO_RECORD_COST_H
#define INGERO_RECORD_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/record/meter.h"
#include "lib/attach/session.h"

struct record_cost {
	double call_ns, program_ns;	  /* calibration: of one call, and the programs' part of it;
					     program_ns 0: unknown */
	double skipped_ns;		  /* calibration: of a call that is not recorded */
	struct record_meter meter;	  /* on while the kernel measures */
	bool measures;			  /* it can */
	bool interpreted;		  /* the programs are Python's, see AFTERMATH_NS */
	int64_t window_ns, next_ns;	  /* begin of this measurement, of the next */
	uint64_t before[2], calls_before; /* run times (calls, others) and calls at its begin */
	uint64_t measured_ns, ran_ns[2], measured_calls; /* sums over all measurements */
};

/* Calibrates; what that leaves in the rings is thrown away, so it comes before anything is
 * attached. A failure leaves everything 0: unknown. */
void record_cost_start(struct record_cost *c, struct probe_session *s);
/* Once a second, and at the end: calls recorded so far. */
void record_cost_look(struct record_cost *c, struct probe_session *s, int64_t now_ns,
		      uint64_t calls, bool at_end);
/* ns added to one call, and to one that is folded or left out; 0 unknown. And by programs
 * elsewhere, in each second; < 0 unknown. */
double record_cost_call(const struct record_cost *c);
double record_cost_skipped(const struct record_cost *c);
double record_cost_host(const struct record_cost *c);
void record_cost_stop(struct record_cost *c);

#endif

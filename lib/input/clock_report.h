/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well the machines of joined recordings lie on one clock, as far as the recordings themselves
 * tell: their clock readings, and whether they overlap at all. How well the wall clocks agreed no
 * reading of one machine says.
 */
#ifndef INGERO_INPUT_CLOCK_REPORT_H
#define INGERO_INPUT_CLOCK_REPORT_H

#include "lib/base/buf.h"
#include "lib/input/input.h"

/* After the end. One line per machine is appended to notes, with the bound of its clock's error,
 * and one to warnings for each that lies beyond threshold_ns, cannot be placed or is called like
 * another. Nothing for a single machine. */
void input_clock_report(const struct input *in, const struct world *w, uint64_t threshold_ns,
			struct buf *notes, struct buf *warnings);

#endif

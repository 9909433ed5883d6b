/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stall that is not generated but happens: a loop of GPU work by the driver's interface, on the
 * machine's GPU or, in a build tree on a machine without one, on the double; and a hog on the same
 * CPU. To be recorded with probes.
 */
#ifndef INGERO_SIM_REAL_LOOP_H
#define INGERO_SIM_REAL_LOOP_H

#include <stdbool.h>

#include "lib/base/err.h"

#define SIM_LIVE_HOG "nightly-backup" /* the hog's command */

/* Whether there is something to work on. double_folder: where a stand-in for libcuda.so.1 lies; may
 * not exist. ERR_CANNOT says why. */
int sim_live_find(const char *double_folder, bool *is_double, struct err *e);

/* Works for so long, on the CPU that the hog takes. */
int sim_live_loop(const char *double_folder, unsigned seconds, struct err *e);

/* Takes percent of the CPU until SIGTERM, or until the parent ends. */
void sim_live_hog(unsigned percent);

#endif

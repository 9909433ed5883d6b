/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stall that really happens on this machine, and its recording: a loop of GPU work beside a hog
 * on its CPU.
 */
#ifndef INGERO_DEMO_REAL_STALL_H
#define INGERO_DEMO_REAL_STALL_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/sim/real_loop.h"

#define REAL_STALL_HOG SIM_LIVE_HOG

/* Runs ingero-record into path over "PROGRAM --loop"; *hog: who took the CPU. bars: this machine's
 * CPU, memory and load are drawn on the terminal meanwhile. The recorder's status; what failed here
 * is said. */
int real_stall_record(const char *program, const char *path, bool bars, pid_t *hog, struct err *e);

/* What PROGRAM --loop does: the work. */
int real_stall_loop(const char *program, struct err *e);

#endif

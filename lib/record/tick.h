/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the interrupt behind a CPU sample takes from the thread that has the CPU: calibrated, for
 * the kernel measures only the program that runs in it. On virtual machines it is by far the larger
 * part.
 */
#ifndef INGERO_RECORD_TICK_H
#define INGERO_RECORD_TICK_H

/* ns of one interrupt of the kernel's CPU clock on this thread; takes some milliseconds. 0: not
 * known. */
double record_tick_ns(void);

#endif

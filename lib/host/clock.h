/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine's clocks show at one moment. Events are on CLOCK_MONOTONIC, /proc starts
 * processes on CLOCK_BOOTTIME, people live on CLOCK_REALTIME: CLOCK records tie the three together.
 */
#ifndef INGERO_HOST_CLOCK_H
#define INGERO_HOST_CLOCK_H

#include <stdint.h>

#include "lib/event/record.h"

int64_t host_clock_mono(void); /* CLOCK_MONOTONIC, ns */
int64_t host_clock_boot(void);
int64_t host_clock_real(void);

/* The three read between two readings of the first: uncertainty_ns is half of what lay between
 * those, the smallest of several tries. source ("start", "tick", "end") is borrowed by the record.
 */
void host_clock_record(struct record *r, const char *source);

#endif

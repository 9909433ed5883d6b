/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring bytes of the host tracks to events: off-CPU intervals, who occupied a CPU, moves between
 * CPUs. Threads are named by the announcements that wire_known.h keeps.
 */
#ifndef INGERO_DECODE_SCHED_WIRE_H
#define INGERO_DECODE_SCHED_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/decode/wire_known.h"

/* One record with a kind from WIRE_OFFCPU on, below WIRE_FORK. False: too short, of an unknown
 * kind, or about a thread that was never announced. */
bool decode_sched_record(struct wire_decoder *wire, const void *p, size_t n);

#endif

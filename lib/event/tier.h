/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers: groups of ops whose probes a recorder attaches and detaches together, when recording all
 * of their calls would cost more than its budget. The numbers are part of the file format (PAUSED
 * records).
 */
#ifndef INGERO_EVENT_TIER_H
#define INGERO_EVENT_TIER_H

#include <stdint.h>

enum op_tier {
	TIER_KEPT,     /* never detached: modules, contexts, streams, graph capture, registration */
	TIER_LAUNCHES, /* kernel launches, runtime and driver */
	TIER_QUERIES,  /* questions: event and stream query, elapsed time */
	TIER_SUBMITS, /* other work for the device that nobody waits for: copies, memsets, events */
	TIER_ALLOCATIONS, /* device memory */
	TIER_WAITS,	  /* synchronization, copies that wait, graph launches, collectives */
	TIERS
};

/* The tier of a call's op; TIER_KEPT for ops that this program does not know and for what is no
 * library call. */
enum op_tier op_tier(uint16_t op);

#define TIERS_ALL ((1u << TIERS) - 2) /* all that a recorder may detach */

/* "launches"; "?" for a number that is none. */
const char *op_tier_name(unsigned tier);

/* What its calls are called: "kernel launches"; "?" for a number that is none. */
const char *op_tier_text(unsigned tier);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of a BPF ring buffer, on the map's own memory: records are handed out where they
 * lie and given back in batches. One reader. A drain ends at what had been produced when it began,
 * so a producer that never pauses cannot keep the reader from its other work.
 */
#ifndef INGERO_ATTACH_RING_H
#define INGERO_ATTACH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct probe_ring {
	int fd; /* of the map, borrowed; readable in poll(2) */
	volatile unsigned long *consumer;
	const volatile unsigned long *producer;
	const uint8_t *data; /* mapped twice in a row: a record never wraps */
	size_t size;
};

/* p: one record, 8-aligned, borrowed during the call. */
typedef void probe_ring_fn(void *ctx, const void *p, size_t n);

int probe_ring_open(struct probe_ring *r, int map_fd, size_t size, struct err *e);
void probe_ring_close(struct probe_ring *r);

/* Behind the last record begun so far. */
unsigned long probe_ring_end(const struct probe_ring *r);
/* Calls fn for each record before end. False: stopped earlier, at a record still being written. */
bool probe_ring_drain_to(struct probe_ring *r, unsigned long end, probe_ring_fn *fn, void *ctx);
/* The same to the end of now. */
bool probe_ring_drain(struct probe_ring *r, probe_ring_fn *fn, void *ctx);

#endif

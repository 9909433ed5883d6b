/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings on one clock. Those of one boot of one machine share its monotonic clock and
 * stay as they are. As soon as there are two, times become those of the wall clock: the monotonic
 * clock of a machine ticks like its wall clock between two settings of the latter, so one number
 * per machine moves it. Nothing here depends on the order in which inputs were named.
 */
#ifndef INGERO_CLOCK_CLOCK_ALIGN_H
#define INGERO_CLOCK_CLOCK_ALIGN_H

#include "lib/event/stream.h"
#include "lib/ige/block.h"
#include "lib/clock/clock_fit.h"
#include "lib/world/world.h"

/* How a recording begins. */
struct clock_head {
	bool known; /* it begins with a segment header */
	unsigned char bytes[IGE_SEGMENT_BYTES];
	struct ige_segment segment;
	uint32_t machine; /* clock_align: they count from 0 in the order of heads */
	int64_t shift_ns; /* added to its times, fit and ahead_ns included */
	int64_t ahead_ns; /* what somebody measured of its wall clock; subtracted from its times */
	struct clock_fit fit; /* what collectives with other machines made of it */
};

/* What is added to its wall clock. */
static inline int64_t clock_head_put_right(const struct clock_head *h)
{
	return (int64_t)((uint64_t)h->fit.by_ns - (uint64_t)h->ahead_ns);
}

/* bytes of the first block read; anything but a segment header: not known. ahead_ns stays. */
void clock_head_take(struct clock_head *h, const void *bytes, size_t n);

/* < 0, 0, > 0: by node, boot, clock and what identifies the segment. */
int clock_head_order(const struct clock_head *a, const struct clock_head *b);

/* The clock all are on then, as a segment header says it. */
struct clock_common {
	uint8_t node_uuid[16]; /* zero, and boot 0: of several */
	uint64_t boot;
	int64_t real_minus_mono_ns;
	uint32_t clock_id;
	unsigned machines;
};

/* heads[0..n) are sorted by clock_head_order. */
struct clock_common clock_align(struct clock_head *heads, size_t n);

/* fits[0..machines) of these heads, by machine. */
void clock_align_fit(struct clock_head *heads, size_t n, const struct clock_fit *fits);

/* A stream with its times moved by shift_ns, and its records saying which node they are about. The
 * inner one stays the caller's. NULL: out of memory. */
struct event_stream *clock_shift_times(struct world *w, struct event_stream *inner,
				       const struct clock_head *head);

#endif

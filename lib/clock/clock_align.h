/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings on one clock. Those of one boot of one machine share its monotonic clock and
 * stay as they are. As soon as there are two, times become those of the wall clock: the monotonic
 * clock of a machine ticks like its wall clock between two settings of the latter, so one number
 * per machine moves it. Nothing here depends on the order in which inputs were named.
 */
#ifndef INGERO_INPUT_CLOCK_ALIGN_H
#define INGERO_INPUT_CLOCK_ALIGN_H

#include "lib/event/stream.h"
#include "lib/ige/block.h"
#include "lib/input/clock_fit.h"
#include "lib/world/world.h"

/* How a recording begins. */
struct input_head {
	bool known; /* it begins with a segment header */
	unsigned char bytes[IGE_SEGMENT_BYTES];
	struct ige_segment segment;
	uint32_t machine; /* input_clock_align: they count from 0 in the order of heads */
	int64_t shift_ns; /* added to its times, fit and ahead_ns included */
	int64_t ahead_ns; /* what somebody measured of its wall clock; subtracted from its times */
	struct input_clock_fit fit; /* what collectives with other machines made of it */
};

/* What is added to its wall clock. */
static inline int64_t input_head_put_right(const struct input_head *h)
{
	return (int64_t)((uint64_t)h->fit.by_ns - (uint64_t)h->ahead_ns);
}

/* bytes of the first block read; anything but a segment header: not known. ahead_ns stays. */
void input_head_take(struct input_head *h, const void *bytes, size_t n);

/* < 0, 0, > 0: by node, boot, clock and what identifies the segment. */
int input_head_order(const struct input_head *a, const struct input_head *b);

/* The clock all are on then, as a segment header says it. */
struct input_clock {
	uint8_t node_uuid[16]; /* zero, and boot 0: of several */
	uint64_t boot;
	int64_t real_minus_mono_ns;
	uint32_t clock_id;
	unsigned machines;
};

/* heads[0..n) are sorted by input_head_order. */
struct input_clock input_clock_align(struct input_head *heads, size_t n);

/* fits[0..machines) of these heads, by machine. */
void input_clock_align_fit(struct input_head *heads, size_t n, const struct input_clock_fit *fits);

/* A stream with its times moved by shift_ns, and its records saying which node they are about. The
 * inner one stays the caller's. NULL: out of memory. */
struct event_stream *input_shift_times(struct world *w, struct event_stream *inner,
				       const struct input_head *head);

#endif

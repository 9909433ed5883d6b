/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a device had nothing to do for a process, and what the process did meanwhile. Work is
 * outstanding from a call that submits some until a call that covers it returns
 * (gpustate/device.h). From there, or from where the device woke the waiting thread if that is
 * seen, to the end of the next call that submits work is a gap. It comes with what the thread that
 * made that call did in it; the threads it waited for are on its critical path
 * (lib/tracks/track.h). A gap stands once every other thread that submits to the device has gone
 * past it: one that turns out to have waited for the device, or to have copied, meanwhile takes it
 * back. A gap in which the recording ends while the thread that last waited for the device is known
 * to be blocked is one, too, and one in which its process ended after it had waited long. The time
 * from the first submission to the wait that covers it all is a run: the cost of issuing work, and
 * whether the device was still busy in the end. Times in which probes were detached have no gap,
 * nor a run or a wait that reaches back into one. One pass; memory is bounded by threads, devices
 * and streams.
 */
#ifndef INGERO_GPUSTATE_GAPS_H
#define INGERO_GPUSTATE_GAPS_H

#include "lib/event/paused.h"
#include "lib/gpustate/device.h"
#include "lib/attrib/line.h"

#define GAP_UNBOUNDED_NS 5000000     /* shorter ones are not told where a gap is only at most one */
#define GAP_ISSUE_NS	 50000	     /* submissions this close together are one burst */
#define GAP_STANDS_NS	 10000000000 /* after this at the latest */
#define GAP_LAST_NS \
	1000000000 /* a wait in the last gap of a process that ended lasts this long at least */
#define GAP_PENDING 256
#define GAP_GRAPH   64 /* kernels that a graph counts as: nobody makes one of a few */

struct gap {
	uint32_t device;	  /* position */
	uint32_t thread;	  /* which submits next */
	int64_t start_ns, end_ns; /* of the gap: end of the call that submits */
	bool unbounded;	    /* it had nothing to do for at most this: no call ever waited for the
			       device, or calls are missing */
	bool unended;	    /* the recording or the process ended in it: no call after */
	bool some_launches; /* launches may have been more */
	uint16_t since_op, until_op; /* the wait before and the call after */
	uint32_t since_stack, until_stack;
	uint64_t launches; /* since the wait before that one */
	int64_t alone_ns; /* since when all devices of that thread had nothing to do; end_ns: one of
			     them has */
	uint64_t others_ns; /* other processes had work on the device */
	uint64_t self_ns;   /* the thread was on its CPU, outside of calls */
	uint64_t kept_ns; /* it waited or was kept from its CPU: outside of calls, or by the host in
			     them */
};

/* From the first submission after a gap to the wait that covers everything. */
struct gap_run {
	uint32_t device, thread;	   /* which waits */
	int64_t start_ns, wait_ns, end_ns; /* first submission, begin and end of the wait */
	uint64_t launches, issue_ns; /* in bursts: calls that launch and what lies between them */
	uint64_t device_ns; /* waiting for the device, in this wait and in those before it that did
			       not cover everything */
	uint16_t op;	    /* of most launches: the first */
	uint32_t stack, issuer; /* issuer: thread of that one */
	int64_t issued_ns;	/* end of that one */
};

/* What a thread submitted and then waited for. */
struct gap_wait {
	uint32_t device, thread;
	int64_t start_ns,
		end_ns; /* its first submission since the wait before; the end of this one */
	uint16_t op;
	uint32_t stack;
	uint64_t host_ns;   /* of it, while waiting: taken by the host */
	uint64_t others_ns; /* of it, other processes had work on the same GPU */
	uint32_t other;	    /* position of the device of that one of them that had most of it;
			       UINT32_MAX: it is gone, or there is none */
};

/* The listener: gaps come in the order in which they are known to stand, runs as they end.
 * Borrowed; false: out of memory. */
struct gap_sink {
	bool (*gap)(struct gap_sink *s, const struct gap *gap);
	bool (*run)(struct gap_sink *s, const struct gap_run *run);
	bool (*wait)(struct gap_sink *s, const struct gap_wait *wait);
};

struct gaps;

/* The world, the pauses and the sink stay the caller's. NULL: out of memory. */
struct gaps *gaps_new(const struct world *w, const struct paused *paused, struct gap_sink *sink);
void gaps_free(struct gaps *g);

/* All return false when out of memory. In order: outermost calls, calls inside one, and stretches
 * outside calls. */
bool gaps_call(struct gaps *g, const struct line_piece *p);
bool gaps_inner(struct gaps *g, const struct line_piece *p);
bool gaps_outside(struct gaps *g, const struct line_piece *p);
/* Every off-CPU interval inside a call, before the call. */
bool gaps_wait(struct gaps *g, const struct line_piece *p);

/* Calls were left out of the recording on purpose: from here on every gap is at most one, and a
 * wait ends it too. */
void gaps_partial(struct gaps *g);

/* No more events of a process come, whose threads these are: drops its state. Its devices keep
 * their positions. */
bool gaps_forget(struct gaps *g, uint32_t process, const uint32_t *threads, size_t n);

/* Everything up to here was seen: gaps that wait for threads which do nothing stand. INT64_MAX: the
 * end. */
bool gaps_settle(struct gaps *g, int64_t ns);

/* Position of this process's device; UINT32_MAX: it has none there. */
uint32_t gaps_device_of(const struct gaps *g, uint32_t process, uint32_t gpu);
const struct device *gaps_device(const struct gaps *g, uint32_t at);
/* Whether another process uses the same GPU. */
bool gaps_shared(const struct gaps *g, uint32_t at);

#endif

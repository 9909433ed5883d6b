/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells waits for disks among those for requests that were handed to the kernel before, whose
 * system call does not say what they are for (sockets and files look the same), and of waits for a
 * disk which one it is.
 */
#include "lib/path/disk_requests.h"

#include "lib/event/syscall.h"

bool disk_requests_add(struct disk_requests *d, uint32_t process, const struct event *ev,
		       const struct op_def *def)
{
	uint64_t device;

	if (!process || !event_get(ev, def, COL_DEVICE, &device))
		return true;
	if (!vec_reach(&d->v, process))
		return false;
	d->v.v[process] = (struct disk_request){ ev->end_ns, (uint32_t)device, true };
	return true;
}

/* For requests that it handed to the kernel before, or for a disk of which the kernel did not say
 * which, as for a page that a file system writes back. */
static bool may_be_for_request(const struct event *ev, const struct op_def *def,
			       const struct segment *wait)
{
	uint64_t number;

	if (wait->state != SEGMENT_BLOCKED)
		return false;
	if (wait->object == OBJECT_DISK)
		return !wait->who;
	return wait->object == OBJECT_POLL && event_get(ev, def, COL_SYSCALL, &number) &&
	       syscall_reaps(number);
}

/* By an interrupt that is no clock's. */
static bool ended_by_device(const struct event *ev, const struct op_def *def)
{
	uint64_t kind;

	return event_get(ev, def, COL_WAKER_KIND, &kind) &&
	       (kind == WAKER_HARDIRQ || kind == WAKER_SOFTIRQ);
}

void disk_requests_place(const struct disk_requests *d, uint32_t process, const struct event *ev,
			 const struct op_def *def, struct segment *wait)
{
	const struct disk_request *last = process < d->v.n ? &d->v.v[process] : NULL;

	if (!last || !last->known || !may_be_for_request(ev, def, wait) ||
	    !ended_by_device(ev, def))
		return;
	if (last->end_ns < event_start(ev) || last->end_ns > wait->end_ns + DISK_REQUEST_NS ||
	    last->end_ns < wait->end_ns - DISK_REQUEST_NS)
		return;
	wait->object = OBJECT_DISK;
	wait->who = last->device;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up a recording in numbers (events, losses, bytes) at any time.
 */
#include "lib/record/recorder_internal.h"

#include <sys/resource.h>

#include "lib/host/clock.h"

double recorder_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

uint64_t recorder_ticks_ns(struct recorder *r)
{
	uint64_t n = r->spent.ticks - r->spent.ticks_said;

	r->spent.ticks_said += n;
	return (uint64_t)((double)n * r->spent.tick_ns);
}

size_t recorder_alive(const struct recorder *r)
{
	return r->session ? probe_targets_alive(r->targets) : r->watch.alive.n;
}

size_t recorder_with_cuda(const struct recorder *r)
{
	return r->session ? probe_targets_with_cuda(r->targets) : r->watch.with_cuda;
}

void recorder_totals(const struct recorder *r, struct recorder_totals *t)
{
	static const struct decode_name_counts none;
	const struct decode_name_counts *names = r->wire ? wire_decoder_names(r->wire) : &none;
	const struct decode_name_counts *texts = r->wire ? wire_decoder_texts(r->wire) : &none;

	*t = (struct recorder_totals){
		.events = r->events,
		.calls = r->calls,
		.lost = r->loss.lost,
		.lost_ring = recorder_ring_losses(r),
		.stacks_lost = r->loss.slots.n[0][WIRE_UNTOLD_STACK],
		.kernels_lost =
			r->loss.slots.n[0][WIRE_UNTOLD_KERNEL] + recorder_roomless(r) + names->lost,
		.kernels_late = names->late,
		.texts_lost = texts->lost,
		.texts_late = texts->late,
		.open = r->opens.open,
		.hung = r->opens.hung,
		.start_ns = r->start_ns,
		.end_ns = host_clock_mono(),
		.with_cuda = recorder_with_cuda(r),
		.link = "no",
		.walker = recorder_walker(r),
	};
	if (!r->session)
		return;
	t->shares = *wire_decoder_shares(r->wire);
	t->link = probe_link_name(probe_session_programs(r->session)->link);
}

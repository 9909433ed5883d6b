/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands gaps to the tracks (lib/tracks/device_gaps.h), which say what the thread that ended them
 * did in them, and sums what is known of the gaps themselves.
 */
#include "lib/account/loss_gaps.h"

#include <stdlib.h>

/* A step has to do a little between two others, and so much it takes to launch anything. */
#define MIN_SELF_NS 100000

static void between_add(struct loss_gaps *p, const struct gap *gap)
{
	uint64_t ns = gap->self_ns;

	if (gap->unended)
		return;
	if (p->between.since_stack == gap->since_stack &&
	    p->between.until_stack == gap->until_stack) {
		p->between.ns += ns;
	} else if (p->between.ns >= ns) {
		p->between.ns -= ns;
	} else {
		p->between.since_stack = gap->since_stack;
		p->between.until_stack = gap->until_stack;
		p->between.ns = ns - p->between.ns;
	}
}

bool loss_gaps_add(struct cause *c, const struct device *d, const struct gap *gap, bool storm)
{
	struct lost_time *l = &c->lost_time;
	uint64_t ns = (uint64_t)(gap->end_ns - gap->start_ns);
	struct loss_gaps *p;

	if (!vec_reach(&l->processes, d->process))
		return false;
	if (!l->processes.v[d->process].gaps)
		l->processes.v[d->process].gaps = calloc(1, sizeof(*p));
	p = l->processes.v[d->process].gaps;
	if (!p)
		return false;
	p->gpus |= p->gpu && p->gpu != d->gpu;
	p->gpu = d->gpu;
	cause_found_add(&p->found, c, gap->thread, TIERS_ALL, gap->end_ns, ns);
	p->found_ns += ns;
	p->found_count++;
	if (!storm)
		between_add(p, gap);
	return gap->end_ns <= gap->alone_ns ||
	       path_tracks_gap(c->tracks, gap->thread,
			       (struct device_gap){ .from_ns = gap->alone_ns,
						    .to_ns = gap->end_ns,
						    .brief = storm || gap->self_ns < MIN_SELF_NS,
						    .unended = gap->unended,
						    .at_most = gap->unbounded });
}

const struct loss_gaps *loss_gaps_of(const struct cause *c, uint32_t process)
{
	static const struct loss_gaps none;
	const struct loss_process *p = lost_time_process(&c->lost_time, process);

	return p->gaps ? p->gaps : &none;
}

double loss_gaps_factor(const struct cause *c, uint32_t process)
{
	const struct loss_gaps *p = loss_gaps_of(c, process);
	struct cause_estimate e = cause_found_estimate(&p->found, c, p->found_ns, p->found_count);

	if (!e.is || e.ns_factor > 1)
		return e.ns_factor;
	return paused_is_known(e.covered, 1, 0) && p->found_count >= PAUSED_OFTEN ? 1 / e.covered
										  : 1;
}

struct cause_estimate loss_gaps_estimate(const struct cause *c, const struct loss *x)
{
	const struct loss_gaps *p = loss_gaps_of(c, x->process);
	struct cause_estimate e = { .ns_factor = 1, .count_factor = 1, .covered = 1 };

	if (x->family != LOSS_IDLE || x->of.idle.whole)
		return e;
	e = cause_found_estimate(&p->found, c, p->found_ns, p->found_count);
	if (e.is && c->lost_time.pane == INT64_MAX &&
	    !lost_time_process(&c->lost_time, x->process)->dropped &&
	    loss_gaps_factor(c, x->process) > 1) {
		e.ns_factor = e.count_factor = 1;
		e.least = false;
	}
	return e;
}

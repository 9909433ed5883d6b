/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts runs of sleeps and how often one differs from the run before it. A loop that sleeps three
 * times a step has runs, too, but they are alike; what cuts one of them in two is rare.
 */
#include "lib/stat/polls.h"

static bool is_next(const struct poll_sums *p, int64_t from_ns)
{
	uint64_t look = p->slept_ns / 10 > POLL_LOOK_NS ? p->slept_ns / 10 : POLL_LOOK_NS;

	return p->run && from_ns >= p->until_ns && (uint64_t)(from_ns - p->until_ns) <= look;
}

static void end_run(struct poll_sums *p)
{
	if (!p->run)
		return;
	p->differ += p->runs && p->run != p->before;
	p->before = p->run;
	p->sleeps += p->run;
	p->runs++;
	p->run = 0;
}

void polls_add(struct poll_sums *p, int64_t from_ns, int64_t woke_ns, int64_t ran_ns, bool other)
{
	if (!other && is_next(p, from_ns)) {
		p->apart_ns += (uint64_t)(from_ns - p->from_ns);
		p->aparts++;
	} else {
		end_run(p);
	}
	p->run++;
	p->from_ns = from_ns;
	p->until_ns = ran_ns;
	p->slept_ns = woke_ns > from_ns ? (uint64_t)(woke_ns - from_ns) : 0;
}

void polls_extend(struct poll_sums *p, int64_t ran_ns)
{
	p->until_ns = ran_ns;
}

struct poll polls_verdict(const struct poll_sums *p)
{
	struct poll none = { 0 };
	uint64_t us;

	if (p->runs < POLL_RUNS_LEAST || p->sleeps < POLL_TIMES_LEAST * p->runs || !p->aparts ||
	    (double)p->differ < POLL_DIFFER * (double)p->runs)
		return none;
	us = p->apart_ns / p->aparts / 1000;
	return (struct poll){ .interval_us = us > UINT32_MAX ? UINT32_MAX
					     : us	     ? (uint32_t)us
							     : 1,
			      .times = (float)p->sleeps / (float)p->runs };
}

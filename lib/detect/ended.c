/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frees what the analysis keeps of processes that have ended, looked at once per second.
 */
#include "lib/account/ended.h"

#include "lib/account/analysis_state.h"

bool cause_ended_event(struct cause *c, const struct event *ev)
{
	/* The first thread of a process ended; others that go on still send events. */
	uint32_t process = cause_exited(c->w, ev);
	struct tally_process *p = process ? tally_process(&c->tally, process) : NULL;

	if (p)
		p->exited = true;
	return !process || (p && vec_push(&c->leaving.v, (struct leaving){ process, ev->end_ns }));
}

static bool forget_process(struct cause *c, uint32_t process)
{
	const struct tally_process *p = tally_process_known(&c->tally, process);

	for (size_t i = 0; p && i < p->threads.n; i++) {
		uint32_t thread = p->threads.v[i];

		once_forget(&c->live->once, thread);
		once_forget(&c->graphs->once, thread);
		path_tracks_device_gone(c->tracks, thread);
	}
	path_tracks_device_all_gone(c->tracks, process);
	return detectors_forget_process(c, process) && live_forget(c->live, process) &&
	       classes_forget(&c->classes, process) && lost_time_forget(&c->lost_time, process) &&
	       tally_forget(&c->tally, process);
}

/* Whether nothing that is found at the end can be of a process that lived for so short a time, in
 * all its threads. */
static bool too_short(const struct cause *c, const struct tally_process *p)
{
	double all = (double)(p->last_ns - p->first_ns) * (double)(p->threads.n + 1);

	return all < c->opt.min_share * (double)cause_wall_ns(c);
}

int cause_ended_settle(struct cause *c, struct err *e)
{
	struct leaving *v = c->leaving.v.v;
	size_t left = 0, told = 0;
	int rc = 0;

	for (size_t i = 0; i < c->leaving.v.n; i++) {
		const struct tally_process *p = tally_process_known(&c->tally, v[i].process);

		told += p && p->told;
	}
	for (size_t i = 0; i < c->leaving.v.n; i++) {
		const struct tally_process *p = tally_process_known(&c->tally, v[i].process);
		int64_t last = p && p->last_ns > v[i].exit_ns ? p->last_ns : v[i].exit_ns;
		bool gone = last + ENDED_NS <= c->settled_ns;

		if (gone && p && p->told) {
			gone = told > ENDED_TOLD;
			told -= gone;
			if (gone)
				rc = cause_settle_last(c, v[i].process, e);
		} else if (gone && p) {
			gone = too_short(c, p);
		}
		if (rc < 0)
			return rc;
		if (!gone)
			v[left++] = v[i];
		else if (!forget_process(c, v[i].process))
			return err_nomem(e);
	}
	c->leaving.v.n = left;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the threads of a program that had the CPU while its path waited for one, and counts how
 * many of them there were at the same time, from the first to the last time that each had it:
 * threads that follow each other do not add up.
 */
#include "lib/account/loss_crowd.h"

#include <stdlib.h>
#include <string.h>

#include "lib/account/analysis_state.h"
#include "lib/world/frame_parts.h"

#define CROWD_THREADS 512 /* of a process; more are passed over */

/* What had less than so much of what the busiest had is no busy thread: a worker's second one,
 * which sends what it made. */
#define BUSY_SHARE 0.25

bool loss_is_turn(struct cause *c, uint32_t anchor, const struct track_part *p)
{
	const struct line_culprit *who;
	uint32_t process = cause_process_of(c, anchor);

	if (!p->occupant || p->occupant != p->leaf || p->occupant == anchor || p->lock)
		return false;
	if (cause_process_of(c, p->occupant) == process)
		return true;
	who = culprit_get(c->tally.culprits,
			  culprit_task(c->tally.culprits, p->occupant, process, 0));
	return who && who->related;
}

static bool is_openmp(const struct world *w, uint32_t frame)
{
	static const char *const runtimes[] = { "libgomp", "libiomp", "libomp" };
	struct bytes module = bytes_file_name(place_of(w, frame).module);

	for (unsigned i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (module.n >= strlen(runtimes[i]) &&
		    memcmp(module.p, runtimes[i], strlen(runtimes[i])) == 0)
			return true;
	return false;
}

bool loss_crowd_openmp_met(const struct world *w)
{
	for (uint32_t i = 1; i <= world_count(w, WORLD_FRAME); i++)
		if (is_openmp(w, i))
			return true;
	return false;
}

/* A line outvotes the others. */
static void add_line(struct crowd_thread *t, uint32_t frame, uint64_t ns)
{
	if (t->frame == frame) {
		t->frame_ns += ns;
	} else if (t->frame_ns >= ns) {
		t->frame_ns -= ns;
	} else {
		t->frame = frame;
		t->frame_ns = ns - t->frame_ns;
	}
}

static bool add_turn(struct loss_crowd *x, const struct world *w, const struct track_part *p)
{
	struct crowd_thread *t;
	size_t i = 0;

	while (i < x->threads.n && x->threads.v[i].thread != p->leaf)
		i++;
	if (i == CROWD_THREADS)
		return true;
	if (i == x->threads.n &&
	    !vec_push(&x->threads, (struct crowd_thread){ .thread = p->leaf,
							  .first_ns = p->first_ns,
							  .last_ns = p->last_ns }))
		return false;
	t = &x->threads.v[i];
	t->ns += p->ns;
	t->first_ns = p->first_ns < t->first_ns ? p->first_ns : t->first_ns;
	t->last_ns = p->last_ns > t->last_ns ? p->last_ns : t->last_ns;
	t->openmp |= is_openmp(w, p->line) || (p->inner && is_openmp(w, p->inner));
	if (p->line)
		add_line(t, p->line, p->ns);
	return true;
}

static struct loss_crowd *crowd_at(struct lost_time *l, uint32_t process)
{
	for (size_t i = 0; i < l->crowds.n; i++)
		if (l->crowds.v[i].process == process)
			return &l->crowds.v[i];
	return vec_push(&l->crowds, (struct loss_crowd){ .process = process })
		       ? &l->crowds.v[l->crowds.n - 1]
		       : NULL;
}

/* The most of one anchor: each of its process's has the same CPUs, or fewer. */
static unsigned cpus_of(const struct cause *c, const struct track *t)
{
	const struct allowed_cpus *a = path_tracks_allowed(c->tracks);
	const struct world_process *p = world_thread_process(c->w, t->anchor);
	uint32_t machine = p ? allowed_cpus_machine(a, p->node) : 0, allowed;
	int64_t since;

	allowed = allowed_cpus_count(allowed_cpus_of(a, t->anchor, t->end_ns, &since));
	return allowed ? allowed : machine;
}

static bool add_window(struct lost_time *l, struct cause *c, const struct track *t,
		       const struct track_parts *parts)
{
	struct loss_crowd *x;

	for (size_t i = 0; i < parts->v.n; i++) {
		const struct track_part *p = &parts->v.v[i];

		if (!loss_is_turn(c, t->anchor, p))
			continue;
		x = crowd_at(l, cause_process_of(c, t->anchor));
		if (!x || !add_turn(x, c->w, p))
			return false;
		x->cpus = cpus_of(c, t) > x->cpus ? cpus_of(c, t) : x->cpus;
	}
	return true;
}

static void add_device(struct lost_time *l, const struct cause *c, const struct track *t,
		       const struct track_parts *parts)
{
	uint32_t process = cause_process_of(c, t->anchor);

	for (size_t i = 0; i < l->crowds.n; i++)
		for (size_t k = 0; l->crowds.v[i].process == process && k < parts->v.n; k++) {
			const struct track_part *p = &parts->v.v[k];

			l->crowds.v[i].steps_ns += p->ns;
			l->crowds.v[i].device_ns += p->class == PATH_DEVICE ? p->ns : 0;
		}
}

struct bound {
	int64_t ns;
	int step;
};

/* Of two at the same time the end comes first. */
static int compare_bounds(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->step - y->step;
}

static bool count_busy(struct loss_crowd *x)
{
	struct bound *v = calloc(2 * x->threads.n + 1, sizeof(*v));
	uint64_t most = 0;
	unsigned now = 0;
	size_t n = 0;

	if (!v)
		return false;
	for (size_t i = 0; i < x->threads.n; i++)
		most = x->threads.v[i].ns > most ? x->threads.v[i].ns : most;
	for (size_t i = 0; i < x->threads.n; i++) {
		const struct crowd_thread *t = &x->threads.v[i];

		if ((double)t->ns < BUSY_SHARE * (double)most)
			continue;
		v[n++] = (struct bound){ t->first_ns, 1 };
		v[n++] = (struct bound){ t->last_ns, -1 };
	}
	qsort(v, n, sizeof(*v), compare_bounds);
	for (size_t i = 0; i < n; i++) {
		now = v[i].step > 0 ? now + 1 : now - 1;
		x->busy = now + 1 > x->busy ? now + 1 : x->busy;
	}
	free(v);
	return true;
}

bool loss_crowd_sum(struct lost_time *l, struct cause *c, struct track_parts *parts)
{
	loss_crowds_free(l);
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		for (unsigned k = 0; k < t.nphases; k++) {
			if (!track_phase_counts(&t, &t.phases[k]))
				continue;
			if (!path_tracks_parts(c->tracks, i, t.phases[k].window, parts) ||
			    !add_window(l, c, &t, parts))
				return false;
			if (t.loop && t.phases[k].window == WINDOW_STEPS)
				add_device(l, c, &t, parts);
		}
	}
	for (size_t i = 0; i < l->crowds.n; i++)
		if (!count_busy(&l->crowds.v[i]))
			return false;
	return true;
}

const struct loss_crowd *loss_crowd_of(const struct lost_time *l, uint32_t process)
{
	for (size_t i = 0; i < l->crowds.n; i++) {
		const struct loss_crowd *x = &l->crowds.v[i];

		if (x->process == process)
			return x->cpus && x->busy > x->cpus && 2 * x->device_ns <= x->steps_ns
				       ? x
				       : NULL;
	}
	return NULL;
}

void loss_crowds_free(struct lost_time *l)
{
	for (size_t i = 0; i < l->crowds.n; i++)
		vec_free(&l->crowds.v[i].threads);
	vec_free(&l->crowds);
}

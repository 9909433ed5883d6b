/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device in a replay: submits of a thread feed it, a call that waits for it returns when it is
 * done, and what it works on takes as long as it did. Streams are not known here: threads that
 * submit count as having one each, and a thread that has submitted nothing waits for who submitted
 * last. A batch is what was submitted since the wait before. When the device was done is known
 * where the thread slept until then, or looked in vain until then. Where its CPU was taken
 * meanwhile, the device was done after as long as such batches usually take; where the call found
 * it done, after anything up to then. Where the thread was kept from submitting the rest, the
 * device may have idled in between: its end depends on the last submit, too.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/path/replay_internal.h"

/* A call that does not sleep and returns within twice what the shortest one took found the device
 * done, unless it took longer than this: 5 to 70 us it takes to look, traced, on the machines that
 * were recorded. */
#define FOUND_DONE_NS	    200000
#define FOUND_DONE_LEAST_NS 20000

/* So many undisturbed batches tell what is usual; CPU lost for no longer disturbs none
 * (critical-path.md, 5). */
#define USUAL_LEAST 8
#define DISTURBS_NS 2000

static struct replay_device *find_device(const struct replay *r, uint32_t thread)
{
	return thread < r->devices.n ? r->devices.v[thread] : NULL;
}

/* NULL: out of memory. */
static struct replay_device *make_device(struct replay *r, const struct replay_thread *t)
{
	struct replay_device **d;

	if (!vec_reach(&r->devices, t->th->id) || !vec_reach(&r->submitters, t->th->process)) {
		r->nomem = true;
		return NULL;
	}
	d = &r->devices.v[t->th->id];
	if (!*d)
		*d = calloc(1, sizeof(**d));
	r->nomem |= !*d;
	return *d;
}

/* What the thread waits for; NULL: nothing was submitted. */
static struct replay_device *awaited_device(const struct replay *r, const struct replay_thread *t)
{
	struct replay_device *d = find_device(r, t->th->id);

	if ((!d || !d->open) && t->th->process < r->submitters.n)
		d = find_device(r, r->submitters.v[t->th->process]);
	return d && d->open ? d : NULL;
}

/* The same call, in which the thread was off its CPU. */
static bool is_continued(const struct replay_thread *t)
{
	const struct segment_log *l = &t->th->log;
	const struct segment *before;

	if (!t->at || segment_log_is_mix(l, t->at - 1))
		return false;
	before = segment_log_what(l, t->at - 1);
	return !segment_on_cpu(before) && before->op == segment_log_what(l, t->at)->op;
}

void replay_device_submit(struct replay *r, struct replay_thread *t, int64_t ns)
{
	struct replay_device *d = make_device(r, t);

	if (!d)
		return;
	if (!d->open) {
		d->open = true;
		d->submits = 0;
		d->lost_ns = 0;
		d->first_ns = ns;
		d->first = t->d;
	}
	d->submits += !is_continued(t);
	d->last = t->d;
	r->submitters.v[t->th->process] = t->th->id;
}

void replay_device_lost(struct replay *r, const struct replay_thread *t, int64_t ns)
{
	struct replay_device *d = find_device(r, t->th->id);

	if (d && d->open && ns > DISTURBS_NS)
		d->lost_ns += ns;
}

uint64_t replay_device_busy(const struct replay *r, const struct path_thread *th)
{
	const struct replay_device *d = find_device(r, th->id);

	if (!d && th->process < r->submitters.n)
		d = find_device(r, r->submitters.v[th->process]);
	return d ? d->busy_ns : 0;
}

void replay_device_segment(struct replay_thread *t, const struct segment *s, int64_t from_ns,
			   int64_t to_ns)
{
	struct replay_sync *y = &t->sync;

	switch (s->state) {
	case SEGMENT_RUNNABLE:
	case SEGMENT_STOLEN:
	case SEGMENT_THROTTLED:
		if (s->flags & SEGMENT_WOKEN || to_ns - from_ns <= DISTURBS_NS || y->slept)
			return;
		if (!y->taken)
			y->taken_ns = from_ns;
		y->taken = true;
		return;
	case SEGMENT_WAKE_UP:
		return;
	default:
		break;
	}
	y->work_ns += to_ns - from_ns;
	/* Behind a sleep the thread is on its way out. */
	if (y->slept && !segment_blocked(s))
		return;
	y->slept |= segment_blocked(s);
	y->device_ns = to_ns;
	y->device = t->d;
}

static int compare_ns(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The one behind this share of them; -1: too few are known. */
static int64_t took_ns(const struct replay_took *t, unsigned share, unsigned of)
{
	uint32_t v[REPLAY_USUAL], n = t->n < REPLAY_USUAL ? t->n : REPLAY_USUAL;

	if (n < USUAL_LEAST)
		return -1;
	memcpy(v, t->ns, n * sizeof(*v));
	qsort(v, n, sizeof(*v), compare_ns);
	return v[n * share / of];
}

/* How long batches of so many submits usually take or, where all are disturbed, take at most; -1:
 * not known. */
static int64_t usual_ns(const struct replay_device *d, unsigned class, enum replay_end end)
{
	int64_t ns = took_ns(&d->usual[class], 1, 2);

	return ns >= 0 || end == REPLAY_HOPEFUL ? ns : took_ns(&d->disturbed[class], 1, 4);
}

static bool found_done(const struct replay_device *d, const struct replay_sync *y)
{
	int64_t least = d->least_ns > FOUND_DONE_LEAST_NS ? d->least_ns : FOUND_DONE_LEAST_NS;

	return !y->slept && y->work_ns <= replay_least(2 * least, FOUND_DONE_NS);
}

/* When the device was done with what it began at from_ns. */
static int64_t find_done(const struct replay_device *d, const struct replay_sync *y,
			 int64_t from_ns, int64_t usual, enum replay_end end)
{
	int64_t done = y->device_ns;

	if (found_done(d, y) && !y->taken)
		done = end == REPLAY_CAUTIOUS ? y->from_ns : from_ns;
	else if (y->taken && usual >= 0)
		done = replay_least(done, from_ns + usual + d->lost_ns);
	else if (y->taken && end == REPLAY_HOPEFUL)
		done = y->taken_ns;
	return done > from_ns ? done : from_ns;
}

/* How much earlier the thread returns that could go on at done_ns, so much earlier: what was taken
 * out of the call behind that comes on top; what it waited for besides the device puts it off. */
static int64_t return_shift(const struct replay_thread *t, enum replay_end end, unsigned lane,
			    int64_t shift, int64_t done_ns, int64_t ns)
{
	const struct replay_sync *y = &t->sync;
	int64_t now = t->d.ns[end][lane], out = now - y->from.ns[end][lane];

	if (done_ns >= y->device_ns)
		out = now - y->device.ns[end][lane];
	else if (done_ns > y->from_ns)
		out = replay_least(out, ns - done_ns);
	return out >= 0 ? shift + out : replay_least(shift, now);
}

/* The batch began at from_ns: when the first submit came and what was before it was done. */
static int64_t batch_shift(const struct replay_device *d, enum replay_end end, unsigned lane)
{
	int64_t first = d->first.ns[end][lane], before = d->d.ns[end][lane],
		gap = d->first_ns - d->end_ns[end];

	if (!d->end_ns[end])
		return first;
	return gap >= 0 ? replay_least(first, before + gap) : replay_least(before, first - gap);
}

/* How much earlier the device is done: as much as it began or, where it may have idled for what was
 * not submitted yet, as the last submit came. */
static int64_t done_shift(const struct replay_device *d, enum replay_end end, unsigned lane,
			  int64_t took_ns, int64_t usual)
{
	int64_t began = batch_shift(d, end, lane), last = d->last.ns[end][lane], idle = 0;

	if (usual >= 0)
		idle = took_ns > usual ? took_ns - usual : 0;
	else if (end == REPLAY_HOPEFUL)
		idle = d->lost_ns;
	if (!idle || last <= began)
		return began;
	return replay_least(began + idle, last);
}

static void learn_took(struct replay_took *t, int64_t ns)
{
	t->ns[t->n++ % REPLAY_USUAL] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* One end of what is not known: the device is done, and the thread returns. */
static void return_end(struct replay_device *d, struct replay_thread *t, enum replay_end e,
		       int64_t from_ns, int64_t done_ns, int64_t usual, int64_t ns)
{
	struct replay_sync *y = &t->sync;
	int64_t device[REPLAY_LANES], late = done_ns - y->from_ns;

	for (unsigned i = 0; i < REPLAY_LANES; i++) {
		int64_t own = y->from.ns[e][i];

		device[i] = done_shift(d, e, i, done_ns - from_ns, usual);
		own = late >= 0 ? replay_least(own + late, device[i])
				: replay_least(own, device[i] - late);
		t->d.ns[e][i] = return_shift(t, e, i, own, done_ns, ns);
	}
	memcpy(d->d.ns[e], device, sizeof(device));
	d->end_ns[e] = done_ns;
}

void replay_device_return(struct replay *r, struct replay_thread *t, int64_t ns)
{
	struct replay_device *d = awaited_device(r, t);
	struct replay_sync *y = &t->sync;
	int64_t usual, busy, took, done[REPLAY_ENDS], from[REPLAY_ENDS];
	unsigned class;
	bool disturbed;

	y->on = false;
	if (!d)
		return;
	class = d->submits < REPLAY_CLASSES ? d->submits : REPLAY_CLASSES - 1;
	disturbed = y->taken || d->lost_ns;
	if (!d->least_ns || y->work_ns < d->least_ns)
		d->least_ns = y->work_ns;
	for (enum replay_end e = 0; e < REPLAY_ENDS; e++) {
		usual = disturbed ? usual_ns(d, class, e) : -1;
		from[e] = d->first_ns > d->end_ns[e] ? d->first_ns : d->end_ns[e];
		done[e] = find_done(d, y, from[e], usual, e);
		return_end(d, t, e, from[e], done[e], usual, ns);
	}
	busy = done[REPLAY_HOPEFUL] - from[REPLAY_HOPEFUL] - d->lost_ns;
	usual = disturbed ? usual_ns(d, class, REPLAY_HOPEFUL) : busy;
	busy = usual >= 0 ? replay_least(usual, busy) : busy;
	d->busy_ns += busy > 0 ? (uint64_t)busy : 0;
	took = done[REPLAY_CAUTIOUS] - from[REPLAY_CAUTIOUS];
	learn_took(disturbed ? &d->disturbed[class] : &d->usual[class], took);
	d->open = false;
}
